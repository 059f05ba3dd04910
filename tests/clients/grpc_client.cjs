// A gRPC client that makes RPCs to one target, one after another, until its standard input ends.
//
// Prints a line of JSON for each: {"ok": the server's answer} or {"error": why it failed}. Where the target
// is an xds:/// name, GRPC_XDS_BOOTSTRAP_CONFIG holds the bootstrap.

"use strict";

const grpc = require("@grpc/grpc-js");
const xds = require("@grpc/grpc-js-xds");

const PACE = 5;
const DEADLINE = 25_000;

function main() {
  xds.register();
  const client = new grpc.Client(process.argv[2], grpc.credentials.createInsecure());
  const same = (bytes) => bytes;

  function call() {
    const options = { deadline: Date.now() + DEADLINE };
    client.makeUnaryRequest("/weir.test.Echo/Name", same, same, Buffer.alloc(0), options, (error, answer) => {
      const line = error
        ? { error: `${grpc.status[error.code]}: ${error.details}` }
        : { ok: answer.toString() };
      console.log(JSON.stringify(line));
      setTimeout(call, PACE);
    });
  }

  process.stdin.resume();
  process.stdin.on("end", () => process.exit(0));
  call();
}

main();
