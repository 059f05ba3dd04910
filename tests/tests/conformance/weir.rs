//! A whole Weir in this process: a control plane above, the database, and the downstream server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use weir_database::{Database, ParameterSets};
use weir_protocol::Dialect as UpstreamDialect;
use weir_testkit::client::DIALECTS;
use weir_testkit::{Dialect, FakeControlPlane, XdsClient};
use weir_upstream::{Backoff, LoadRelay, Naming, NodeTemplate, Settings, Source, Status};
use weir_wire::discovery::Node;

use crate::proxy::{IDLE, Origin, Proxy, Settings as ProxySettings, env_from_metadata};

/// A proxy in front of a control plane. Plain clients have `env` from their metadata.
pub struct Weir {
    pub proxy: Proxy,
    pub status: Status,
    sources: JoinHandle<()>,
}

/// What the control plane knows of dynamic parameters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Uses {
    /// Nothing: there is a stream for each value of `env`.
    Nodes,
    /// TP2.
    Locators,
}

impl Uses {
    /// One that knows so much.
    pub async fn control_plane(self) -> FakeControlPlane {
        match self {
            Self::Nodes => FakeControlPlane::start().await,
            Self::Locators => FakeControlPlane::start_tp2().await,
        }
    }
}

impl Weir {
    /// In front of `upstream`.
    pub async fn start(upstream: SocketAddr, dialect: Dialect, uses: Uses) -> Self {
        Self::start_with(upstream, dialect, uses, |_| ()).await
    }

    /// In front of `upstream`, with adjusted settings.
    pub async fn start_with(
        upstream: SocketAddr,
        dialect: Dialect,
        uses: Uses,
        adjust: impl FnOnce(&mut Settings),
    ) -> Self {
        Self::start_serving(upstream, dialect, uses, adjust, |_| ()).await
    }

    /// In front of `upstream`, with settings on both sides adjusted.
    pub async fn start_serving(
        upstream: SocketAddr,
        dialect: Dialect,
        uses: Uses,
        adjust: impl FnOnce(&mut Settings),
        serve: impl FnOnce(&mut ProxySettings),
    ) -> Self {
        let node = Node { id: "weir".to_owned(), ..Node::default() };
        let keys: Arc<[Arc<str>]> = Arc::from(["env".into()]);
        let mut settings = ProxySettings::default();
        settings.database.idle = IDLE;
        env_from_metadata(&mut settings);
        let naming = match uses {
            Uses::Locators => Naming::Native { node },
            Uses::Nodes => {
                let sets = ParameterSets { keys: Arc::clone(&keys), max: 256, node_id: None };
                settings.database.parameter_sets = [(String::new(), sets)].into();
                Naming::Streams { node: NodeTemplate::usual(&node, &keys), keys }
            }
        };
        let mut upstream = Settings {
            dialect: match dialect {
                Dialect::Sotw => UpstreamDialect::Sotw,
                Dialect::Delta => UpstreamDialect::Delta,
            },
            backoff: Backoff { base: Duration::from_millis(10), max: Duration::from_millis(100) },
            ..Settings::new("", vec![format!("http://{upstream}")], naming)
        };
        adjust(&mut upstream);
        serve(&mut settings);
        let database = Database::new(settings.database);
        let proxy = Proxy::serve(settings.server, database.clone(), Origin::idle(&database)).await;
        let source = Source::ControlPlane(Box::new(upstream));
        let status = Status::default();
        let shown = status.clone();
        let sources = tokio::spawn(async move {
            let (_unchanged, changes) = tokio::sync::mpsc::unbounded_channel();
            let (relay, shutdown) = (LoadRelay::default(), std::future::pending());
            let running = weir_upstream::run(database, vec![source], changes, shown, relay, shutdown);
            running.await.expect("the upstream is served");
        });
        Self { proxy, status, sources }
    }

    /// A client with this `env` in its metadata.
    pub async fn client(&self, dialect: Dialect, env: &str) -> XdsClient {
        self.proxy.client_of(dialect, &weir_testkit::node("n").metadata("env", env)).await
    }

    /// Less time passes than what nobody subscribes to is kept for.
    pub fn let_some_time_pass(&self) {
        self.proxy.database.sweep(Instant::now());
    }

    /// Gives up what nobody has subscribed to, as if the idle time had passed. To be called until it shows.
    pub fn let_idle_time_pass(&self) {
        let now = Instant::now();
        self.proxy.database.sweep(now);
        self.proxy.database.sweep(now + IDLE);
    }
}

impl Drop for Weir {
    fn drop(&mut self) {
        self.sources.abort();
    }
}

/// Runs `test` with a fake control plane, a Weir in front of it, and a client with `env=prod`: for each dialect
/// on either side.
pub async fn in_each_dialect(uses: Uses, test: impl AsyncFn(FakeControlPlane, Weir, Ends)) {
    in_each_dialect_with(uses, |_| (), test).await;
}

/// As [`in_each_dialect`], with adjusted settings.
pub async fn in_each_dialect_with(
    uses: Uses,
    adjust: impl Fn(&mut Settings),
    test: impl AsyncFn(FakeControlPlane, Weir, Ends),
) {
    for upstream in DIALECTS {
        for downstream in DIALECTS {
            // Shown when the test fails.
            println!("{upstream:?} above, {downstream:?} below:");
            let control_plane = uses.control_plane().await;
            let weir = Weir::start_with(control_plane.address(), upstream, uses, &adjust).await;
            test(control_plane, weir, Ends { upstream, downstream }).await;
        }
    }
}

/// The dialects on either side.
#[derive(Clone, Copy)]
pub struct Ends {
    pub upstream: Dialect,
    pub downstream: Dialect,
}
