//! From what happens on a stream to the database, the log, the metrics, and whoever watches.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::Notify;
use weir_database::{Database, Watch};
use weir_protocol::client::{Applied, Outcome, Reported, Shrink};
use weir_types::{DynamicParameters, TypeUrl};

use crate::arrival::Arrival;
use crate::driver::{Answered, Event};
use crate::metrics::Metrics;
use crate::propagation::{Propagation, Trace, Waiter};
use crate::status::LinkStatus;
use crate::stream::acknowledgement::Release;
use crate::stream::memory::Archive;
use crate::{Acknowledge, Lane};

/// Carries what happens on a stream to the database, the log, and whoever watches.
pub(crate) struct EventSink {
    pub(crate) database: Database,
    pub(crate) metrics: Metrics,
    pub(crate) status: LinkStatus,
    pub(crate) propagation: Propagation,
    pub(crate) name: Name,
    pub(crate) acknowledge: Acknowledge,
    /// Notified when subscribers have answered for what was committed.
    pub(crate) answered: Arc<Answered>,
    /// How many acknowledgements are held back.
    pub(crate) held: usize,
    /// The missing connection is logged already.
    pub(crate) reported: bool,
    /// Which endpoint was the last.
    pub(crate) index: Option<usize>,
    /// Notified when there is a stream, or there could be none.
    pub(crate) tried: Arc<Notify>,
    /// Where to leave what upstream sends to the next process.
    pub(crate) archive: Option<Archive>,
    /// How much is served from the store, and not yet vouched for.
    pub(crate) unconfirmed: BTreeMap<TypeUrl, usize>,
}

/// How a stream is called in the log.
pub(crate) struct Name {
    pub(crate) authority: String,
    pub(crate) parameters: Option<DynamicParameters>,
    pub(crate) lane: Lane,
}

// === impl EventSink ===

impl EventSink {
    /// Takes an event in. A watch of what it has committed, where acknowledging it waits for subscribers.
    pub(crate) fn handle(&mut self, event: Event) -> Option<Watch> {
        let Name { authority, parameters, lane: Lane { role, type_url } } = &self.name;
        let own_type = type_url.as_ref().map(tracing::field::display);
        let parameters = parameters.as_ref().map(tracing::field::display);
        match event {
            Event::Connected { endpoint, index } => {
                tracing::info!(authority, parameters, ?role, own_type, %endpoint, index, "connected upstream");
                self.metrics.connected(index, self.index.replace(index));
                self.status.connected(&endpoint, index);
                self.tried.notify_one();
                self.reported = false;
            }
            Event::Unfit { endpoint, reason } => {
                tracing::debug!(authority, parameters, ?role, own_type, %endpoint, reason, "probe of another endpoint failed");
                self.metrics.unfit();
                self.status.failed(&endpoint, reason);
            }
            Event::Disconnected { endpoint, reason } => {
                if !std::mem::replace(&mut self.reported, true) {
                    tracing::warn!(authority, parameters, ?role, own_type, %endpoint, reason, "upstream disconnected");
                } else {
                    tracing::debug!(authority, parameters, ?role, own_type, %endpoint, reason, "upstream still disconnected");
                }
                self.metrics.disconnected();
                self.status.disconnected();
                self.status.failed(&endpoint, reason);
                self.tried.notify_one();
            }
            Event::Applied(applied, arrival) => return self.commit(applied, &arrival),
            Event::Known(batch) => {
                self.archive.iter().for_each(|archive| archive.note(&batch));
                self.database.commit(batch);
            }
            Event::Remembered(batch) => {
                let (type_url, resources) = (&batch.type_url, batch.upserts.len());
                tracing::info!(authority, parameters, ?role, own_type, %type_url, resources, "restoring resources from the store");
                self.database.commit(batch);
            }
            Event::Unconfirmed(type_url, count) => self.unconfirmed(type_url, count),
            Event::Debounced(type_url) => self.metrics.debounced(&type_url),
            Event::InSync(in_sync) => self.status.in_sync(in_sync),
            Event::Shrink(shrink) => self.shrunk(shrink),
            Event::Adjusted(settings) => {
                self.acknowledge = settings.acknowledge;
                self.propagation.follow_for(settings.propagation_deadline);
                self.reported = false;
                self.status.disconnected();
            }
            Event::Held => {
                self.held += 1;
                self.metrics.held(1);
            }
            Event::Released(release) => self.released(&release),
        }
        None
    }

