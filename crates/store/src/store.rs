//! The handle: changes go in without waiting, the past comes out.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use parking_lot::Mutex;
use weir_types::{Batch, ResourceLocator, TypeUrl, VariantKey};

use crate::file;
use crate::lookup::Past;
use crate::pending::Pending;
use crate::shared::Shared;
use crate::writer::{Task, Writer};
use crate::{Key, Origin, Partition, Status};

/// How long the past is waited for: a disk that does not answer must not stop a start, and one that is slow, or has
/// much to write, must not be taken for such.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long somebody who has everything written waits for it.
const FLUSH: Duration = Duration::from_secs(5);

/// How long the last changes may take to be written.
const LAST_WRITE: Duration = Duration::from_secs(2);

/// The store. Cheap to clone; when the last clone is dropped, what is still to be written is.
#[derive(Clone, Debug)]
pub struct Store(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    /// None when it is being closed.
    tasks: Option<Sender<Task>>,
    ended: Mutex<Receiver<()>>,
}

// === impl Store ===

impl Store {
    /// Opens the file, or begins a new one. A file that cannot be used is set aside; where there can be none, the
    /// store is empty, and stays so until there can. Secrets are encrypted with `key`; without it, they are not written.
    ///
    /// # Errors
    /// When there can be no thread that writes it.
    pub fn open(settings: weir_config::Store, key: Option<Key>) -> io::Result<Self> {
        let shared = Arc::new(Shared::new(&settings, key.is_some()));
        let (tasks, receiver) = channel();
        let (end, ended) = channel();
        let mut writer = Writer::new((settings, key), Arc::clone(&shared), receiver);
        writer.open();
        let run = move || {
            writer.run();
            // The receiver may have stopped waiting.
            _ = end.send(());
        };
        std::thread::Builder::new().name("store".to_owned()).spawn(run)?;
        Ok(Self(Arc::new(Inner { shared, tasks: Some(tasks), ended: Mutex::new(ended) })))
    }

    /// Notes what upstream has sent, to be written soon.
    pub fn note(&self, origin: &Arc<Origin>, batch: &Batch) {
        let type_url = batch.type_url.clone();
        let partition = Partition { origin: Arc::clone(origin), type_url, provenance: batch.provenance };
        self.change(|pending| pending.note(partition, batch));
    }

    /// Notes that somebody wants `locator`, or that nobody does any more.
    pub fn want(&self, origin: &Arc<Origin>, type_url: &TypeUrl, locator: &ResourceLocator, wanted: bool) {
        let partition = Partition::of(origin, type_url, locator);
        self.change(|pending| pending.want(partition, locator, wanted));
    }

    /// Notes that what is stored for `locator` does not count any more, but for what is `held`: upstream answers
    /// without knowing of it.
    pub fn forget(
        &self,
        origin: &Arc<Origin>,
        type_url: &TypeUrl,
        locator: &ResourceLocator,
        held: HashSet<VariantKey>,
    ) {
        let partition = Partition::of(origin, type_url, locator);
        self.change(|pending| pending.forget(partition, locator, held));
    }

    /// What an earlier process knew of `locators`, all of the same upstream stream. Waits for the disk, but not for
    /// ever; nothing is known of what cannot be read.
    pub fn look_up(&self, origin: &Arc<Origin>, locators: Vec<(TypeUrl, ResourceLocator)>) -> Vec<Past> {
        let (answer, answered) = channel();
        self.send(Task::LookUp { origin: Arc::clone(origin), locators, answer });
        answered.recv_timeout(PATIENCE).unwrap_or_else(|_| {
            tracing::warn!(seconds = PATIENCE.as_secs(), "store timed out; continuing without it");
            Vec::new()
        })
    }

    /// Whether an earlier process has left any resource of `authority`. Waits for the disk, but not for ever.
    pub fn holds(&self, authority: &str) -> bool {
        let (answer, answered) = channel();
        self.send(Task::Holds { authority: authority.to_owned(), answer });
        answered.recv_timeout(PATIENCE).unwrap_or_default()
    }

    /// Has everything written that was noted. Whether that was done.
    pub fn flush(&self) -> bool {
        let (answer, answered) = channel();
        self.send(Task::Flush(answer));
        answered.recv_timeout(FLUSH).unwrap_or(false)
    }

    /// How it is doing.
    pub fn status(&self) -> Status {
        self.0.shared.status.lock().clone()
    }

    /// The files that could not be used and were set aside. Reads the directory.
    ///
    /// # Errors
    /// When that cannot be read.
    pub fn set_aside(&self) -> io::Result<Vec<PathBuf>> {
        let path = self.0.shared.status.lock().path.clone();
        file::aside(&path)
    }

    fn change(&self, change: impl FnOnce(&mut Pending)) {
        if self.0.shared.change(change) {
            self.send(Task::Write);
        }
    }

    fn send(&self, task: Task) {
        // Without the thread, whoever waits for an answer learns that there is none.
        _ = self.0.tasks.as_ref().map(|tasks| tasks.send(task));
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.tasks = None;
        if self.ended.get_mut().recv_timeout(LAST_WRITE).is_err() {
            tracing::warn!("store not fully written");
        }
    }
}
