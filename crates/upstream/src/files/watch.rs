//! Noticing that files changed.
//!
//! Reports no more than that something did: what, the reader finds out by comparing.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout, timeout_at};

/// For how long nothing may happen before the files are read.
const QUIET: Duration = Duration::from_millis(50);

/// After how long they are read although something still happens.
const PATIENCE: Duration = Duration::from_secs(1);

/// A watch on a directory and on its parent, since the directory itself may be replaced.
pub(super) struct Watch {
    path: PathBuf,
    watcher: RecommendedWatcher,
    happened: Arc<Notify>,
    /// When the first event came that is not reported yet.
    since: Option<Instant>,
}

impl Watch {
    /// Watches `path`: a directory with everything below it, or a file.
    ///
    /// # Errors
    /// When the system refuses to watch.
    pub(super) fn new(path: &Path) -> notify::Result<Self> {
        let happened = Arc::new(Notify::new());
        let notify = Arc::clone(&happened);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|event| is_reading(event.kind)) {
                return;
            }
            notify.notify_one();
        })?;
        let mut watch = Self { path: path.to_owned(), watcher, happened, since: None };
        watch.watcher.watch(parent(path), RecursiveMode::NonRecursive)?;
        watch.follow();
        Ok(watch)
    }

    /// Watches what `path` is now. To be called before the files are read: whatever changes after it is
    /// noticed, whatever changed before it is read.
    pub(super) fn follow(&mut self) {
        // Where there is nothing, the parent tells when something comes.
        let _ = self.watcher.unwatch(&self.path);
        if let Err(error) = self.watcher.watch(&self.path, RecursiveMode::Recursive) {
            tracing::debug!(path = %self.path.display(), %error, "not watched");
        }
    }

    /// Waits until something changed and nothing more does. Nothing is lost when this is cancelled.
    pub(super) async fn changed(&mut self) {
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

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        Some(_) => Path::new("."),
        None => path,
    }
}

/// Events that reading the files causes itself.
fn is_reading(kind: EventKind) -> bool {
    matches!(kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write))
}
