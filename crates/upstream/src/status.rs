//! How the streams to control planes are doing, and whether files are read: for readiness, and for operators.

mod observed;
mod place;
mod readiness;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use tokio::sync::mpsc::{UnboundedSender, WeakUnboundedSender};
use tokio::sync::watch;
use weir_protocol::client::{Loss, Outcome, Shrink};
use weir_types::{DynamicParameters, Name, TypeUrl};

pub(crate) use self::place::StreamPlace;
use self::readiness::Start;
use crate::Lane;
use crate::connections::Carrier;
use crate::files::Problem;
use crate::propagation::{Propagated, Recent};
use crate::stream::Command;

/// How one stream is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamState {
    /// What it is called in commands.
    pub id: u64,
    /// The authority that it is for.
    pub authority: String,
    /// The parameter set that it is for; none where one stream serves all.
    pub parameters: Option<DynamicParameters>,
    /// What it carries.
    pub lane: Lane,
    /// Whether it carries nothing: it is a connection that is kept while nothing is wanted.
    pub idle: bool,
    /// Where it is connected to, while it is; for files, where they are, once they are read.
    pub endpoint: Option<String>,
    /// The connection to it, where streams share it.
    pub carrier: Option<Carrier>,
    /// Which of the endpoints that is, or was at last, in order of preference from 0.
    pub index: usize,
    /// Whether something is known of everything that was asked for on the current stream.
    pub in_sync: bool,
    /// Since when it is connected, or not.
    pub since: SystemTime,
    /// What has last gone wrong; of files, what is wrong with them now.
    pub last_failure: Option<StreamFailure>,
    /// How many things are wrong with files now.
    pub problems: usize,
    /// How many resources of each type are served from the store, and not yet vouched for by the control plane.
    pub unconfirmed: BTreeMap<TypeUrl, usize>,
    /// What waits to be confirmed, by type.
    pub withheld: BTreeMap<(TypeUrl, Loss), WithheldLosses>,
}

/// Losses of one type that are too many to be believed at first sight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithheldLosses {
    /// How many.
    pub count: usize,
    /// Of how many that the stream held when the last of them were withheld.
    pub of: usize,
    /// The first names of these.
    pub names: Vec<Name>,
    /// When that was.
    pub since: SystemTime,
}

impl StreamState {
    /// Whether there is a connection.
    pub fn is_connected(&self) -> bool {
        self.endpoint.is_some()
    }
}

/// Why a connection could not be made or has ended, or why an endpoint that was tried beside it is of no use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamFailure {
    /// Where.
    pub endpoint: String,
    /// What was wrong.
    pub reason: String,
    /// When.
    pub at: SystemTime,
}

/// The states of all streams. Cheap to clone; all clones show the same.
#[derive(Clone, Debug, Default)]
pub struct Status {
    registry: Arc<Mutex<Registry>>,
    recent: Recent,
    /// Notified when a stream is connected.
    connects: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Registry {
    next: u64,
    /// By order of creation.
    states: BTreeMap<u64, StreamState>,
    commands: BTreeMap<u64, WeakUnboundedSender<Command>>,
    authorities: BTreeMap<String, Start>,
}

// === impl Status ===

impl Status {
    /// Every stream that there is now; where nothing is wanted, a connection without one.
    pub fn streams(&self) -> Vec<StreamState> {
        let registry = self.registry.lock();
        let streams = registry.states.values().filter(|stream| !stream.idle);
        let with_streams: BTreeSet<&str> = streams.map(|stream| &*stream.authority).collect();
        let shown = |stream: &&StreamState| !stream.idle || !with_streams.contains(&*stream.authority);
        registry.states.values().filter(shown).cloned().collect()
    }

    /// Accepts the losses of a type that a stream withholds. False where there are none.
    pub fn confirm_removals(&self, id: u64, type_url: &TypeUrl) -> bool {
        let registry = self.registry.lock();
        let waits = |stream: &StreamState| stream.withheld.keys().any(|(of, _)| of == type_url);
        let waits = registry.states.get(&id).is_some_and(waits);
        let stream = registry.commands.get(&id).filter(|_| waits).and_then(WeakUnboundedSender::upgrade);
        stream.is_some_and(|stream| stream.send(Command::ConfirmRemovals(type_url.clone())).is_ok())
    }

    /// The newest changes that were followed to the clients, the newest first; not all are.
    pub fn propagated(&self) -> Vec<Propagated> {
        self.recent.all()
    }

    /// Where they are noted.
    pub(crate) fn recent(&self) -> Recent {
        self.recent.clone()
    }

    pub(crate) fn register(
        &self,
        authority: &str,
        parameters: Option<DynamicParameters>,
        lane: Lane,
    ) -> StreamStatus {
        let mut registry = self.registry.lock();
        registry.next += 1;
        let (id, since) = (registry.next, SystemTime::now());
        let state = StreamState {
            id,
            authority: authority.to_owned(),
            parameters,
            lane,
            idle: false,
            endpoint: None,
            carrier: None,
            index: 0,
            in_sync: false,
            since,
            last_failure: None,
            problems: 0,
            unconfirmed: BTreeMap::new(),
            withheld: BTreeMap::new(),
        };
        registry.states.insert(id, state);
        StreamStatus { status: self.clone(), id }
    }

