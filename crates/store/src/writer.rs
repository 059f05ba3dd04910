//! The thread that has the file: it alone waits for the disk.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant, SystemTime};

use rusqlite::{Connection, TransactionBehavior};
use weir_types::{ResourceLocator, TypeUrl};

use crate::file::{self, BUSY, Unusable, is_damage};
use crate::lookup::{Past, Reader, any_variant};
use crate::metrics::Metrics;
use crate::pending::Pending;
use crate::rows::{Rows, seconds};
use crate::shared::Shared;
use crate::{Key, Origin, Partition, upkeep};

/// How long changes are gathered before they are written.
const GATHER: Duration = Duration::from_millis(100);
/// How long another process is waited for when somebody waits for an answer.
const BRIEFLY: Duration = Duration::from_millis(50);
/// How long after a failure the next attempt is made, first and at most.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// How often what nobody wants is given up.
const UPKEEP: Duration = Duration::from_secs(60 * 60);
/// How often a full store is logged.
const WARN: Duration = Duration::from_secs(60);

/// What the thread is asked for.
#[derive(Debug)]
pub(crate) enum Task {
    /// There are changes.
    Write,
    LookUp {
        origin: Arc<Origin>,
        locators: Vec<(TypeUrl, ResourceLocator)>,
        answer: Sender<Vec<Past>>,
    },
    Holds {
        authority: String,
        answer: Sender<bool>,
    },
    Flush(Sender<bool>),
}

pub(crate) struct Writer {
    settings: weir_config::Store,
    /// What secrets are encrypted with; without it, they are not written.
    key: Option<Key>,
    shared: Arc<Shared>,
    tasks: Receiver<Task>,
    metrics: Metrics,
    file: Option<Connection>,
    /// What was taken and is not written.
    backlog: Pending,
    /// What is wanted in this process.
    wanted: HashMap<Partition, HashSet<ResourceLocator>>,
    write_at: Option<Instant>,
    upkeep_at: Instant,
    retry: Duration,
    warned: Option<Instant>,
}

// === impl Writer ===

impl Writer {
    pub(crate) fn new(
        (settings, key): (weir_config::Store, Option<Key>),
        shared: Arc<Shared>,
        tasks: Receiver<Task>,
    ) -> Self {
        let upkeep_at = Instant::now();
        Self {
            settings,
            key,
            shared,
            tasks,
            metrics: Metrics::new(),
            file: None,
            backlog: Pending::default(),
            wanted: HashMap::new(),
            write_at: None,
            upkeep_at,
            retry: RETRY.0,
            warned: None,
        }
    }

    /// Opens the file, if that is possible.
    pub(crate) fn open(&mut self) {
        let opened = file::open_or_replace(&self.settings.path).and_then(|file| {
            let now = seconds(SystemTime::now());
            upkeep::begin(&file, now)?;
            Ok(file)
        });
        match opened {
            Ok(file) => {
                self.file = Some(file);
                self.stands(None);
            }
            Err(error) => self.failed("open", &error),
        }
    }

