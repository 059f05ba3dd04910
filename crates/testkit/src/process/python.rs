//! gRPC-Python: clients that find their servers by `xds:///`, and servers that answer with their names. The
//! scripts are in `tests/clients`.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::process::{ChildStdin, Command};
use tokio::sync::watch;

use super::load::{self, Answers};
use super::{Child, tool, workspace};

fn script(name: &str) -> Command {
    let mut command = Command::new(tool("venv/bin/python"));
    command.arg("-u").arg(workspace().join("tests/clients").join(name));
    command
}

/// gRPC servers, one for each name, in one process.
pub struct GrpcServers {
    _child: Child,
    _stdin: ChildStdin,
    addresses: BTreeMap<String, SocketAddr>,
}

impl GrpcServers {
    /// Starts them and waits until they listen.
    pub async fn start(names: &[&str]) -> Self {
        let mut child = Child::start("grpc_server.py", script("grpc_server.py").args(names));
        let stdin = child.stdin();
        let ports: BTreeMap<String, u16> = child
            .wait_for("its ports", |lines| lines.iter().find_map(|l| serde_json::from_str(l).ok()))
            .await;
        let address = |(name, port)| (name, SocketAddr::from(([127, 0, 0, 1], port)));
        Self { _child: child, _stdin: stdin, addresses: ports.into_iter().map(address).collect() }
    }

    /// Where the one of this name listens.
    pub fn address(&self, name: &str) -> SocketAddr {
        self.addresses[name]
    }
}

/// A client that makes RPCs without end.
pub struct GrpcClient {
    child: Child,
    _stdin: ChildStdin,
    answers: watch::Sender<Answers>,
}

impl GrpcClient {
    /// Starts one that looks for `xds:///target` at an ADS server.
    pub fn start(server: SocketAddr, target: &str, id: &str, metadata: &Value) -> Self {
        let bootstrap = json!({
            "xds_servers": [{
                "server_uri": server.to_string(),
                "channel_creds": [{ "type": "insecure" }],
                "server_features": ["xds_v3"],
            }],
            "node": { "id": id, "metadata": metadata },
        });
        let mut command = script("grpc_client.py");
        command.arg(format!("xds:///{target}")).env("GRPC_XDS_BOOTSTRAP_CONFIG", bootstrap.to_string());
        let mut child = Child::start("grpc_client.py", &mut command);
        let stdin = child.stdin();
        let answers = watch::Sender::new(Answers::default());
        let client = Self { child, _stdin: stdin, answers };
        client.collect();
        client
    }

    /// Turns its lines into answers.
    fn collect(&self) {
        let (mut lines, answers) = (self.child.lines(), self.answers.clone());
        tokio::spawn(async move {
            let mut seen = 0;
            loop {
                let new: Vec<_> = lines.borrow_and_update()[seen..].to_vec();
                seen += new.len();
                for line in new.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
                    let text = |key: &str| line.get(key).and_then(Value::as_str).map(str::to_owned);
                    if let Some(answer) = text("ok").map(Ok).or_else(|| text("error").map(Err)) {
                        answers.send_modify(|answers| answers.add(answer));
                    }
                }
                if lines.changed().await.is_err() {
                    break;
                }
            }
        });
    }

    /// What came until now.
    pub fn answers(&self) -> Answers {
        self.answers.borrow().clone()
    }

    /// Waits until the server of this name answers.
    pub async fn wait_for(&self, name: &str) {
        load::wait_for(&self.answers, &format!("an answer of {name}"), |answers| answers.last == name).await;
    }

    /// Waits until so many more RPCs succeeded.
    pub async fn wait_for_more(&self, count: usize) {
        let goal = self.answers().succeeded() + count;
        load::wait_for(&self.answers, "more answers", |answers| answers.succeeded() >= goal).await;
    }

    /// Ends it; panics if any RPC failed.
    pub fn finish(self) -> Answers {
        let answers = self.answers();
        answers.expect_no_failure();
        answers
    }
}