    /// A connection that carries nothing. Until it is known better, it is where the streams before it were.
    pub(crate) fn register_contact(&self, authority: &str) -> StreamStatus {
        let mut before = self.streams();
        before.retain(|stream| stream.authority == authority && stream.is_connected());
        let contact = self.register(authority, None, Lane::default());
        contact.change(|state| {
            state.idle = true;
            if let Some(StreamState { endpoint, index, since, .. }) = before.pop() {
                (state.endpoint, state.index, state.since) = (endpoint, index, since);
                state.in_sync = true;
            }
        });
        contact
    }
}

/// The entry of one stream; taken out when dropped.
#[derive(Debug)]
pub(crate) struct StreamStatus {
    status: Status,
    id: u64,
}

// === impl StreamStatus ===

impl StreamStatus {
    fn change(&self, change: impl FnOnce(&mut StreamState)) {
        let mut registry = self.status.registry.lock();
        let Some(state) = registry.states.get_mut(&self.id) else { return };
        change(state);
        let authority = state.authority.clone();
        registry.note_answered(&authority, SystemTime::now());
    }

    pub(crate) fn connected(&self, endpoint: &str, index: usize, carrier: Option<Carrier>) {
        self.change(|state| {
            (state.endpoint, state.index, state.carrier) = (Some(endpoint.to_owned()), index, carrier);
            (state.in_sync, state.since) = (false, SystemTime::now());
        });
        self.status.connects.send_replace(());
    }

    /// There is no connection. A stream that is away stays away since it was lost, however often it tries.
    pub(crate) fn disconnected(&self) {
        self.change(|state| {
            if state.endpoint.take().is_some() {
                state.since = SystemTime::now();
            }
            (state.in_sync, state.carrier) = (false, None);
        });
    }

    pub(crate) fn failed(&self, endpoint: &str, reason: String) {
        let failure = StreamFailure { endpoint: endpoint.to_owned(), reason, at: SystemTime::now() };
        self.change(|state| state.last_failure = Some(failure));
    }

    /// Files were read, and are served but for what is wrong with them.
    pub(crate) fn read(&self, path: &str, problems: &[Problem]) {
        self.change(|state| {
            if state.endpoint.is_none() {
                (state.endpoint, state.since) = (Some(path.to_owned()), SystemTime::now());
            }
            (state.in_sync, state.problems) = (true, problems.len());
            state.last_failure = problems.first().map(|first| {
                let more = match problems.len() - 1 {
                    0 => String::new(),
                    more => format!(" (and {more} more)"),
                };
                let reason = format!("{}{more}", first.reason);
                StreamFailure { endpoint: first.origin.to_string(), reason, at: SystemTime::now() }
            });
        });
    }

    /// Has the stream obey operators.
    pub(crate) fn obeys(&self, commands: &UnboundedSender<Command>) {
        self.status.registry.lock().commands.insert(self.id, commands.downgrade());
    }

    pub(crate) fn shrunk(&self, shrink: Shrink) {
        let Shrink { type_url, loss, outcome, of, names, withheld: count, .. } = shrink;
        let key = (type_url, loss);
        self.change(|state| match (count, outcome, state.withheld.get_mut(&key)) {
            (0, ..) => drop(state.withheld.remove(&key)),
            (_, Outcome::Withheld, _) | (_, _, None) => {
                let losses = WithheldLosses { count, of, names, since: SystemTime::now() };
                state.withheld.insert(key, losses);
            }
            (_, _, Some(losses)) => losses.count = count,
        });
    }

    pub(crate) fn unconfirmed(&self, unconfirmed: &BTreeMap<TypeUrl, usize>) {
        self.change(|state| state.unconfirmed.clone_from(unconfirmed));
    }

    pub(crate) fn in_sync(&self, in_sync: bool) {
        self.change(|state| state.in_sync = in_sync);
    }
}

impl Drop for StreamStatus {
    fn drop(&mut self) {
        let mut registry = self.status.registry.lock();
        registry.states.remove(&self.id);
        registry.commands.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Origin;

    #[test]
    fn what_is_wrong_with_files_is_their_failure_until_it_is_mended() {
        let status = Status::default();
        let files = status.register("", None, Lane::default());
        let problem = |line, reason: &str| {
            let file = std::path::Path::new("dir/a.yaml").into();
            Problem { origin: Origin { file, line: Some(line) }, reason: reason.to_owned() }
        };
        let failure = || status.streams().remove(0).last_failure;
        files.read("dir", &[problem(3, "no such field"), problem(9, "no name")]);
        let found = failure().map(|failure| format!("{}: {}", failure.endpoint, failure.reason));
        assert_eq!(found.as_deref(), Some("dir/a.yaml:3: no such field (and 1 more)"));
        assert_eq!(status.streams()[0].problems, 2);
        assert!(status.is_connected(""), "what is good of them is served");
        let since = status.streams()[0].since;
        files.read("dir", &[]);
        assert_eq!((failure(), status.streams()[0].since), (None, since));
        assert_eq!(status.streams()[0].problems, 0);
    }
}
