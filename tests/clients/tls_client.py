"""A client that makes HTTPS requests to localhost, each on a new connection, until its standard input ends.

Its arguments are the port and a PEM file of the certificates that it trusts. Prints a line of JSON for each
request: {"ok": the common name of the server's certificate} or {"error": why it failed}.
"""

import http.client
import json
import ssl
import sys
import threading

PACE = 0.005
DEADLINE = 10


def common_name(port, trusted):
    context = ssl.create_default_context(cafile=trusted)
    connection = http.client.HTTPSConnection("localhost", port, timeout=DEADLINE, context=context)
    try:
        connection.connect()
        subject = connection.sock.getpeercert()["subject"]
        connection.request("GET", "/")
        answer = connection.getresponse()
        answer.read()
    finally:
        connection.close()
    if answer.status != 200:
        raise http.client.HTTPException(f"status {answer.status}")
    return next(value for part in subject for key, value in part if key == "commonName")


def main():
    ended = threading.Event()

    def read():
        sys.stdin.read()
        ended.set()

    threading.Thread(target=read, daemon=True).start()
    while not ended.wait(PACE):
        try:
            line = {"ok": common_name(int(sys.argv[1]), sys.argv[2])}
        except (OSError, http.client.HTTPException) as error:
            line = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
