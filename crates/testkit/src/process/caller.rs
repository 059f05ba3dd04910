//! Clients that are programs of their own, written with the library that they stand for: they make calls without end
//! and print a line of JSON for each, `{"ok": …}` or `{"error": …}`; some also what they are configured with, when they are
//! asked for it. The programs are in `tests/clients`.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{ChildStdin, Command};
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;

use super::load::{self, Answers};
use super::{Child, dumped};
use crate::wait::{PATIENCE, until_within};

/// A client that calls without end; it ends when this is dropped.
pub struct Caller {
    child: Child,
    stdin: Mutex<ChildStdin>,
    answers: watch::Sender<Answers>,
    dumps: watch::Sender<Vec<Value>>,
}

impl Caller {
    /// Starts a program.
    pub(super) fn start(name: &str, command: &mut Command) -> Self {
        let mut child = Child::start(name, command);
        let stdin = Mutex::new(child.stdin());
        let answers = watch::Sender::new(Answers::default());
        let caller = Self { child, stdin, answers, dumps: watch::Sender::default() };
        caller.collect();
        caller
    }

    /// Turns its lines into answers.
    fn collect(&self) {
        let (answers, dumps) = (self.answers.clone(), self.dumps.clone());
        self.child.for_each_json(move |line| {
            let text = |key: &str| line.get(key).and_then(Value::as_str).map(str::to_owned);
            if let Some(answer) = text("ok").map(Ok).or_else(|| text("error").map(Err)) {
                answers.send_modify(|answers| answers.add(answer));
            } else if let Some(resources) = dumped(line) {
                dumps.send_replace(resources);
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

    /// Waits until a call has failed with these words.
    pub async fn wait_for_failure(&self, words: &str) {
        let fails = |answers: &Answers| answers.failures.iter().any(|failure| failure.contains(words));
        load::wait_for(&self.answers, &format!("a failure with {words:?}"), fails).await;
    }

    /// Waits until it states this of a resource (`client_status` of CSDS), and gives all that it states of it.
    pub async fn wait_for_state(&self, type_url: &str, name: &str, state: &str) -> Value {
        let look = || async {
            let mut dumps = self.dumps.subscribe();
            self.stdin.lock().await.write_all(b"dump\n").await.expect("the client runs");
            dumps.changed().await.expect("the client answers");
            let is_it = |resource: &&Value| {
                let is = |key: &str, value: &str| resource[key] == value;
                is("type_url", type_url) && is("name", name) && is("client_status", state)
            };
            dumps.borrow().iter().find(is_it).cloned()
        };
        match timeout(PATIENCE, until_within(2 * PATIENCE, state, look)).await {
            Ok(resource) => resource,
            Err(_) => panic!("{name} never is {state}; the client states {:#?}", self.dumps.borrow()),
        }
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
