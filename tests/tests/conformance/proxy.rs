//! A Weir in this process: the database and the downstream server, and an [`Origin`] in place of upstreams.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use prost::Message as _;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use weir_config::NodeRule;
use weir_database::{Database, DemandChange};
use weir_downstream::{NodeRules, Server};
use weir_testkit::client::DIALECTS;
use weir_testkit::node::NodeBuilder;
use weir_testkit::resource::PROBE;
use weir_testkit::{Dialect, Published, XdsClient, node};
use weir_types::{Absence, Answered, Batch, NodeField, Provenance, ResourceLocator, TypeUrl, Variant};

use crate::observed;

/// How long a locator stays wanted after its last subscriber.
pub const IDLE: Duration = Duration::from_secs(60);

/// A served database. Dropping it cuts every stream.
pub struct Proxy {
    pub origin: Origin,
    pub database: Database,
    address: SocketAddr,
    serving: JoinHandle<()>,
}

/// What a test may want to be different.
pub struct Settings {
    pub server: weir_downstream::Settings,
    pub database: weir_database::Settings,
}

impl Default for Settings {
    /// Those of a file that has nothing but what it needs.
    fn default() -> Self {
        let file = "downstream.listen = ['127.0.0.1:0']\n[[upstream]]\nfiles = '/'";
        let config = weir_config::parse(file, Path::new("weir.toml")).expect("a configuration");
        Self { server: (&config).into(), database: weir_database::Settings::default() }
    }
}

impl Proxy {
    /// A proxy with the default settings, over an empty origin.
    pub async fn start() -> Self {
        Self::start_with(|_| ()).await
    }

    /// A proxy whose settings are `adjust`ed.
    pub async fn start_with(adjust: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings::default();
        settings.database.idle = IDLE;
        adjust(&mut settings);
        let database = Database::new(settings.database);
        let origin = Origin::answering(&database);
        Self::serve(settings.server, database, origin).await
    }

    /// Serves `database`, whoever fills it.
    pub async fn serve(settings: weir_downstream::Settings, database: Database, origin: Origin) -> Self {
        observed::start();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let server = Server::new(settings, database.clone());
        let serving = tokio::spawn(async move {
            server.serve(vec![listener], std::future::pending()).await.expect("the proxy serves");
        });
        Self { origin, database, address, serving }
    }

    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A client with a node of no importance.
    pub async fn client(&self, dialect: Dialect) -> XdsClient {
        self.client_of(dialect, &node("n")).await
    }

