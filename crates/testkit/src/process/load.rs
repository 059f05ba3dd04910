//! Requests without end, and what became of them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use super::http::Connection;
use crate::wait::PATIENCE;

/// Time between two requests.
const PACE: Duration = Duration::from_millis(4);

/// How requests were answered.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// How often each body came, with the status 200.
    pub bodies: BTreeMap<String, usize>,
    /// The body of the last one that succeeded.
    pub last: String,
    /// Everything else, in words.
    pub failures: Vec<String>,
}

impl Answers {
    pub(super) fn add(&mut self, answer: Result<String, String>) {
        match answer {
            Ok(body) => {
                *self.bodies.entry(body.clone()).or_default() += 1;
                self.last = body;
            }
            Err(failure) => self.failures.push(failure),
        }
    }

    /// How many succeeded.
    pub fn succeeded(&self) -> usize {
        self.bodies.values().sum()
    }

    /// Panics if any request failed, or none was made.
    pub fn expect_no_failure(&self) {
        assert!(self.failures.is_empty(), "{} requests failed: {:?}", self.failures.len(), self.failures);
        assert!(self.succeeded() > 0, "no request was made");
    }
}

/// Waits until the answers are as `wanted` requires.
pub(super) async fn wait_for(
    answers: &watch::Sender<Answers>,
    what: &str,
    wanted: impl FnMut(&Answers) -> bool,
) {
    let mut changes = answers.subscribe();
    let waiting = changes.wait_for(wanted);
    if tokio::time::timeout(PATIENCE, waiting).await.is_err() {
        panic!("waited in vain for {what}; the answers were {:?}", answers.borrow());
    }
}

/// A loop of HTTP requests, about 200 a second on one connection; ended on drop.
pub struct Load {
    answers: watch::Sender<Answers>,
    running: JoinHandle<()>,
}

impl Load {
    /// Starts it.
    pub fn start(server: SocketAddr) -> Self {
        Self::paced(server, PACE)
    }

    /// Starts it, with this time between two requests.
    pub fn paced(server: SocketAddr, pace: Duration) -> Self {
        Self::counted(server, pace, usize::MAX)
    }

    /// Starts it, for so many requests.
    pub fn counted(server: SocketAddr, pace: Duration, count: usize) -> Self {
        let answers = watch::Sender::new(Answers::default());
        let into = answers.clone();
        let running = tokio::spawn(async move {
            let mut connection = Connection::to(server);
            let mut pace = interval(pace);
            pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
            for _ in 0..count {
                pace.tick().await;
                let answer = match connection.get("/").await {
                    Ok(answer) if answer.status == 200 => Ok(answer.body),
                    Ok(answer) => Err(format!("{}: {}", answer.status, answer.body)),
                    Err(error) => Err(error),
                };
                into.send_modify(|answers| answers.add(answer));
            }
        });
        Self { answers, running }
    }

    /// What came until now.
    pub fn answers(&self) -> Answers {
        self.answers.borrow().clone()
    }

    /// Waits until this body comes.
    pub async fn wait_for(&self, body: &str) {
        wait_for(&self.answers, &format!("the answer {body:?}"), |answers| answers.last == body).await;
    }

    /// Waits until so many more requests succeeded.
    pub async fn wait_for_more(&self, count: usize) {
        let goal = self.answers().succeeded() + count;
        wait_for(&self.answers, "more answers", |answers| answers.succeeded() >= goal).await;
    }

    /// Ends the loop; panics if any request failed.
    pub fn finish(self) -> Answers {
        let answers = self.answers();
        answers.expect_no_failure();
        answers
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.running.abort();
    }
}
