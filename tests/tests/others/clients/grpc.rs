//! gRPC clients: programs that take the rate and the targets as arguments, and print a line of JSON for each RPC,
//! `{"target": …, "ok": …}` or `{"target": …, "error": …}`. For each line of their input they print what they are
//! configured with: `{"dump": a ClientStatusResponse in base64}`.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{ChildStdin, Command};
use tokio::sync::watch;
use weir_testkit::process::{Child, dumped, go_program, grpc_bootstrap, java_program, tool};

use super::super::observed::Observed;
use super::{ClientKind, RATE, without_circumstances};

/// A client and its requests.
pub(super) struct Loaded {
    _child: Child,
    stdin: ChildStdin,
    dumps: watch::Receiver<Vec<Vec<Value>>>,
}

impl Loaded {
    pub(super) fn start(
        kind: ClientKind,
        server: SocketAddr,
        id: &str,
        metadata: &Value,
        targets: &[(&'static str, u16)],
        observed: &Observed,
    ) -> Self {
        let mut command = program(kind);
        command.arg(RATE.to_string()).args(targets.iter().map(|(target, _)| target));
        command.env("GRPC_XDS_BOOTSTRAP_CONFIG", grpc_bootstrap(server, id, metadata));
        let mut child =
            Child::start(&format!("{kind:?}"), &mut command).showing(|line| !line.starts_with('{'));
        let stdin = child.stdin();
        let (dumps, all) = watch::channel(Vec::new());
        let observed = observed.clone();
        child.for_each_json(move |line| read(line, &observed, &dumps));
        Self { _child: child, stdin, dumps: all }
    }

    pub(super) async fn dump(&mut self) -> Vec<String> {
        let seen = self.dumps.borrow().len();
        self.stdin.write_all(b"dump\n").await.expect("the client runs");
        let dumps = self.dumps.wait_for(|dumps| dumps.len() > seen).await.expect("the client answers");
        let resources = dumps.last().expect("there is one").iter();
        // Names under which it has nothing are left out: when it gives them up depends on its timers.
        resources.filter(|resource| !resource["xds_config"].is_null()).map(entry).collect()
    }
}

fn entry(resource: &Value) -> String {
    let mut resource = resource.clone();
    without_circumstances(&mut resource);
    resource.to_string()
}

fn program(kind: ClientKind) -> Command {
    const CLIENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/clients");
    let mut command;
    match kind {
        ClientKind::GrpcGo => {
            command = go_program("grpc-go");
            command.arg("call");
        }
        ClientKind::GrpcJava => command = java_program("grpc-java"),
        ClientKind::GrpcPython => {
            command = Command::new(tool("venv/bin/python"));
            command.arg(format!("{CLIENTS}/grpc_load.py"));
        }
        ClientKind::GrpcNode => {
            command = Command::new("node");
            command.arg(format!("{CLIENTS}/grpc_load.cjs")).env("NODE_PATH", tool("node/node_modules"));
        }
        ClientKind::Envoy(_) | ClientKind::OldestEnvoy(_) => unreachable!("{kind:?} is no gRPC client"),
    }
    command
}

/// Takes note of a line that the client has printed.
fn read(line: &Value, observed: &Observed, dumps: &watch::Sender<Vec<Vec<Value>>>) {
    let text = |key: &str| line.get(key).and_then(Value::as_str).map(str::to_owned);
    if let Some(dump) = dumped(line) {
        dumps.send_modify(|dumps| dumps.push(dump));
    } else if let Some(target) = text("target") {
        observed.add(&target, text("error").map_or_else(|| Ok(text("ok").unwrap_or_default()), Err));
    }
}
