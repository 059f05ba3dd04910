// A gRPC client that makes RPCs at a steady rate to targets that it finds by xDS: grpc_load.cjs RATE TARGET...
//
// The arguments, what is printed, and what the input asks for: as in grpc_load.py.

"use strict";

const readline = require("node:readline");

const grpc = require("@grpc/grpc-js");
const xds = require("@grpc/grpc-js-xds");

const DEADLINE = 10_000;
const STATUS = "/envoy.service.status.v3.ClientStatusDiscoveryService/FetchClientStatus";

const same = (bytes) => bytes;

function write(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

function callAtRate(target, rate) {
  const client = new grpc.Client(`xds:///${target}`, grpc.credentials.createInsecure());
  const begun = Date.now();
  let made = 0;

  function callAllThatAreDue() {
    for (; made < ((Date.now() - begun) * rate) / 1000; made++) {
      const options = { deadline: Date.now() + DEADLINE };
      client.makeUnaryRequest("/weir.test.Echo/Name", same, same, Buffer.alloc(0), options, (error, answer) => {
        const outcome = error
          ? { error: `${grpc.status[error.code]}: ${error.details}` }
          : { ok: answer.toString() };
        write({ target, ...outcome });
      });
    }
  }

  setInterval(callAllThatAreDue, 1000 / rate);
}

// Serves the configuration of this process, and returns how to ask for it.
function serveStatus() {
  const server = new grpc.Server();
  grpc.addAdminServicesToServer(server);
  return new Promise((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, port) => {
      if (error) {
        reject(error);
        return;
      }
      const client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
      resolve((answer) => client.makeUnaryRequest(STATUS, same, same, Buffer.alloc(0), answer));
    });
  });
}

async function main() {
  xds.register();
  const [rate, ...targets] = process.argv.slice(2);
  const all = Number(rate);
  targets.forEach((target, i) => callAtRate(target, i === 0 ? all : Math.max(Math.floor(all / 10), 1)));
  const askForStatus = await serveStatus();
  const input = readline.createInterface({ input: process.stdin });
  input.on("line", () => {
    askForStatus((error, status) => {
      if (error) {
        throw error;
      }
      write({ dump: status.toString("base64") });
    });
  });
  input.on("close", () => process.exit(0));
}

main();
