//! From an upstream stream to the database, the store, the log, the metrics and the status.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::Notify;
use weir_database::{Database, Observer, Watch};
use weir_protocol::client::{Applied, Outcome, Reported, Shrink};
use weir_types::{DynamicParameters, TypeUrl};

use super::Archive;
use crate::arrival::Arrival;
use crate::metrics::Metrics;
use crate::propagation::{Propagation, Trace, Waiter};
use crate::status::StreamStatus;
use crate::stream::acknowledgement::CompletedAck;
use crate::stream::{Event, EventSink};
use crate::{Acknowledge, Lane, Settings};

/// Commits what comes on a stream, and logs and counts what happens on it.
pub(crate) struct DatabaseSink {
    to: Destinations,
    propagation: Propagation,
    acknowledge: Acknowledge,
    subscribers_done: Arc<SubscribersDone>,
    name: StreamName,
    /// Whether the missing connection is logged already.
    reported: bool,
    gauges: Gauges,
}

/// Where the events of a stream go, beside the log and the metrics.
pub(crate) struct Destinations {
    pub(crate) database: Database,
    pub(crate) status: StreamStatus,
    /// Notified when there is a connection, or there could be none.
    pub(crate) tried: Arc<Notify>,
    /// Leaves what upstream sends to the next process.
    pub(crate) archive: Option<Archive>,
}

/// Learns that the subscribers of a watched commit have answered.
#[derive(Default)]
pub(crate) struct SubscribersDone(Notify);

impl SubscribersDone {
    /// Waits until it was so since this was last awaited.
    pub(super) async fn notified(&self) {
        self.0.notified().await;
    }
}

impl Observer for SubscribersDone {
    fn over(&self) {
        self.0.notify_one();
    }
}

/// What a stream is called in the log.
pub(crate) struct StreamName {
    pub(crate) authority: String,
    pub(crate) parameters: Option<DynamicParameters>,
    pub(crate) lane: Lane,
}

/// What a stream adds to metrics that count what there is now. It is taken back when the stream ends.
struct Gauges {
    metrics: Metrics,
    /// How many acknowledgements are deferred.
    deferred: usize,
    /// The place of the last endpoint in the order of preference.
    index: Option<usize>,
    /// How many resources are restored from the store, and not confirmed by a server.
    unconfirmed: BTreeMap<TypeUrl, usize>,
}

// === impl DatabaseSink ===

impl DatabaseSink {
    /// The sink of a stream to the control plane with these `settings`.
    pub(crate) fn new(
        name: StreamName,
        settings: &Settings,
        to: Destinations,
        metrics: Metrics,
        propagation: Propagation,
    ) -> Self {
        let gauges = Gauges { metrics, deferred: 0, index: None, unconfirmed: BTreeMap::new() };
        let acknowledge = settings.acknowledge;
        Self { to, propagation, acknowledge, subscribers_done: Arc::default(), name, reported: false, gauges }
    }

    /// Is notified when an acknowledgement need not wait any longer.
    pub(crate) fn subscribers_done(&self) -> Arc<SubscribersDone> {
        Arc::clone(&self.subscribers_done)
    }

    fn commit(&mut self, applied: Applied, arrival: &Arrival) -> Option<Watch> {
        let trace = self.propagation.trace(&applied.batch, applied.rejected.len(), arrival);
        // What is logged of it is part of its trace.
        let _logged = trace.as_ref().map(|trace| trace.context().attach());
        let StreamName { authority, parameters, .. } = &self.name;
        let parameters = parameters.as_ref().map(tracing::field::display);
        let type_url = &applied.batch.type_url;
        self.gauges.metrics.responded(&applied);
        for rejected in &applied.rejected {
            tracing::warn!(authority, parameters, %type_url, reason = %rejected, "resource rejected");
        }
        for Reported { key, code, message } in &applied.errors {
            self.gauges.metrics.reported(type_url, *code);
            tracing::warn!(
                authority, parameters, %type_url, name = %key.name, constraints = %key.constraints,
                %code, reason = &**message, "upstream reported an error"
            );
        }
        if applied.batch.is_empty() {
            trace.iter().for_each(Trace::end_empty);
            return None;
        }
        self.to.archive.iter().for_each(|archive| archive.note_batch(&applied.batch));
        let waiter: Option<Waiter> = match self.acknowledge {
            Acknowledge::AfterSubscribers(policy) if applied.ticket.is_some() => {
                Some((policy.subscribers.share.get(), Arc::clone(&self.subscribers_done) as _))
            }
            _ => None,
        };
        self.propagation.commit(&self.to.database, applied.batch, arrival, trace, waiter)
    }