    /// A client with this node.
    pub async fn client_of(&self, dialect: Dialect, node: &NodeBuilder) -> XdsClient {
        XdsClient::connect(dialect, self.address, node).await
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Runs `test` in each dialect, with a proxy of its own and a client that is connected to it.
pub async fn in_each_dialect(test: impl AsyncFn(Proxy, XdsClient)) {
    in_each_dialect_with(|_| (), test).await;
}

/// As [`in_each_dialect`], with settings that are `adjust`ed.
pub async fn in_each_dialect_with(adjust: impl Fn(&mut Settings), test: impl AsyncFn(Proxy, XdsClient)) {
    for dialect in DIALECTS {
        // Shown when the test fails.
        println!("in {dialect:?}:");
        let proxy = Proxy::start_with(&adjust).await;
        let client = proxy.client(dialect).await;
        test(proxy, client).await;
    }
}

/// The rule that makes `key` of the text at `key` in a node's metadata.
pub fn rule_from_metadata(key: &str) -> NodeRule {
    NodeRule {
        key: key.to_owned(),
        from: NodeField::Metadata(vec![key.to_owned()]),
        pattern: None,
        default: None,
        fill_locators: false,
        enforce: false,
    }
}

/// Has `env` taken from the metadata of nodes.
pub fn env_from_metadata(settings: &mut Settings) {
    settings.server.rules = NodeRules::new(vec![rule_from_metadata("env")]);
}

/// A source of resources that holds what the test puts there, answers what is wanted at once, and has every
/// probe that a client asks for.
#[derive(Clone)]
pub struct Origin(Arc<Inner>);

struct Inner {
    database: Database,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    published: Vec<Published>,
    silent: bool,
}

impl Origin {
    /// The origin of what is wanted of `database`.
    pub fn answering(database: &Database) -> Self {
        let origin = Self(Arc::new(Inner { database: database.clone(), state: Mutex::default() }));
        let answering = origin.clone();
        database.on_demand(move || answering.answer());
        origin
    }

    /// An origin that leaves what is wanted of `database` to others.
    pub fn idle(database: &Database) -> Self {
        Self(Arc::new(Inner { database: database.clone(), state: Mutex::default() }))
    }

    /// Publishes, in place of the same variant if there is one.
    pub fn set(&self, resource: Published) {
        self.set_all([resource]);
    }

    /// Publishes several, those of one type in one batch.
    pub fn set_all(&self, resources: impl IntoIterator<Item = Published>) {
        self.replace(|_| false, resources);
    }

    /// Withdraws all variants of a name.
    pub fn remove(&self, type_url: &str, name: &str) {
        self.replace(|old| (&*old.type_url, &*old.name) == (type_url, name), []);
    }

    /// Withdraws what is `gone` and publishes `new`, those of one type in one batch.
    pub fn replace(&self, gone: impl Fn(&Published) -> bool, new: impl IntoIterator<Item = Published>) {
        let mut state = self.0.state.lock();
        let mut batches: Vec<Batch> = Vec::new();
        let mut batch_of = |type_url: &str, change: &mut dyn FnMut(&mut Batch)| {
            let type_url = TypeUrl::new(type_url);
            let at = batches.iter().position(|batch| batch.type_url == type_url).unwrap_or_else(|| {
                batches.push(Batch::new(type_url, Provenance::Local));
                batches.len() - 1
            });
            change(&mut batches[at]);
        };
        let new: Vec<_> = new.into_iter().collect();
        state.published.retain(|old| {
            let replaced = new.iter().any(|new| new.replaces(old));
            if !replaced && gone(old) {
                batch_of(&old.type_url, &mut |batch| batch.removals.push(variant(old).key().clone()));
            }
            !replaced && !gone(old)
        });
        for resource in new {
            // Without a body it states, as for every source, that there is none.
            let exists = resource.body.is_some();
            batch_of(&resource.type_url, &mut |batch| match exists {
                true => batch.upserts.push(variant(&resource)),
                false => batch.removals.push(variant(&resource).key().clone()),
            });
            state.published.extend(exists.then_some(resource));
        }
        for batch in batches {
            self.0.database.commit(batch);
        }
    }

    /// Sends again all that it holds.
    pub fn repeat(&self) {
        let held = self.0.state.lock().published.clone();
        self.set_all(held);
    }

    /// Answers nothing from now on but probes; what is published still reaches the database.
    pub fn fall_silent(&self) {
        self.0.state.lock().silent = true;
    }

    /// States that a locator without parameters is absent, and how it knows.
    pub fn declare_absent(&self, type_url: &str, name: &str, absence: Absence) {
        let mut batch = Batch::new(TypeUrl::new(type_url), Provenance::Local);
        batch.mark_absent(&ResourceLocator::new(name, Default::default()), absence);
        self.0.database.commit(batch);
    }

    /// States that it has nothing for wildcards but what it has sent.
    pub fn answer_wildcards(&self, type_url: &str) {
        let mut batch = Batch::new(TypeUrl::new(type_url), Provenance::Local);
        batch.answered.push(Answered::all());
        self.0.database.commit(batch);
    }

    fn answer(&self) {
        let state = self.0.state.lock();
        for change in self.0.database.take_demand() {
            let DemandChange::Wanted(type_url, locator) = change else { continue };
            if type_url.as_str() == PROBE {
                let mut batch = Batch::new(type_url, Provenance::Local);
                batch.upserts.push(variant(&Published::text(PROBE, &locator.name, "")));
                self.0.database.commit(batch);
            } else if !state.silent {
                state.answer(&self.0.database, type_url, &locator);
            }
        }
    }
}

impl State {
    fn answer(&self, database: &Database, type_url: TypeUrl, locator: &ResourceLocator) {
        let parameters = locator.parameters.to_pairs();
        let exists = self.published.iter().any(|resource| {
            let named = *resource.name == *locator.name
                || resource.aliases.iter().any(|alias| **alias == *locator.name);
            resource.type_url == type_url.as_str() && named && resource.matches(&parameters)
        });
        let mut batch = Batch::new(type_url, Provenance::Local);
        if locator.is_collection() {
            batch.mark_answered(locator);
        } else if !exists {
            batch.mark_absent(locator, Absence::Known);
        }
        database.commit(batch);
    }
}

/// A resource as it comes over the wire.
pub fn variant(resource: &Published) -> Variant {
    let encoded = resource.wrapped(false).encode_to_vec();
    weir_wire::resource::decode(&encoded, &TypeUrl::new(&*resource.type_url), "")
        .expect("an acceptable resource")
}

/// What one response of an upstream brings for those who asked in this way: by name, or by wildcard.
pub fn brought_by(provenance: Provenance, resources: &[Published]) -> Batch {
    let type_url = resources.first().expect("a resource").type_url.as_str();
    let mut batch = Batch::new(TypeUrl::new(type_url), provenance);
    batch.upserts.extend(resources.iter().map(variant));
    batch
}
