//! From demand to the sources that meet it.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval};
use weir_database::{Database, DemandChange};
use weir_types::xdstp::{MalformedName, canonical};
use weir_types::{ResourceLocator, TypeUrl, authority};

use crate::links::Links;
use crate::refusal::refuse;
use crate::{Lane, Settings, Status, files};

/// How often the database is asked to give up what is idle.
const SWEEP: Duration = Duration::from_secs(1);

/// Of how many authorities it is said that they have no source: clients make up as many as they like.
const MAX_SAID: usize = 1000;

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
        settings: files::Settings,
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

/// Meets the demand of `database` from `sources`, one for each authority, until `shutdown`; then closes all
/// streams. What was committed stays.
///
/// # Errors
/// When a source cannot go on: files that cannot be read at the start.
pub async fn run(
    database: Database,
    sources: Vec<Source>,
    status: Status,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Error> {
    status.observe();
    let (mut tasks, mut router) = (JoinSet::new(), Router::new(database.clone()));
    for source in sources {
        let (demand, receiver) = mpsc::unbounded_channel();
        router.sources.insert(source.authority().to_owned(), demand);
        tasks.spawn(meet(database.clone(), source, status.clone(), receiver));
    }
    let changed = Arc::new(Notify::new());
    let wake = Arc::clone(&changed);
    database.on_demand(move || wake.notify_one());
    let mut sweep = interval(SWEEP);
    sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut shutdown = pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            () = changed.notified() => database.take_demand().into_iter().for_each(|change| router.route(change)),
            _ = sweep.tick() => database.sweep(Instant::now().into_std()),
            Some(ended) = tasks.join_next() => ended.map_err(Error::Failed)??,
        }
    }
    drop(router);
    while tasks.join_next().await.is_some() {}
    Ok(())
}

/// Serves one source until `demand` is closed.
async fn meet(
    database: Database,
    source: Source,
    status: Status,
    demand: mpsc::UnboundedReceiver<DemandChange>,
) -> Result<(), Error> {
    match source {
        Source::ControlPlane(settings) => Links::new(database, *settings, status).run(demand).await,
        Source::Files { authority, settings } => {
            let files = status.register(&authority, None, Lane::default());
            let path = settings.path.display().to_string();
            let loaded = || {
                files.connected(&path, 0);
                files.in_sync(true);
            };
            files::run(database, settings, demand, loaded).await?;
        }
    }
    Ok(())
}

/// Sends each change of demand to the source of its authority.
struct Router {
    database: Database,
    sources: HashMap<String, mpsc::UnboundedSender<DemandChange>>,
    /// Authorities of which a name was refused, and that was said.
    refused: HashSet<String>,
}

// === impl Router ===

impl Router {
    fn new(database: Database) -> Self {
        Self { database, sources: HashMap::new(), refused: HashSet::new() }
    }

    fn route(&mut self, change: DemandChange) {
        let (DemandChange::Wanted(_, locator)
        | DemandChange::Renewed(_, locator)
        | DemandChange::Dropped(_, locator)) = &change;
        let source = match canonical(&locator.name) {
            Ok(name) => self.sources.get(authority(&name)).ok_or(Refusal::UnknownAuthority),
            Err(error) => Err(Refusal::Malformed(error)),
        };
        match (source, change) {
            // A source that has ended is noticed where it is joined.
            (Ok(source), change) => _ = source.send(change),
            (Err(reason), DemandChange::Wanted(type_url, locator)) => {
                self.refuse(type_url, &locator, &reason)
            }
            (Err(_), DemandChange::Renewed(..) | DemandChange::Dropped(..)) => {}
        }
    }

    /// Nothing will ever come for what no source has, so nobody has to wait for it.
    fn refuse(&mut self, type_url: TypeUrl, locator: &ResourceLocator, reason: &Refusal) {
        let authority = authority(&locator.name);
        let new = self.refused.len() < MAX_SAID && self.refused.insert(authority.to_owned());
        if new {
            tracing::warn!(authority, name = %locator.name, %reason, "refuses a name");
        }
        let message = match authority {
            "" => "no upstream is configured for names without an authority".to_owned(),
            authority => format!("no upstream is configured for the authority {authority:?}"),
        };
        refuse(&self.database, type_url, locator, message);
    }
}

/// Why a name is met by no source.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("no upstream is configured for this authority")]
    UnknownAuthority,
    #[error(transparent)]
    Malformed(#[from] MalformedName),
}