    fn shrunk(&self, shrink: Shrink) {
        let StreamName { authority, parameters, .. } = &self.name;
        let parameters = parameters.as_ref().map(tracing::field::display);
        let Shrink { type_url, loss, outcome, count, of, names, .. } = &shrink;
        self.gauges.metrics.shrunk(&shrink);
        let about = outcome.as_str();
        let loss = loss.as_str();
        if *outcome == Outcome::Withheld {
            tracing::warn!(authority, parameters, %type_url, loss, count, of, ?names, "losses withheld: too many at once");
        } else {
            tracing::info!(authority, parameters, %type_url, loss, count, outcome = about, "losses are no longer withheld");
        }
        self.to.status.shrunk(shrink);
    }

    fn released(&mut self, release: &CompletedAck) {
        let StreamName { authority, parameters, .. } = &self.name;
        let parameters = parameters.as_ref().map(tracing::field::display);
        let CompletedAck { ticket, rejection, held, late, tally } = release;
        let type_url = ticket.type_url();
        self.gauges.completed();
        self.gauges.metrics.released(type_url, *held, *late, rejection.is_some());
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

impl EventSink for DatabaseSink {
    fn apply(&mut self, applied: Applied, arrival: Arrival) -> Option<Watch> {
        self.commit(applied, &arrival)
    }

    fn note(&mut self, event: Event) {
        self.to.archive.iter().for_each(|archive| archive.note(&event));
        let StreamName { authority, parameters, lane: Lane { role, type_url } } = &self.name;
        let own_type = type_url.as_ref().map(tracing::field::display);
        let parameters = parameters.as_ref().map(tracing::field::display);
        match event {
            Event::Connected { endpoint, index, carrier } => {
                let (connection, address) = (carrier.map(|c| c.id), carrier.map(|c| c.address.to_string()));
                tracing::info!(
                    authority, parameters, ?role, own_type, %endpoint, index, connection, address,
                    "connected upstream"
                );
                self.gauges.connected(index);
                self.to.status.connected(&endpoint, index, carrier);
                self.to.tried.notify_one();
                self.reported = false;
            }
            Event::Unfit { endpoint, reason } => {
                tracing::debug!(authority, parameters, ?role, own_type, %endpoint, reason, "probe of another endpoint failed");
                self.gauges.metrics.unfit();
                self.to.status.failed(&endpoint, reason);
            }
            Event::Disconnected { endpoint, reason } => {
                if !std::mem::replace(&mut self.reported, true) {
                    tracing::warn!(authority, parameters, ?role, own_type, %endpoint, reason, "upstream disconnected");
                } else {
                    tracing::debug!(authority, parameters, ?role, own_type, %endpoint, reason, "upstream still disconnected");
                }
                self.gauges.metrics.disconnected();
                self.to.status.disconnected();
                self.to.status.failed(&endpoint, reason);
                self.to.tried.notify_one();
            }
            Event::Known(batch) => drop(self.to.database.commit(batch)),
            Event::Remembered(batch) => {
                let (type_url, resources) = (&batch.type_url, batch.upserts.len());
                tracing::info!(authority, parameters, ?role, own_type, %type_url, resources, "restoring resources from the store");
                self.to.database.commit(batch);
            }
            Event::Unconfirmed(type_url, count) => {
                self.gauges.set_unconfirmed(type_url, count);
                self.to.status.unconfirmed(&self.gauges.unconfirmed);
            }
            Event::Debounced(type_url) => self.gauges.metrics.debounced(&type_url),
            Event::InSync(in_sync) => self.to.status.in_sync(in_sync),
            Event::Shrink(shrink) => self.shrunk(shrink),
            Event::Adjusted(settings) => {
                self.acknowledge = settings.acknowledge;
                self.propagation.follow_for(settings.propagation_deadline);
                self.reported = false;
                self.to.status.disconnected();
            }
            Event::AckDeferred => self.gauges.deferred(),
            Event::AckCompleted(release) => self.released(&release),
            Event::Wanted { .. } | Event::Outdated { .. } => {}
        }
    }
}

impl Gauges {
    fn connected(&mut self, index: usize) {
        self.metrics.connected(index, self.index.replace(index));
    }

    fn deferred(&mut self) {
        self.deferred += 1;
        self.metrics.held(1);
    }

    fn completed(&mut self) {
        self.deferred -= 1;
        self.metrics.held(-1);
    }

    fn set_unconfirmed(&mut self, type_url: TypeUrl, count: usize) {
        let before = self.unconfirmed.get(&type_url).copied().unwrap_or_default();
        self.metrics.unconfirmed(&type_url, before, count);
        match count {
            0 => drop(self.unconfirmed.remove(&type_url)),
            _ => drop(self.unconfirmed.insert(type_url, count)),
        }
    }
}

impl Drop for Gauges {
    fn drop(&mut self) {
        self.metrics.held(-i64::try_from(self.deferred).unwrap_or_default());
        self.metrics.closed(self.index);
        for (type_url, count) in &self.unconfirmed {
            self.metrics.unconfirmed(type_url, *count, 0);
        }
    }
}
