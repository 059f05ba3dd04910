//! The sources that meet demand, each for its authority; they may change while they are served.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use weir_database::{Database, DemandChange};

use crate::pace::Pace;
use crate::router::Router;
use crate::streams::Streams;
use crate::{Lane, LoadRelay, Settings, Status, files};

/// How often the database is asked to give up what is idle.
const SWEEP: Duration = Duration::from_secs(1);

/// Where the resources of an authority come from.
#[derive(Debug)]
pub enum Source {
    /// From a control plane.
    ControlPlane(Box<Settings>),
    /// From files.
    Files {
        /// The authority whose names they hold; empty for names without one.
        authority: String,
        /// Which files.
        settings: weir_config::Files,
    },
}

impl Source {
    fn authority(&self) -> &str {
        match self {
            Self::ControlPlane(settings) => &settings.authority,
            Self::Files { authority, .. } => authority,
        }
    }
}

/// Why the sources cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Files cannot be served.
    #[error(transparent)]
    Files(#[from] files::Error),
    /// A source ended by a fault of its own.
    #[error("a source of resources has failed")]
    Failed(#[source] tokio::task::JoinError),
}

/// A change of where resources come from.
#[derive(Debug)]
pub enum Change {
    /// A source for an authority that has none; or new settings of its control plane. Cached resources stay valid, so
    /// dialect, services and naming must not change.
    Put(Source),
    /// The authority has no source any more. What it has brought is withdrawn, and what it is asked for does not exist.
    Remove(String),
}

/// Meets the demand of `database` from `sources`, one for each authority, and as they change, until `shutdown`; then
/// closes all streams. What was committed stays. `relay` follows the control plane that load reports go to.
///
/// # Errors
/// When a source cannot go on: files that cannot be read at the start.
pub async fn run(
    database: Database,
    sources: Vec<Source>,
    mut changes: mpsc::UnboundedReceiver<Change>,
    status: Status,
    relay: LoadRelay,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Error> {
    status.observe();
    let router = Router::new(database.clone());
    let mut supervisor =
        Supervisor { database: database.clone(), status, relay, router, tasks: JoinSet::new() };
    sources.into_iter().for_each(|source| supervisor.start(source, Err));
    let changed = Arc::new(Notify::new());
    let wake = Arc::clone(&changed);
    database.on_demand(move || wake.notify_one());
    let (mut pace, mut due) = (Pace::default(), None);
    let mut sweep = interval(SWEEP);
    sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut shutdown = pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            Some(change) = changes.recv() => supervisor.change(change).await,
            () = changed.notified() => due = Some(pace.next()),
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                let portion = Pace::portion(supervisor.router.repeats_what_is_wanted());
                let (changes, more) = database.take_some_demand(portion);
                pace.spend(changes.len());
                due = more.then(|| pace.next());
                supervisor.router.route_all(changes);
            }
            _ = sweep.tick() => {
                let (database, now) = (database.clone(), Instant::now().into_std());
                // It takes long where there is much to give up.
                spawn_blocking(move || database.sweep(now)).await.map_err(Error::Failed)?;
            }
            Some(ended) = supervisor.tasks.join_next() => ended.map_err(Error::Failed)??,
        }
    }
    let Supervisor { router, mut tasks, .. } = supervisor;
    drop(router);
    while tasks.join_next().await.is_some() {}
    Ok(())
}

/// A source that runs; it ends when this is dropped.
pub(crate) struct Running {
    pub(crate) demand: mpsc::UnboundedSender<DemandChange>,
    /// Of its control plane; nobody follows those of files.
    pub(crate) settings: Option<watch::Sender<Arc<Settings>>>,
    /// Dropped by the other side when the source has ended.
    ended: oneshot::Receiver<()>,
}

struct Supervisor {
    database: Database,
    status: Status,
    relay: LoadRelay,
    router: Router,
    tasks: JoinSet<Result<(), Error>>,
}

// === impl Supervisor ===

impl Supervisor {
    /// Starts a source; `survive` decides what its failure is for all.
    fn start(&mut self, source: Source, survive: fn(Error) -> Result<(), Error>) {
        let (demand, wanted) = mpsc::unbounded_channel();
        let (over, ended) = oneshot::channel::<()>();
        let (database, status) = (self.database.clone(), self.status.clone());
        let authority = source.authority().to_owned();
        let settings = match source {
            Source::ControlPlane(settings) => {
                status.expect(&authority, settings.prefetch.len(), settings.does_not_exist);
                let settings = Arc::from(settings);
                self.relay.follow(&settings);
                let (settings, followed) = watch::channel(settings);
                let streams = Streams::new(database, Arc::clone(&settings.borrow()), status);
                self.tasks.spawn(async move {
                    streams.run(wanted, followed).await;
                    drop(over);
                    Ok(())
                });
                Some(settings)
            }
            Source::Files { authority, settings } => {
                self.tasks.spawn(async move {
                    let served = serve_files(database, &authority, settings, status, wanted).await;
                    drop(over);
                    served.or_else(survive)
                });
                None
            }
        };
        self.router.put(authority, Running { demand, settings, ended });
    }

    async fn change(&mut self, change: Change) {
        match change {
            Change::Put(source) => self.put(source),
            Change::Remove(authority) => {
                let Some(Running { demand, ended, .. }) = self.router.remove(&authority) else { return };
                drop(demand);
                // Nothing may come from it once its resources are gone.
                _ = ended.await;
                tracing::info!(
                    authority,
                    "upstream removed from the configuration; its resources were dropped"
                );
                self.relay.forget(&authority);
                self.status.forget(&authority);
                self.database.withdraw(&authority);
                self.database.ask_anew(&authority);
            }
        }
    }

    fn put(&mut self, source: Source) {
        let running = self.router.source(source.authority());
        match (running.map(|running| &running.settings), source) {
            (Some(Some(settings)), Source::ControlPlane(new)) => {
                let new = Arc::from(new);
                self.relay.follow(&new);
                settings.send_replace(new);
            }
            (Some(_), source) => {
                tracing::error!(
                    authority = source.authority(),
                    "upstream kind cannot change without a restart"
                );
            }
            (None, source) => {
                let authority = source.authority().to_owned();
                tracing::info!(authority, "upstream added");
                self.start(source, |error| {
                    tracing::error!(%error, "files of the new upstream cannot be served");
                    Ok(())
                });
                self.database.ask_anew(&authority);
            }
        }
    }
}

/// Serves files until `demand` is closed.
async fn serve_files(
    database: Database,
    authority: &str,
    settings: weir_config::Files,
    status: Status,
    demand: mpsc::UnboundedReceiver<DemandChange>,
) -> Result<(), Error> {
    status.expect(authority, 0, Duration::ZERO);
    let files = status.register(authority, None, Lane::default());
    let path = settings.path.display().to_string();
    let report = |problems: &[files::Problem]| files.read(&path, problems);
    Ok(files::run(database, settings, demand, report).await?)
}