    /// Works until there is no handle any more, and writes what is left.
    pub(crate) fn run(mut self) {
        loop {
            let next = self.write_at.map_or(self.upkeep_at, |at| at.min(self.upkeep_at));
            match self.tasks.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(Task::Write) => _ = self.write_at.get_or_insert_with(|| Instant::now() + GATHER),
                // Whoever has asked may have given up.
                Ok(Task::LookUp { origin, locators, answer }) => {
                    _ = answer.send(self.look_up(&origin, &locators))
                }
                Ok(Task::Holds { authority, answer }) => _ = answer.send(self.holds(&authority)),
                Ok(Task::Flush(answer)) => _ = answer.send(self.write(BUSY)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.write(BUSY);
                    return;
                }
            }
            let now = Instant::now();
            if self.write_at.is_some_and(|at| at <= now) {
                self.write(BUSY);
            }
            if self.upkeep_at <= now {
                self.upkeep_at = now + UPKEEP;
                self.upkeep();
            }
        }
    }

    /// Writes everything that is known to have changed, in one transaction. Whether that is done.
    fn write(&mut self, patience: Duration) -> bool {
        self.take_fresh();
        if self.backlog.is_empty() {
            self.write_at = None;
            return true;
        }
        if self.file.is_none() {
            self.open();
        }
        let Some(file) = &mut self.file else { return self.write_later() };
        let written = file.busy_timeout(patience).and_then(|()| {
            write(file, self.settings.max_size.get() as u64, self.key.as_ref(), &self.backlog)
        });
        match written {
            Ok(refused) => {
                self.written(refused);
                true
            }
            Err(error) => {
                self.broken("write", error);
                self.write_later()
            }
        }
    }

    fn take_fresh(&mut self) {
        let fresh = self.shared.take();
        for (partition, changes) in fresh.partitions() {
            for (name, sets) in &changes.locators {
                for (parameters, record) in sets {
                    let locator = || ResourceLocator::new(name.clone(), parameters.clone());
                    match record.wanted {
                        Some(true) => {
                            self.wanted.entry(partition.clone()).or_default().insert(locator());
                        }
                        Some(false) => {
                            let Entry::Occupied(mut wanted) = self.wanted.entry(partition.clone()) else {
                                continue;
                            };
                            wanted.get_mut().remove(&locator());
                            if wanted.get().is_empty() {
                                wanted.remove();
                            }
                        }
                        None => {}
                    }
                }
            }
        }
        self.backlog.absorb(fresh);
    }

    fn write_later(&mut self) -> bool {
        self.write_at = Some(Instant::now() + self.retry);
        self.retry = (self.retry * 2).min(RETRY.1);
        self.shared.status.lock().pending = self.backlog.len();
        false
    }

    fn written(&mut self, refused: u64) {
        self.metrics.written(self.backlog.len(), refused);
        self.backlog = Pending::default();
        self.write_at = None;
        self.retry = RETRY.0;
        self.shared.status.lock().refused += refused;
        let now = Instant::now();
        if refused > 0 && self.warned.is_none_or(|at| now.saturating_duration_since(at) >= WARN) {
            self.warned = Some(now);
            let (path, max_size) = (self.settings.path.display(), self.settings.max_size.get());
            tracing::warn!(%path, max_size, resources = refused, "store full: resources not stored");
        }
        self.stands(Some(SystemTime::now()));
    }

    /// Notes how the file stands.
    fn stands(&self, written: Option<SystemTime>) {
        let size = self.file.as_ref().and_then(|file| upkeep::used(file).ok()).unwrap_or_default();
        let mut status = self.shared.status.lock();
        status.size = size;
        status.pending = self.backlog.len();
        if status.failure.take().is_some() {
            tracing::info!(path = %self.settings.path.display(), "store recovered");
        }
        status.written = written.or(status.written);
        self.metrics.stands(size, status.pending);
    }

    fn look_up(&mut self, origin: &Arc<Origin>, locators: &[(TypeUrl, ResourceLocator)]) -> Vec<Past> {
        // What changed just now counts, if it can be written without waiting for long.
        self.write(BRIEFLY);
        let Some(file) = &mut self.file else { return Vec::new() };
        let key = self.key.as_ref();
        let looked_up = file.transaction().and_then(|transaction| {
            let mut reader = Reader { connection: &transaction, key, unreadable: 0 };
            reader.look_up(origin, locators).map(|pasts| (pasts, reader.unreadable))
        });
        match looked_up {
            Ok((pasts, unreadable)) => {
                pasts.iter().for_each(|past| self.metrics.recalled(&past.type_url, past.variants.len()));
                self.metrics.unreadable(unreadable);
                self.shared.status.lock().unreadable += unreadable;
                if unreadable > 0 {
                    tracing::warn!(rows = unreadable, "store rows unreadable; waiting for upstream");
                }
                pasts
            }
            Err(error) => {
                self.broken("read", error);
                Vec::new()
            }
        }
    }

    /// Whether some resource of `authority` is stored and has not expired.
    fn holds(&mut self, authority: &str) -> bool {
        self.write(BRIEFLY);
        let Some(file) = &self.file else { return false };
        match any_variant(file, authority, SystemTime::now()) {
            Ok(holds) => holds,
            Err(error) => {
                self.broken("read", error);
                false
            }
        }
    }

    fn upkeep(&mut self) {
        self.take_fresh();
        let Some(file) = &mut self.file else { return };
        let keep = i64::try_from(self.settings.keep_unwanted.as_secs()).unwrap_or(i64::MAX);
        let then = seconds(SystemTime::now()).saturating_sub(keep);
        let kept_up =
            file.transaction_with_behavior(TransactionBehavior::Immediate).and_then(|transaction| {
                upkeep::insist(&transaction, &self.wanted)?;
                upkeep::age_out(&transaction, then)?;
                transaction.commit()
            });
        match kept_up {
            Ok(()) => self.stands(None),
            Err(error) => self.broken("write", error),
        }
    }

    /// Something went wrong with the file. One that is damaged is given up.
    fn broken(&mut self, what: &'static str, error: rusqlite::Error) {
        if is_damage(&error) {
            self.file = None;
            let reason = Unusable::from(error);
            if let Err(error) = file::set_aside(&self.settings.path, &reason) {
                self.failed("open", &error.into());
            }
            return self.metrics.failed(what);
        }
        self.failed(what, &error.into());
    }

    fn failed(&mut self, what: &'static str, error: &Unusable) {
        self.metrics.failed(what);
        let failure = error.to_string();
        let mut status = self.shared.status.lock();
        if status.failure.as_ref() != Some(&failure) {
            let path = self.settings.path.display();
            tracing::error!(%path, operation = what, reason = failure, "store failed; continuing without it");
            status.failure = Some(failure);
        }
    }
}

