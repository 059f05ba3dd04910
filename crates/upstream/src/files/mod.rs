//! Files as an upstream: a directory of resources in YAML, JSON, binary or protobuf text, each with optional constraints, watched for
//! changes.
//!
//! Owns the format (see `docs/resource-files.md`), the last good content of each file, and the differences that
//! are committed when files change. Never writes a file, and never withdraws what it merely cannot read.

mod constraints;
mod de;
mod document;
pub mod explain;
mod heartbeats;
mod load;
mod message;
mod node;
mod resource;
mod source;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep_until};
use weir_database::{Database, DemandChange};
use weir_types::Batch;
use weir_watch::Watch;

pub use load::{Loaded, Unreadable, load};
pub use resource::{Origin, Problem, Resource, parse};

use heartbeats::Heartbeats;
use source::Source;

/// How many problems are logged at once: a file that is something else altogether has thousands.
const MOST: usize = 20;

/// Why files cannot be served at all.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is nothing to read at the start.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// Changes would go unnoticed.
    #[error("cannot watch {path}: {error}")]
    Watch {
        /// What was to be watched.
        path: PathBuf,
        /// Why it cannot be.
        #[source]
        error: weir_watch::Error,
    },
    /// The reading thread is gone: the runtime is shutting down.
    #[error("reading resource files was interrupted")]
    Interrupted,
}

/// Serves the files to `database`, and their changes, until `demand` is closed. Whenever they were read, and what is good
/// of them is served, `report` is called with what is wrong with them.
///
/// # Errors
/// When the files cannot be read at the start, or not be watched. Later on, what was last good is served.
pub async fn run(
    database: Database,
    settings: weir_config::Files,
    demand: UnboundedReceiver<DemandChange>,
    report: impl Fn(&[Problem]),
) -> Result<(), Error> {
    let commit = |batch| {
        database.commit(batch);
    };
    serve(commit, settings, demand, report).await
}

async fn serve(
    commit: impl Fn(Batch),
    settings: weir_config::Files,
    mut demand: UnboundedReceiver<DemandChange>,
    report: impl Fn(&[Problem]),
) -> Result<(), Error> {
    let weir_config::Files { path, poll_interval } = settings;
    std::fs::metadata(&path).map_err(|error| Unreadable { path: path.clone(), error })?;
    let mut watch = match poll_interval {
        Some(every) => Watch::polling([&path], every.get()),
        None => Watch::new([&path]).map_err(|error| Error::Watch { path: path.clone(), error })?,
    };
    let mut files = Files {
        path,
        begun: false,
        loaded: Arc::default(),
        problems: Vec::new(),
        violations: Vec::new(),
        source: Source::default(),
        heartbeats: Heartbeats::default(),
    };
    let commit = |mut batch: Batch| {
        batch.received = Some(Instant::now().into_std());
        commit(batch);
    };
    files.reload().await??.into_iter().for_each(&commit);
    report(&files.problems);
    loop {
        let beat = files.heartbeats.next().map(Instant::from_std);
        tokio::select! {
            change = demand.recv() => match change {
                None => return Ok(()),
                Some(DemandChange::Wanted(type_url, locator)) => {
                    files.source.want(type_url, locator).into_iter().for_each(&commit);
                }
                // Files are read when they change, and what they hold may always be served.
                Some(DemandChange::Renewed(..)) => {}
                Some(DemandChange::Dropped(type_url, locator)) => files.source.give_up(&type_url, &locator),
            },
            () = sleep_until(beat.unwrap_or_else(Instant::now)), if beat.is_some() => {
                let due = files.heartbeats.take_due(Instant::now().into_std());
                files.source.heartbeats(&due).into_iter().for_each(&commit);
            }
            () = watch.changed() => {
                watch.follow();
                match files.reload().await? {
                    Ok(batches) => batches.into_iter().for_each(&commit),
                    Err(unreadable) => files.report(vec![unreadable.into()]),
                }
                report(&files.problems);
            }
        }
    }
}

/// What was read so far.
struct Files {
    path: PathBuf,
    /// Whether anything was read yet.
    begun: bool,
    loaded: Arc<Loaded>,
    /// What was reported last.
    problems: Vec<Problem>,
    /// The rules that resources break, as they were logged last.
    violations: Vec<Problem>,
    source: Source,
    heartbeats: Heartbeats,
}

impl Files {
    /// Reads the files again and states what to commit.
    async fn reload(&mut self) -> Result<Result<Vec<Batch>, Unreadable>, Error> {
        let (path, previous) = (self.path.clone(), Arc::clone(&self.loaded));
        let reading = tokio::task::spawn_blocking(move || load(&path, &previous));
        let loaded = match reading.await.map_err(|_| Error::Interrupted)? {
            Ok(loaded) => loaded,
            Err(unreadable) => return Ok(Err(unreadable)),
        };
        let batches = self.source.update(&loaded);
        self.heartbeats.follow(&self.source.ttls(), Instant::now().into_std());
        let first = !std::mem::replace(&mut self.begun, true);
        let news = first || !batches.is_empty() || self.problems != loaded.problems();
        self.report(loaded.problems().to_vec());
        self.warn(loaded.violations());
        if news {
            tracing::info!(
                path = %self.path.display(),
                files = loaded.file_count(),
                resources = loaded.resources().count(),
                changed = batches.iter().map(|batch| batch.upserts.len()).sum::<usize>(),
                removed = batches.iter().map(|batch| batch.removals.len()).sum::<usize>(),
                problems = loaded.problems().len(),
                "resource files read"
            );
        }
        self.loaded = Arc::new(loaded);
        Ok(Ok(batches))
    }

    /// Logs the problems that are new, as far as anybody reads on.
    fn report(&mut self, problems: Vec<Problem>) {
        weir_metrics::FILES_RELOADS.counter().add(1, &[]);
        weir_metrics::FILES_PROBLEMS.gauge().record(problems.len() as u64, &[]);
        let (fresh, more) = news(&self.problems, &problems);
        for Problem { origin, reason } in fresh {
            tracing::error!(file = %origin.file.display(), line = origin.line, reason, "bad resource file");
        }
        if more > 0 {
            tracing::error!(problems = more, "more problems in resource files; `weir lint` lists all");
        }
        self.problems = problems;
    }

    /// Logs the violations that are new, up to [`MOST`].
    fn warn(&mut self, violations: Vec<Problem>) {
        let (fresh, more) = news(&self.violations, &violations);
        for Problem { origin, reason } in fresh {
            tracing::warn!(
                file = %origin.file.display(),
                line = origin.line,
                reason,
                "resource breaks a rule of Envoy's API"
            );
        }
        if more > 0 {
            tracing::warn!(
                violations = more,
                "more resources break rules of Envoy's API; `weir lint` lists all"
            );
        }
        self.violations = violations;
    }
}

/// The problems that were not known, as many as anybody reads; and how many more there are.
fn news<'a>(known: &[Problem], found: &'a [Problem]) -> (Vec<&'a Problem>, usize) {
    let known: BTreeSet<_> = known.iter().collect();
    let mut fresh: Vec<_> = found.iter().filter(|problem| !known.contains(problem)).collect();
    let more = fresh.len().saturating_sub(MOST);
    fresh.truncate(MOST);
    (fresh, more)
}

#[cfg(test)]
mod tests;
