"""gRPC servers, one for each name given: every RPC is answered with the server's name.

Prints their ports as one line of JSON, and serves until its standard input ends.
"""

import json
import sys
from concurrent import futures

import grpc


def start(name):
    answer = grpc.unary_unary_rpc_method_handler(lambda request, context: name.encode())
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=2))
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("weir.test.Echo", {"Name": answer})])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, port


def main():
    servers = {name: start(name) for name in sys.argv[1:]}
    print(json.dumps({name: port for name, (_, port) in servers.items()}), flush=True)
    sys.stdin.read()
    for server, _ in servers.values():
        server.stop(grace=None)


if __name__ == "__main__":
    main()
