"""A gRPC client that makes RPCs at a steady rate to targets that it finds by xDS: grpc_load.py RATE TARGET...

The first target gets so many RPCs a second, each other one a tenth of that. Answers are not waited for: an RPC that
takes long holds up no other. Prints a line of JSON for each: {"target": ..., "ok": the answer of the server} or
{"target": ..., "error": why it failed}. Each line of the input asks for the configuration that the client has:
{"dump": a ClientStatusResponse, in base64}. GRPC_XDS_BOOTSTRAP_CONFIG holds the bootstrap. Ends with its input.
"""

import base64
import json
import sys
import threading
import time

import grpc
from grpc._cython import cygrpc

DEADLINE = 10


def write(line):
    # In one piece, whichever thread writes it.
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def call_at_rate(target, rate):
    channel = grpc.insecure_channel(f"xds:///{target}")
    call = channel.unary_unary("/weir.test.Echo/Name")

    def done(outcome):
        error = outcome.exception()
        if error is None:
            write({"target": target, "ok": outcome.result().decode()})
        else:
            write({"target": target, "error": f"{error.code().name}: {error.details()}"})

    due = time.monotonic()
    while True:
        call.future(b"", timeout=DEADLINE).add_done_callback(done)
        due += 1 / rate
        time.sleep(max(due - time.monotonic(), 0))


def main():
    rate = int(sys.argv[1])
    for target in sys.argv[2:]:
        threading.Thread(target=call_at_rate, args=(target, rate), daemon=True).start()
        rate = max(int(sys.argv[1]) // 10, 1)
    for _ in sys.stdin:
        write({"dump": base64.b64encode(cygrpc.dump_xds_configs()).decode()})


if __name__ == "__main__":
    main()
