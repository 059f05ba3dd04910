"""A gRPC client that makes RPCs to one target, one after another, until its standard input ends:
grpc_client.py TARGET [COUNT PACE]. With a count it makes so many of them, at this pace, and stays.

Prints a line of JSON for each: {"ok": the answer of the server} or {"error": why it failed}. Where the target
is an xds:/// name, GRPC_XDS_BOOTSTRAP_CONFIG holds the bootstrap, and each line of the input asks for the
configuration that the client has: {"dump": a ClientStatusResponse, in base64}.
"""

import base64
import json
import sys
import threading

import grpc
from grpc._cython import cygrpc

PACE = 0.005
DEADLINE = 25


def write(line):
    # In one piece, whichever thread writes it.
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def main():
    ended = threading.Event()

    def read():
        for _ in sys.stdin:
            write({"dump": base64.b64encode(cygrpc.dump_xds_configs()).decode()})
        ended.set()

    threading.Thread(target=read, daemon=True).start()
    with grpc.insecure_channel(sys.argv[1]) as channel:
        call = channel.unary_unary("/weir.test.Echo/Name")
        left, pace = (int(sys.argv[2]), float(sys.argv[3])) if len(sys.argv) > 2 else (-1, PACE)
        while not ended.wait(pace if left else None):
            left -= 1
            try:
                line = {"ok": call(b"", timeout=DEADLINE).decode()}
            except grpc.RpcError as error:
                line = {"error": f"{error.code().name}: {error.details()}"}
            write(line)


if __name__ == "__main__":
    main()
