//! What a client's requests came to, target by target.

use std::collections::BTreeMap;
use std::fmt;

use tokio::sync::watch;
use tokio::time::timeout;
use weir_testkit::wait::PATIENCE;

/// How a request ended: with the name of the server that answered, or why it failed.
pub type Outcome = Result<String, String>;

/// All requests to one target.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub answers: usize,
    pub failures: Vec<String>,
    pub last: Option<Outcome>,
}

/// All requests of one client; copies share what they hold.
#[derive(Clone, Debug)]
pub struct Observed(watch::Sender<BTreeMap<String, Tally>>);

/// What is waited for.
#[derive(Clone, Copy, Debug)]
pub enum Expected {
    /// The server of this name answers.
    Answer(&'static str),
    Failure,
}

impl Observed {
    pub fn new() -> Self {
        Self(watch::Sender::default())
    }

    pub fn add(&self, target: &str, outcome: Outcome) {
        self.0.send_modify(|targets| {
            let tally = targets.entry(target.to_owned()).or_default();
            match &outcome {
                Ok(_) => tally.answers += 1,
                Err(failure) => tally.failures.push(failure.clone()),
            }
            tally.last = Some(outcome);
        });
    }

    pub fn tally(&self, target: &str) -> Tally {
        self.0.borrow().get(target).cloned().unwrap_or_default()
    }

    /// Waits until the last request to a target ended like this.
    pub async fn wait_for(&self, target: &str, expected: Expected) -> Result<(), String> {
        self.wait(target, &format!("{expected}"), |tally| match (&tally.last, expected) {
            (Some(Ok(answer)), Expected::Answer(wanted)) => answer == wanted,
            (Some(Err(_)), Expected::Failure) => true,
            _ => false,
        })
        .await
    }

    /// Waits for so many more answers.
    pub async fn wait_for_more(&self, target: &str, count: usize) -> Result<(), String> {
        let goal = self.tally(target).answers + count;
        self.wait(target, &format!("{count} more answers"), |tally| tally.answers >= goal).await
    }

    async fn wait(&self, target: &str, what: &str, wanted: impl Fn(&Tally) -> bool) -> Result<(), String> {
        let mut changes = self.0.subscribe();
        let waiting = changes.wait_for(|targets| targets.get(target).is_some_and(&wanted));
        match timeout(PATIENCE, waiting).await {
            Ok(_) => Ok(()),
            Err(_) => {
                Err(format!("{target}: waited in vain for {what}; last: {:?}", self.tally(target).last))
            }
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer(name) => write!(f, "an answer of {name:?}"),
            Self::Failure => write!(f, "a failure"),
        }
    }
}
