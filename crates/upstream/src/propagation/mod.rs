//! How changes reach clients: from the arrival of a response to the last answer of a stream that it concerns.
//!
//! Owns which commits are followed: those of sampled traces, and of the others at most one of each type within
//! [`MEASURED_EVERY`], for the histogram. All others are committed as they are, and cost nothing. Never decides
//! when upstream is acknowledged: whoever waits for that is notified as if nobody else watched.

mod progress;
mod recent;
mod trace;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use opentelemetry::KeyValue;
use opentelemetry::metrics::Histogram;
use weir_database::{Database, Observer, Watch};
use weir_types::{Batch, TypeUrl};

use self::progress::Progress;
pub use self::recent::Propagated;
pub(crate) use self::recent::Recent;
pub(crate) use self::trace::Trace;
use crate::arrival::{Arrival, Moment};

/// How often a commit of a type is measured that is in no trace.
const MEASURED_EVERY: Duration = Duration::from_secs(1);

/// Who else waits for the answers: for so many percent of the streams.
pub(crate) type Waiter = (u8, Arc<dyn Observer>);

/// The commits of one stream's responses.
pub(crate) struct Propagation {
    authority: String,
    deadline: Duration,
    duration: Histogram<f64>,
    recent: Recent,
    /// When a commit of each type was measured last.
    measured: HashMap<TypeUrl, Instant>,
}

impl Propagation {
    /// Of a control plane that is asked for the names of `authority`. Commits are followed for `deadline` at most.
    /// What becomes of them is noted in `recent`.
    pub(crate) fn new(authority: &str, deadline: Duration, recent: Recent) -> Self {
        let duration = weir_metrics::PROPAGATION_DURATION.histogram();
        Self { authority: authority.to_owned(), deadline, duration, recent, measured: HashMap::new() }
    }

    /// Commits are followed for `deadline` at most from now on.
    pub(crate) fn follow_for(&mut self, deadline: Duration) {
        self.deadline = deadline;
    }

    /// Starts the trace of a response; none where it is not sampled, or nobody traces.
    pub(crate) fn trace(&self, batch: &Batch, rejected: usize, arrival: &Arrival) -> Option<Trace> {
        Trace::start(&self.authority, batch, rejected, arrival)
    }

    /// Commits what came. A watch of it for the `waiter`, if there is one.
    ///
    /// To be called in a tokio runtime.
    pub(crate) fn commit(
        &mut self,
        database: &Database,
        batch: Batch,
        arrival: &Arrival,
        trace: Option<Trace>,
        waiter: Option<Waiter>,
    ) -> Option<Watch> {
        // Of one that is divided, nobody could state when it was delivered.
        let measured = !Database::divides(&batch) && self.is_measured(&batch.type_url, arrival.at.instant);
        if trace.is_none() && !measured {
            return match waiter {
                Some((percent, observer)) => Some(database.commit_watched(batch, percent, observer)),
                None => {
                    database.commit(batch);
                    None
                }
            };
        }
        let waited = waiter.is_some();
        let (percent, waiter) = waiter.map_or((100, None), |(percent, waiter)| (percent, Some(waiter)));
        let type_url = batch.type_url.clone();
        let progress = Arc::new(Progress::new(waiter, trace));
        let started = Moment::now();
        let watch = database.commit_watched(batch, percent, Arc::clone(&progress) as Arc<dyn Observer>);
        progress.committed(started, Moment::now());
        let follow = Follow {
            progress,
            authority: self.authority.clone(),
            type_url,
            arrived: arrival.at,
            deadline: self.deadline,
            duration: self.duration.clone(),
            recent: self.recent.clone(),
        };
        follow.start(watch.clone());
        waited.then_some(watch)
    }

    fn is_measured(&mut self, type_url: &TypeUrl, now: Instant) -> bool {
        let last = self.measured.get(type_url);
        let due = last.is_none_or(|last| now.saturating_duration_since(*last) >= MEASURED_EVERY);
        if due {
            // Of other types, all that matters is that it is long ago.
            self.measured.retain(|_, last| now.saturating_duration_since(*last) < MEASURED_EVERY);
            self.measured.insert(type_url.clone(), now);
        }
        due
    }
}

/// A commit on its way.
struct Follow {
    progress: Arc<Progress>,
    authority: String,
    type_url: TypeUrl,
    arrived: Moment,
    deadline: Duration,
    duration: Histogram<f64>,
    recent: Recent,
}

impl Follow {
    /// Follows until the last stream is done, or the deadline has passed. A commit that concerns nobody is done.
    fn start(self, watch: Watch) {
        if self.progress.is_done() {
            return self.progress.finish();
        }
        tokio::spawn(async move {
            let late = tokio::time::timeout(self.deadline, self.progress.done()).await.is_err();
            // Unless an acknowledgement waits too, nothing is counted any more.
            drop(watch);
            self.conclude(late);
        });
    }

    fn conclude(self, late: bool) {
        let outcome = match (self.progress.rejected() > 0, late) {
            (true, _) => "rejected",
            (false, true) => "late",
            (false, false) => "accepted",
        };
        let took = self.progress.end().saturating_duration_since(self.arrived.instant);
        let labels = [
            KeyValue::new("authority", self.authority.clone()),
            KeyValue::new("type", self.type_url.short_name()),
            KeyValue::new("outcome", outcome),
        ];
        self.duration.record(took.as_secs_f64(), &labels);
        self.recent.add(Propagated {
            number: 0,
            at: self.arrived.time,
            authority: self.authority,
            type_url: self.type_url,
            streams: self.progress.streams(),
            took,
            outcome,
        });
        self.progress.finish();
    }
}
