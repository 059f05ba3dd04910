//! Clients that are programs of their own, written with the library that they stand for: they make calls without end
//! and print a line of JSON for each, `{"ok": …}` or `{"error": …}`. The programs are in `tests/clients`.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::process::{ChildStdin, Command};
use tokio::sync::watch;

use super::Child;
use super::load::{self, Answers};

/// A client that calls without end; it ends when this is dropped.
pub struct Caller {
    child: Child,
    _stdin: ChildStdin,
    answers: watch::Sender<Answers>,
}

impl Caller {
    /// Starts a program.
    pub(super) fn start(name: &str, command: &mut Command) -> Self {
        let mut child = Child::start(name, command);
        let stdin = child.stdin();
        let answers = watch::Sender::new(Answers::default());
        let caller = Self { child, _stdin: stdin, answers };
        caller.collect();
        caller
    }

    /// Turns its lines into answers.
    fn collect(&self) {
        let answers = self.answers.clone();
        self.child.for_each_json(move |line| {
            let text = |key: &str| line.get(key).and_then(Value::as_str).map(str::to_owned);
            if let Some(answer) = text("ok").map(Ok).or_else(|| text("error").map(Err)) {
                answers.send_modify(|answers| answers.add(answer));
            }
        });
    }

    /// What came until now.
    pub fn answers(&self) -> Answers {
        self.answers.borrow().clone()
    }

    /// Waits until this is the answer.
    pub async fn wait_for(&self, answer: &str) {
        load::wait_for(&self.answers, &format!("the answer {answer:?}"), |answers| answers.last == answer)
            .await;
    }

    /// Waits until so many more calls succeeded.
    pub async fn wait_for_more(&self, count: usize) {
        let goal = self.answers().succeeded() + count;
        load::wait_for(&self.answers, "more answers", |answers| answers.succeeded() >= goal).await;
    }

    /// Ends it; panics if any call failed.
    pub fn finish(self) -> Answers {
        let answers = self.answers();
        answers.expect_no_failure();
        answers
    }
}

/// The bootstrap of a gRPC client that finds its servers by way of an ADS server. gRPC-Node insists on a locality.
pub fn grpc_bootstrap(server: SocketAddr, id: &str, metadata: &Value) -> String {
    json!({
        "xds_servers": [{
            "server_uri": server.to_string(),
            "channel_creds": [{ "type": "insecure" }],
            "server_features": ["xds_v3"],
        }],
        "node": { "id": id, "cluster": "test", "locality": {}, "metadata": metadata },
    })
    .to_string()
}