    fn commit(&mut self, applied: Applied, arrival: &Arrival) -> Option<Watch> {
        let trace = self.propagation.trace(&applied.batch, applied.rejected.len(), arrival);
        // What is logged of it is part of its trace.
        let _logged = trace.as_ref().map(|trace| trace.context().attach());
        let Name { authority, parameters, .. } = &self.name;
        let parameters = parameters.as_ref().map(tracing::field::display);
        let type_url = &applied.batch.type_url;
        self.metrics.responded(&applied);
        for rejected in &applied.rejected {
            tracing::warn!(authority, parameters, %type_url, reason = %rejected, "resource rejected");
        }
        for Reported { key, code, message } in &applied.errors {
            self.metrics.reported(type_url, *code);
            tracing::warn!(
                authority, parameters, %type_url, name = %key.name, constraints = %key.constraints,
                %code, reason = &**message, "upstream reported an error"
            );
        }
        if applied.batch.is_empty() {
            trace.iter().for_each(Trace::end_empty);
            return None;
        }
        self.archive.iter().for_each(|archive| archive.note(&applied.batch));
        let waiter: Option<Waiter> = match self.acknowledge {
            Acknowledge::AfterSubscribers(policy) if applied.ticket.is_some() => {
                Some((policy.share, Arc::clone(&self.answered) as _))
            }
            _ => None,
        };
        self.propagation.commit(&self.database, applied.batch, arrival, trace, waiter)
    }

    fn shrunk(&self, shrink: Shrink) {
        let Name { authority, parameters, .. } = &self.name;
        let parameters = parameters.as_ref().map(tracing::field::display);
        let Shrink { type_url, outcome, count, of, names, .. } = &shrink;
        self.metrics.shrunk(&shrink);
        let about = outcome.as_str();
        if *outcome == Outcome::Withheld {
            tracing::warn!(authority, parameters, %type_url, count, of, ?names, "removals withheld: too many at once");
        } else {
            tracing::info!(authority, parameters, %type_url, count, outcome = about, "removals are no longer withheld");
        }
        self.status.shrunk(shrink);
    }

    fn unconfirmed(&mut self, type_url: TypeUrl, count: usize) {
        let before = self.unconfirmed.get(&type_url).copied().unwrap_or_default();
        self.metrics.unconfirmed(&type_url, before, count);
        match count {
            0 => drop(self.unconfirmed.remove(&type_url)),
            _ => drop(self.unconfirmed.insert(type_url, count)),
        }
        self.status.unconfirmed(&self.unconfirmed);
    }

    fn released(&mut self, release: &Release) {
        let Name { authority, parameters, .. } = &self.name;
        let parameters = parameters.as_ref().map(tracing::field::display);
        let Release { ticket, rejection, held, late, tally } = release;
        let type_url = ticket.type_url();
        self.held -= 1;
        self.metrics.held(-1);
        self.metrics.released(type_url, *held, *late, rejection.is_some());
        if let Some(reason) = rejection {
            tracing::warn!(authority, parameters, %type_url, reason, "response rejected by subscribers");
        } else if *late {
            let (subscribers, answered) = (tally.subscribers, tally.done());
            tracing::warn!(
                authority, parameters, %type_url, subscribers, answered, ?held,
                "response acknowledged before all subscribers answered"
            );
        } else {
            tracing::debug!(authority, parameters, %type_url, ?tally, ?held, "response acknowledged");
        }
    }
}

impl Drop for EventSink {
    fn drop(&mut self) {
        self.metrics.held(-i64::try_from(self.held).unwrap_or_default());
        self.metrics.closed(self.index);
        for (type_url, count) in &self.unconfirmed {
            self.metrics.unconfirmed(type_url, *count, 0);
        }
    }
}
