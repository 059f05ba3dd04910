//! Values that are made of files, and made anew when these change.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::AbortHandle;
use weir_watch::Watch;

use crate::error::{Error, Fault, Part};
use crate::metrics::Metrics;

/// How often files are read without notice of a change: some file systems send none.
const POLL: Duration = Duration::from_secs(30);

/// A file, and as what it is read.
pub(crate) type Source = (PathBuf, Part);

/// The contents of some files, in their order.
pub(crate) type Contents = Vec<Vec<u8>>;

/// The value of the newest good contents of some files, until it is dropped. Cheap to clone.
#[derive(Debug)]
pub struct Reloaded<T> {
    current: watch::Receiver<Arc<T>>,
    _task: Arc<Task>,
}

impl<T> Clone for Reloaded<T> {
    fn clone(&self) -> Self {
        Self { current: self.current.clone(), _task: Arc::clone(&self._task) }
    }
}

#[derive(Debug)]
struct Task(AbortHandle);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<T: Send + Sync + 'static> Reloaded<T> {
    /// The value that `load` makes of the contents of `files`, and makes anew whenever they change. `place` names the
    /// purpose of the files in logs and metrics. To be called in a tokio runtime.
    ///
    /// # Errors
    /// When there is no good value to begin with.
    pub(crate) fn start(
        place: &str,
        files: Vec<Source>,
        mut load: impl FnMut(&Contents) -> Result<T, Error> + Send + 'static,
    ) -> Result<Self, Error> {
        let metrics = Metrics::new(place);
        // Whatever changes from here on is noticed.
        let watch = Watch::polling(files.iter().map(|(path, _)| path), POLL);
        let contents = read(&files)?;
        let (sender, current) = watch::channel(Arc::new(load(&contents)?));
        let mut keeper = Keeper { place: place.to_owned(), files, contents, watch, metrics };
        let task = tokio::spawn(async move {
            let mut refused = None;
            loop {
                keeper.watch.changed().await;
                keeper.watch.follow();
                keeper.reload(&mut load, &sender, &mut refused);
            }
        });
        Ok(Self { current, _task: Arc::new(Task(task.abort_handle())) })
    }

    /// The value now.
    pub fn current(&self) -> Arc<T> {
        Arc::clone(&self.current.borrow())
    }
}

struct Keeper {
    place: String,
    files: Vec<Source>,
    /// Of which the value is.
    contents: Contents,
    watch: Watch,
    metrics: Metrics,
}

impl Keeper {
    fn reload<T>(
        &mut self,
        load: &mut impl FnMut(&Contents) -> Result<T, Error>,
        sender: &watch::Sender<Arc<T>>,
        refused: &mut Option<Result<Contents, String>>,
    ) {
        let read = read(&self.files);
        let seen = read.as_ref().map(Contents::clone).map_err(ToString::to_string);
        if seen.as_ref() == Ok(&self.contents) {
            *refused = None;
            return;
        }
        // What was refused once is refused still.
        if refused.as_ref() == Some(&seen) {
            return;
        }
        match read.and_then(|contents| Ok((load(&contents)?, contents))) {
            Ok((value, contents)) => {
                sender.send_replace(Arc::new(value));
                (self.contents, *refused) = (contents, None);
                self.metrics.reloaded(true);
                tracing::info!(place = self.place, "files reloaded");
            }
            Err(error) => {
                *refused = Some(seen);
                self.metrics.reloaded(false);
                let reason = &error as &dyn std::error::Error;
                tracing::error!(
                    place = self.place, file = %error.path.display(), reason,
                    "changed files rejected; the previous ones stay in use"
                );
            }
        }
    }
}

/// The contents of `files`. They are small and local.
pub(crate) fn read(files: &[Source]) -> Result<Contents, Error> {
    let read = |(path, part): &Source| {
        std::fs::read(path).map_err(|error| Error::new(path, *part, Fault::Unreadable(error)))
    };
    files.iter().map(read).collect()
}
