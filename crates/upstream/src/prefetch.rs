//! Subscriptions that are made before any client asks, and kept.
//!
//! Owns their places in the database, as a client's stream would have them, and how many of them are answered.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use weir_database::{Database, ViewHandle, ViewListener};
use weir_types::{Cursor, DynamicParameters, Selector, SubscriptionChange, TypeUrl, WILDCARD};

/// How long after a refusal a subscription is tried again: limits are by the second.
const RETRY: Duration = Duration::from_secs(1);

/// One subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefetch {
    /// The type of the resources.
    pub type_url: TypeUrl,
    /// Their names; none is the wildcard.
    pub names: Vec<String>,
    /// For which dynamic parameters.
    pub parameters: DynamicParameters,
}

/// The subscriptions of one upstream.
pub(crate) struct Prefetcher {
    database: Database,
    authority: String,
    changed: Arc<Signal>,
    /// What is not subscribed to yet.
    refused: Vec<Prefetch>,
    attached: Vec<ViewHandle>,
}

#[derive(Default)]
struct Signal(Notify);

impl ViewListener for Signal {
    fn wake(&self) {
        self.0.notify_one();
    }

    fn name(&self) -> Arc<str> {
        "prefetch".into()
    }
}

// === impl Prefetch ===

impl Prefetch {
    fn selectors(&self) -> Vec<Selector> {
        let selector = |name: &str| Selector::plain(name, self.parameters.clone());
        match &self.names[..] {
            [] => vec![selector(WILDCARD)],
            names => names.iter().map(|name| selector(name)).collect(),
        }
    }
}

// === impl Prefetcher ===

impl Prefetcher {
    /// Subscribes to `wanted`.
    pub(crate) fn new(database: Database, authority: &str, wanted: &[Prefetch]) -> Self {
        let (authority, changed, attached) = (authority.to_owned(), Arc::default(), Vec::new());
        let mut prefetcher = Self { database, authority, changed, refused: wanted.to_vec(), attached };
        prefetcher.subscribe();
        prefetcher
    }

    /// Subscribes to `wanted` in place of what was subscribed to before.
    pub(crate) fn replace(&mut self, wanted: &[Prefetch]) {
        let before = std::mem::take(&mut self.attached);
        self.refused = wanted.to_vec();
        self.subscribe();
        // What both have stays subscribed meanwhile.
        drop(before);
    }

    fn subscribe(&mut self) {
        let authority = &self.authority;
        for wanted in std::mem::take(&mut self.refused) {
            let Prefetch { type_url, parameters, .. } = &wanted;
            match self.database.attach(
                type_url,
                SubscriptionChange::adding(&wanted.selectors()),
                self.changed.clone(),
            ) {
                Ok(attached) => self.attached.push(attached),
                Err(refusal) => {
                    tracing::warn!(authority, %type_url, %parameters, %refusal, "prefetch is over a limit; trying again");
                    self.refused.push(wanted);
                }
            }
        }
    }

    /// Waits until something has changed of what is subscribed to.
    pub(crate) async fn changed(&mut self) {
        tokio::select! {
            () = self.changed.0.notified() => {}
            () = tokio::time::sleep(RETRY), if !self.refused.is_empty() => self.subscribe(),
        }
    }

    /// Takes note of what has changed. How many subscriptions there are, and of how many of them something is not answered.
    pub(crate) fn take_note(&mut self) -> (usize, usize) {
        let mut waiting = self.refused.len();
        for attachment in &mut self.attached {
            let head = attachment.head();
            attachment.advance(Cursor { removals: head.removals, additions: head.newest() });
            attachment.answer(head.newest(), None);
            let unsettled = attachment.unsettled();
            waiting += usize::from(unsettled.names + unsettled.collections > 0);
        }
        (self.refused.len() + self.attached.len(), waiting)
    }
}
