//! Noticing that files changed.
//!
//! Reports no more than that something did: what, the reader finds out by comparing. Never reads a file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout, timeout_at};

pub use notify::Error;

/// For how long nothing may happen before the files are read.
const QUIET: Duration = Duration::from_millis(50);

/// After how long they are read although something still happens.
const PATIENCE: Duration = Duration::from_secs(1);

/// A watch on files and directories, and on their parents, since they may be replaced themselves: by a rename, or
/// by a link that is turned to another directory, as Kubernetes does.
pub struct Watch {
    paths: Vec<PathBuf>,
    watcher: RecommendedWatcher,
    happened: Arc<Notify>,
    /// When the first event came that is not reported yet.
    since: Option<Instant>,
}

impl Watch {
    /// Watches `paths`: directories with everything below them, or files.
    ///
    /// # Errors
    /// When the system refuses to watch.
    pub fn new(paths: impl IntoIterator<Item = impl Into<PathBuf>>) -> Result<Self, Error> {
        let happened = Arc::new(Notify::new());
        let notify = Arc::clone(&happened);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|event| is_reading(event.kind)) {
                return;
            }
            notify.notify_one();
        })?;
        let paths = paths.into_iter().map(Into::into).collect();
        let mut watch = Self { paths, watcher, happened, since: None };
        for parent in watch.paths.iter().map(|path| parent(path)).collect::<BTreeSet<_>>() {
            watch.watcher.watch(parent, RecursiveMode::NonRecursive)?;
        }
        watch.follow();
        Ok(watch)
    }

    /// Watches what the paths are now. To be called before the files are read: whatever changes after it is
    /// noticed, whatever changed before it is read.
    pub fn follow(&mut self) {
        for path in &self.paths {
            // Where there is nothing, the parent tells when something comes.
            let _ = self.watcher.unwatch(path);
            if let Err(error) = self.watcher.watch(path, RecursiveMode::Recursive) {
                tracing::debug!(path = %path.display(), %error, "not watched");
            }
        }
    }

    /// Waits until something changed and nothing more does. Nothing is lost when this is cancelled.
    pub async fn changed(&mut self) {
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
