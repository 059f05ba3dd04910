//! `weir serve`: everything put together, until it is stopped.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use weir_config::{Config, Export};
use weir_database::Database;
use weir_downstream::Listener;
use weir_downstream::export;
use weir_store::Store;
use weir_telemetry::{LogLevel, Metrics};
use weir_upstream::LoadRelay;

use crate::convert;
use crate::instance::Instance;
use crate::lifetime::{self, Drain, Signals};
use crate::listeners::{Addresses, Listeners};
use crate::load_reports::LoadReports;
use crate::loaded::Loaded;
use crate::ready::Readiness;
use crate::reload::{Operators, Parts, Reload, Upstreams};
use crate::service_manager::ServiceManager;

/// After how many polls of tasks a busy thread looks for events. The library's 61 polls may take longer than others should
/// wait.
const EVENTS: u32 = 7;

/// How long connections may take to end beyond what they are given.
const PATIENCE: Duration = Duration::from_secs(5);

/// Serve clients
///
/// Runs until SIGTERM, then drains clients and exits with 0. A second SIGTERM, or SIGINT, ends every stream
/// at once.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  weir serve --config config/quickstart.toml
  WEIR_LOG=debug weir serve --config config/control-plane.toml")]
pub(crate) struct Args {
    /// The configuration file
    #[arg(long, short, value_name = "FILE", env = "WEIR_CONFIG")]
    config: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let reload = Reload::of(&args.config)?;
    let log_level = weir_telemetry::install_logs(&reload.config().log)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().event_interval(EVENTS).build();
    let runtime = runtime.context("start the runtime")?;
    let served = runtime.block_on(serve(reload, &args.config, log_level));
    // What still runs has had its time.
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS)
}

/// Telemetry.
struct Telemetry {
    metrics: Metrics,
    log_level: LogLevel,
    manager: ServiceManager,
}

async fn serve(reload: Reload, path: &Path, log_level: LogLevel) -> Result<()> {
    let (mut signals, hangups) = (Signals::listen()?, lifetime::hangups()?);
    let config = &reload.config().clone();
    let collector = weir_telemetry::Telemetry::install(&config.telemetry)?;
    let manager = ServiceManager::from_environment();
    let telemetry = Telemetry { metrics: collector.metrics().clone(), log_level, manager: manager.clone() };
    let store = convert::store(config)?;
    let listeners = Listeners::bind(config)?;
    let addresses = listeners.addresses()?;
    let stop = CancellationToken::new();
    let loaded = Loaded::new(path.to_owned(), config.clone());
    let (mut tasks, parts, drain) = start(config, store.as_ref(), listeners, telemetry, loaded, &stop)?;
    announce(config, path, &addresses);
    let stopped = stop.clone();
    tasks.spawn(
        async move { stopped.run_until_cancelled(reload.run(hangups, parts)).await.unwrap_or(Ok(())) },
    );
    manager.ready();
    let alive = tokio::spawn(manager.keep_alive());
    let ended = drain.until_stopped(&mut signals, &mut tasks).await;
    stop.cancel();
    let finished = tokio::time::timeout(PATIENCE, async { while tasks.join_next().await.is_some() {} });
    if finished.await.is_err() {
        tracing::warn!(seconds = PATIENCE.as_secs(), "connections did not close in time");
    }
    if store.is_some_and(|store| !store.flush()) {
        tracing::warn!("last changes were not persisted");
    }
    tokio::task::spawn_blocking(move || collector.shut_down()).await?;
    alive.abort();
    ended
}

