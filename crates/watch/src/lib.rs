//! Watches files for changes.
//!
//! Reports that something changed, not what: readers compare contents. Never reads a file.

mod trail;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::{self, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

pub use notify::Error;

use trail::Trail;

/// For how long nothing may happen before the files are read.
const QUIET: Duration = Duration::from_millis(50);

/// After how long they are read although something still happens.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often links are followed anew because they were moved meanwhile.
const TRIES: usize = 8;

/// A watch on files and directories, and on the directories that they and the links to them are in, since they may be
/// replaced themselves: by a rename, or by a link that is turned to another directory, as Kubernetes does.
pub struct Watch {
    /// Absolute.
    paths: Vec<PathBuf>,
    /// None where the system refuses to watch.
    watcher: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
    /// Of the paths. What else happens in a directory that is watched is nobody's concern.
    trail: Arc<Mutex<Trail>>,
    happened: Arc<Notify>,
    /// When the first event came that is not reported yet.
    since: Option<Instant>,
    poll: Option<Poll>,
}

#[derive(Clone, Copy)]
struct Poll {
    every: Duration,
    next: Instant,
}

impl Watch {
    /// Watches `paths`: directories with everything below them, or files. None of them need exist.
    ///
    /// # Errors
    /// When the system refuses to watch.
    pub fn new(paths: impl IntoIterator<Item = impl Into<PathBuf>>) -> Result<Self, Error> {
        let mut watch = Self::of(paths);
        watch.begin()?;
        Ok(watch)
    }

    /// As [`Self::new`], and reports a change `every` so often whether there was any or not: for file systems that do
    /// not notify.
    pub fn polling(paths: impl IntoIterator<Item = impl Into<PathBuf>>, every: Duration) -> Self {
        let mut watch = Self::of(paths);
        watch.poll = Some(Poll { every, next: Instant::now() + every });
        if let Err(error) = watch.begin() {
            tracing::warn!(%error, ?every, "files cannot be watched; polling instead");
        }
        watch
    }

    fn of(paths: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        let absolute = |path: PathBuf| path::absolute(&path).unwrap_or(path);
        Self {
            paths: paths.into_iter().map(|path| absolute(path.into())).collect(),
            watcher: None,
            watched: BTreeSet::new(),
            trail: Arc::default(),
            happened: Arc::default(),
            since: None,
            poll: None,
        }
    }

    fn begin(&mut self) -> Result<(), Error> {
        let (happened, trail) = (Arc::clone(&self.happened), Arc::clone(&self.trail));
        self.watcher = Some(notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.map_or(true, |event| is_relevant(&event, &trail.lock())) {
                happened.notify_one();
            }
        })?);
        self.try_follow()
    }

    /// Watches what the paths are now. To be called before the files are read: whatever changes after it is
    /// noticed, whatever changed before it is read.
    pub fn follow(&mut self) {
        if let Err(error) = self.try_follow() {
            tracing::warn!(%error, "watching files failed; changes may go unnoticed");
        }
    }

    fn try_follow(&mut self) -> Result<(), Error> {
        let mut result = Ok(());
        for _ in 0..TRIES {
            let trail = Trail::of(&self.paths);
            result = self.look_at(&trail);
            // What was moved before it was looked at, has caused no event.
            if Trail::of(&self.paths) == trail {
                break;
            }
        }
        result
    }

    fn look_at(&mut self, trail: &Trail) -> Result<(), Error> {
        let Some(watcher) = &mut self.watcher else { return Ok(()) };
        self.trail.lock().clone_from(trail);
        for path in std::mem::take(&mut self.watched) {
            // What is gone is not watched any more.
            _ = watcher.unwatch(&path);
        }
        for path in &trail.directories {
            watcher.watch(path, RecursiveMode::NonRecursive)?;
            self.watched.insert(path.clone());
        }
        for path in &trail.ends {
            match watcher.watch(path, RecursiveMode::Recursive) {
                Ok(()) => _ = self.watched.insert(path.clone()),
                // The directory has an event when something comes.
                Err(error) => tracing::debug!(path = %path.display(), %error, "not watched"),
            }
        }
        Ok(())
    }

    /// Waits until something changed and nothing more does. Nothing is lost when this is cancelled.
    pub async fn changed(&mut self) {
        match self.poll {
            None => self.settled().await,
            Some(Poll { next, .. }) => tokio::select! {
                () = self.settled() => {}
                () = sleep_until(next) => {}
            },
        }
        self.poll = self.poll.map(|poll| Poll { next: Instant::now() + poll.every, ..poll });
    }

    async fn settled(&mut self) {
        let since = match self.since {
            Some(since) => since,
            None => {
                self.happened.notified().await;
                *self.since.insert(Instant::now())
            }
        };
        let quiet = async { while timeout(QUIET, self.happened.notified()).await.is_ok() {} };
        // Past the patience it is time to read, quiet or not.
        let _ = timeout_at(since + PATIENCE, quiet).await;
        self.since = None;
    }
}

/// Whether files may have changed. Reading them makes events of its own.
fn is_relevant(event: &Event, trail: &Trail) -> bool {
    let reading =
        matches!(event.kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write));
    // Where no path is named, events were lost.
    !reading && (event.paths.is_empty() || event.paths.iter().any(|path| trail.concerns(path)))
}