/// Writes `changes` to the file, all or nothing. How many resources were not kept for want of room.
fn write(
    file: &mut Connection,
    max_size: u64,
    key: Option<&Key>,
    changes: &Pending,
) -> rusqlite::Result<u64> {
    let room = |connection: &Connection| Ok(upkeep::used(connection)? <= max_size);
    for full in [false, true] {
        let transaction = file.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut rows = Rows { connection: &transaction, key, full, refused: 0 };
        rows.write(changes)?;
        let refused = rows.refused;
        // Where there is no room, what nobody wants goes all the same.
        if upkeep::make_room(&transaction, room)? || full {
            transaction.commit()?;
            return Ok(refused);
        }
        // What is written here is given up again: there is no room for it.
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use weir_types::DynamicParameters;

    use super::*;

    #[test]
    fn e05_types_that_nobody_wants_any_more_are_forgotten() {
        let settings = weir_config::Store::at("unused");
        let shared = Arc::new(Shared::new(&settings, false));
        let (_tasks, receiver) = std::sync::mpsc::channel();
        let mut writer = Writer::new((settings, None), Arc::clone(&shared), receiver);
        let parameters = DynamicParameters::empty();
        let origin = Arc::new(Origin { authority: String::new(), keys: None, parameters });
        let mut note = |number: usize, name: &str, wanted: bool| {
            let type_url = TypeUrl::new(format!("type.googleapis.com/made.up.Type{number}"));
            let locator = ResourceLocator::new(name, DynamicParameters::empty());
            let partition = Partition::of(&origin, &type_url, &locator);
            shared.change(|pending| pending.want(partition, &locator, wanted));
            writer.take_fresh();
            writer.wanted.values().map(HashSet::len).collect::<Vec<_>>()
        };
        note(0, "a", true);
        assert_eq!(note(0, "b", true), [2]);
        assert_eq!(note(0, "a", false), [1], "the other name is wanted");
        for number in 1..100 {
            note(number, "a", true);
            note(number, "a", false);
        }
        assert_eq!(note(0, "b", false), [0; 0]);
    }
}