/// Starts every part. A part that ends before `stop` is an error, but for the downstream side, which ends when it is
/// drained.
///
/// # Errors
/// When a certificate or a token cannot be used.
fn start(
    config: &Config,
    store: Option<&Store>,
    listeners: Listeners,
    telemetry: Telemetry,
    loaded: Loaded,
    stop: &CancellationToken,
) -> Result<(JoinSet<Result<()>>, Parts, Drain)> {
    let database = Database::new(convert::database(config));
    let status = weir_upstream::Status::default();
    let mut tasks = JoinSet::new();

    let sources = config.upstreams.iter().enumerate();
    let sources =
        sources.map(|(i, upstream)| convert::source(config, i, upstream, store)).collect::<Result<_>>()?;
    let (changes, changed) = mpsc::unbounded_channel();
    let shutdown = stop.clone().cancelled_owned();
    let relay = LoadRelay::new(status.clone());
    let upstream =
        weir_upstream::run(database.clone(), sources, changed, status.clone(), relay.clone(), shutdown);
    tasks.spawn(async move { Ok(upstream.await?) });

    let (exports, followed) = watch::channel(config.exports.clone());
    tasks.spawn(export(database.clone(), followed, stop.clone()));

    let draining = CancellationToken::new();
    let readiness = Arc::new(Readiness::new(config, status.clone(), database.clone(), draining.clone()));
    let healthy = Arc::clone(&readiness);
    let ready = move || healthy.pending().is_empty();
    let server = weir_downstream::Server::with_readiness(config.into(), database.clone(), ready);
    let server = server.with_load_reports(LoadReports(relay));
    let (control, clients) = (server.control(), server.registry());
    let manager = telemetry.manager.clone();
    let drain = Drain { draining, clients: control.clone(), patience: PATIENCE, manager };
    let tls = convert::tls::downstream(&config.downstream)?;
    let secured = listeners.clients.into_iter().map(|tcp| Listener { tcp, tls: tls.clone() });
    let plaintext = listeners.plaintext.into_iter().map(Listener::from);
    let listeners_of_clients: Vec<_> = secured.chain(plaintext).collect();
    let downstream = server.serve(listeners_of_clients, stop.clone().cancelled_owned());
    tasks.spawn(async move { Ok(downstream.await?) });

    let upstreams = Upstreams {
        changes,
        database: database.clone(),
        store: store.cloned(),
        readiness: Arc::clone(&readiness),
    };
    let admin = config.admin.as_ref().map(convert::tls::admin).transpose()?;
    let Telemetry { metrics, log_level, manager } = telemetry;
    let parts = Parts {
        level: log_level.clone(),
        clients: control.clone(),
        exports,
        upstreams,
        loaded: loaded.clone(),
        tls,
        operators: admin.map(|(tls, auth)| Operators { tls, auth: watch::Sender::new(auth) }),
        manager,
    };
    if let (Some(listener), Some(Operators { tls, auth })) = (listeners.admin, &parts.operators) {
        let instance = Instance {
            readiness,
            metrics,
            upstream: status,
            clients,
            database,
            log_level,
            drain: drain.clone(),
            loaded,
            store: store.cloned(),
        };
        let (tls, auth, shutdown) = (tls.clone(), auth.subscribe(), stop.clone().cancelled_owned());
        let admin = weir_admin::serve(listener, tls, auth, Arc::new(instance), shutdown);
        tasks.spawn(async {
            admin.await;
            Ok(())
        });
    }
    Ok((tasks, parts, drain))
}

/// Writes the files that are asked for now, and others when others are asked for.
async fn export(
    database: Database,
    mut exports: watch::Receiver<Vec<Export>>,
    stop: CancellationToken,
) -> Result<()> {
    let mut running = false;
    loop {
        let asked = exports.borrow_and_update().clone();
        let changed = async { _ = exports.changed().await };
        let ended = stop.run_until_cancelled(export::run(database.clone(), asked, changed)).await;
        match ended {
            None => return Ok(()),
            // What was good at the start does not end because of what came later.
            Some(Err(refusal)) if running => {
                tracing::error!(%refusal, "export rejected");
                stop.run_until_cancelled(exports.changed()).await;
            }
            Some(ended) => ended?,
        }
        running = true;
    }
}

/// The startup line. It has the ports that were taken, where any was asked for.
fn announce(config: &Config, path: &Path, addresses: &Addresses) {
    let upstreams: Vec<_> = config.upstreams.iter().map(sources).collect();
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        config = %path.display(),
        node = config.node.id,
        clients = addresses.clients,
        admin = addresses.admin,
        upstream = upstreams.join(","),
        "weir serves"
    );
    warn_of_claims(config);
    // Meant in an upgrade; else half of those who connect find another Weir than they look for.
    if !addresses.shared.is_empty() {
        let shared = &addresses.shared;
        tracing::warn!(
            addresses = shared,
            "address shared with another process: it gets a part of the connections"
        );
    }
}

/// Warns of control planes that are sent nodes which no certificate vouches for.
fn warn_of_claims(config: &Config) {
    for upstream in config.upstreams.iter().filter(|upstream| upstream.forwards_claims()) {
        tracing::warn!(
            authority = upstream.authority,
            "forwarded nodes are not verified: any client can pose as another; no secrets are served \
             (upstream.node.verify)"
        );
    }
}

/// Where the resources of an upstream come from.
fn sources(upstream: &weir_config::Upstream) -> String {
    match &upstream.source {
        weir_config::Source::Files(files) => files.path.display().to_string(),
        weir_config::Source::ControlPlane(control_plane) => {
            let endpoints = control_plane.general.endpoints.iter().map(|uri| uri.to_string());
            endpoints.collect::<Vec<_>>().join(",")
        }
    }
}
