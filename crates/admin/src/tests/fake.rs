//! An instance that is made up.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::{Duration, SystemTime};

use weir_database::{Database, Settings, ViewHandle, ViewListener};
use weir_types::constraints::Expr;
use weir_types::{
    Batch, Constraints, Content, DynamicParameters, Fingerprint, Name, Provenance, RefusalReason, Selector,
    Subscription, SubscriptionChange, TypeUrl, Variant, VariantKey,
};

use crate::{
    Accepted, Changed, Client, Condition, Configuration, Delivery, Draining, Identity, Instance, Lacking,
    LastError, Locality, LogLevel, Nack, Nacked, Node, Origin, Parameter, Propagated, Refused, Reload, Sent,
    Sketch, Standing, Store, TypeState, Unconfirmed, Upstream, UpstreamState, WithheldRemovals, seconds,
    seconds_since,
};

/// With two upstreams, of which one is away, and any number of clients, of which every third rejects. What takes long
/// must not be asked for on the thread that the server runs on.
pub(crate) struct Fake {
    pub(crate) ready: AtomicBool,
    pub(crate) clients: u64,
    pub(crate) database: Database,
    level: Mutex<Option<String>>,
    draining: AtomicBool,
    /// How often all clients were looked at.
    pub(crate) looks: AtomicU64,
    /// Whether the removals that are withheld are believed.
    confirmed: AtomicBool,
    /// Where the server runs.
    home: ThreadId,
}

fn unconfirmed(resources: usize) -> Unconfirmed {
    Unconfirmed { short_name: "cds".into(), type_url: CDS.to_owned(), resources }
}

impl Fake {
    pub(crate) fn new(clients: u64) -> Arc<Self> {
        let database = Database::new(Settings::default());
        Arc::new(Self {
            ready: true.into(),
            clients,
            database,
            level: Mutex::default(),
            draining: false.into(),
            looks: 0.into(),
            confirmed: false.into(),
            home: thread::current().id(),
        })
    }

    fn withheld(&self) -> Vec<WithheldRemovals> {
        let withheld = WithheldRemovals {
            short_name: "cds".into(),
            type_url: CDS.to_owned(),
            loss: "removals".into(),
            removals: 40,
            of: 100,
            names: vec!["a".to_owned(), "b".to_owned()],
            since: at(),
        };
        if self.confirmed.load(Ordering::Relaxed) { Vec::new() } else { vec![withheld] }
    }

    /// Holds these variants of clusters: name, constraints, and the seconds of a timeout.
    pub(crate) fn hold(&self, variants: &[(&str, Expr, u32)]) {
        let mut batch = Batch::new(TypeUrl::new(CDS), Provenance::Local);
        for (name, constraints, seconds) in variants {
            let body =
                serde_json::json!({ "@type": CDS, "name": name, "connect_timeout": format!("{seconds}s") });
            let body = Some(weir_wire::json::any_from(&body).unwrap());
            let key = VariantKey::new(*name, Constraints::new(constraints.clone()));
            batch.upserts.push(Variant::new(key, Content { body, ..Content::default() }));
        }
        self.database.commit(batch);
    }

    /// Holds a variant no longer.
    pub(crate) fn withdraw(&self, name: &str, constraints: &Expr) {
        let mut batch = Batch::new(TypeUrl::new(CDS), Provenance::Local);
        batch.removals.push(VariantKey::new(name, Constraints::new(constraints.clone())));
        self.database.commit(batch);
    }

    /// What each client is subscribed to of listeners: one that nobody rejects, and two that it does not get.
    fn barred<T>(use_it: impl FnOnce(SubscriptionChange<'_>) -> T) -> T {
        let parameters: DynamicParameters = [("env", "prod")].into_iter().collect();
        let all = ["open", "denied", "too-much"].map(|name| Selector::plain(name, parameters.clone()));
        let [_, denied, too_much] = all.clone();
        let over_limit = RefusalReason::OverLimit("that is too much".into());
        let refused = [(denied, RefusalReason::Denied), (too_much, over_limit)].into();
        use_it(SubscriptionChange { refused: &refused, ..SubscriptionChange::adding(&all) })
    }

    /// A stream that is subscribed to that.
    pub(crate) fn ask_for_barred(&self) -> ViewHandle {
        Self::barred(|change| self.database.attach(&TypeUrl::new(LDS), change, Arc::new(Nobody)).unwrap())
    }

    /// A stream that asks for a name.
    pub(crate) fn ask(&self, name: &str, parameters: &[(&str, &str)]) -> ViewHandle {
        let selector = Selector::plain(name, parameters.iter().copied().collect());
        self.database
            .attach(&TypeUrl::new(CDS), SubscriptionChange::adding(&[selector]), Arc::new(Nobody))
            .unwrap()
    }

    fn expect_to_be_apart(&self) {
        assert_ne!(thread::current().id(), self.home, "this holds up whoever is served");
    }

    /// The stream 6 is of the node of the stream 3.
    fn made_up(&self, id: u64) -> Option<Client> {
        let state = if id.is_multiple_of(3) { Condition::Rejecting } else { Condition::InSync };
        let rejects = state == Condition::Rejecting;
        let node = Node {
            id: format!("node-{}", if id == 6 { 3 } else { id }),
            cluster: if id.is_multiple_of(2) { "even" } else { "odd" }.to_owned(),
            user_agent: "envoy".to_owned(),
            user_agent_version: "1.38.0".to_owned(),
            locality: Locality { zone: "a".to_owned(), ..Locality::default() },
            metadata: serde_json::json!({ "env": "prod" }),
        };
        let from = "node.metadata.env".to_owned();
        let origin = Origin::Rule { rule: 0, from, value: Some("prod".to_owned()), defaulted: false };
        let nack = || Nacked {
            at: at(),
            nonce: Some("8-0".to_owned()),
            version: "00".to_owned(),
            code: 3,
            message: "no".to_owned(),
        };
        let clusters = TypeState {
            short_name: "cds".into(),
            type_url: CDS.to_owned(),
            state,
            view: 7,
            subscribed: 1,
            lacking: Lacking { unanswered: 1, away: 1, denied: 2, over_limit: 3 },
            sent: Some(Sent { version: "00".to_owned(), nonce: "8-0".to_owned(), at: at(), answered: true }),
            accepted: (!rejects).then(|| Accepted { version: "00".to_owned() }),
            last_nack: rejects.then(nack),
            lag_seconds: 0.0,
            locators: Vec::new(),
        };
        (id <= self.clients).then(|| Client {
            id,
            node,
            peer: SocketAddr::from(([10, 0, 0, 1], 4711)),
            identity: (id == 2).then(|| Identity {
                spiffe: Some("spiffe://prod.example/ns/shop/sa/web".to_owned()),
                uris: vec!["spiffe://prod.example/ns/shop/sa/web".to_owned()],
                dns: vec!["web.example".to_owned()],
            }),
            access: (id == 2).then(|| vec![0, 3]),
            service: "ads".into(),
            transport: "v3".into(),
            dialect: if id == 1 { "sotw" } else { "delta" }.into(),
            streams_of_node: 1,
            since: at(),
            state,
            parameters: vec![Parameter {
                key: "env".to_owned(),
                value: "prod".to_owned(),
                origin,
                fills_locators: false,
            }],
            types: vec![clusters],
        })
    }
}

struct Nobody;

impl ViewListener for Nobody {
    fn wake(&self) {}
}

pub(crate) const AT: Duration = Duration::from_secs(1_700_000_000);

const CDS: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
const LDS: &str = "type.googleapis.com/envoy.config.listener.v3.Listener";

fn at() -> SystemTime {
    SystemTime::UNIX_EPOCH + AT
}

impl Instance for Fake {
    fn pending(&self) -> Vec<String> {
        let ready = self.ready.load(Ordering::Relaxed);
        if ready { Vec::new() } else { vec!["upstream \"\": not connected".to_owned()] }
    }

    fn metrics(&self) -> Result<String, String> {
        self.expect_to_be_apart();
        let ready = self.ready.load(Ordering::Relaxed);
        if ready { Ok("weir_x 1\n".to_owned()) } else { Err("broken".to_owned()) }
    }

    fn upstreams(&self) -> Vec<Upstream> {
        let upstream = |id, authority: &str, endpoint: Option<&str>| Upstream {
            id,
            authority: authority.to_owned(),
            state: UpstreamState::of(endpoint.is_some(), true),
            parameters: endpoint.map(|_| [("env".to_owned(), "prod".to_owned())].into()),
            carries: "names".to_owned(),
            endpoint: endpoint.map(str::to_owned),
            since: at(),
            age_seconds: seconds_since(at()),
            last_error: endpoint
                .is_none()
                .then(|| LastError { at: at(), message: "connection refused".to_owned() }),
            unconfirmed: if endpoint.is_none() { vec![unconfirmed(7)] } else { Vec::new() },
            problems: 0,
            forwarded: endpoint.map(|_| Node::default()),
            header_values: None,
            connection: None,
            withheld: if endpoint.is_some() { self.withheld() } else { Vec::new() },
        };
        vec![upstream(3, "", Some("http://10.0.0.1:18000")), upstream(5, "other", None)]
    }

    fn confirm_removals(&self, upstream: u64, type_url: &TypeUrl) -> bool {
        let withheld = *type_url.as_str() == *CDS && upstream == 3;
        withheld && !self.confirmed.swap(true, Ordering::Relaxed)
    }

    fn draining(&self) -> Draining {
        Draining {
            draining: self.draining.load(Ordering::Relaxed),
            streams: self.clients as usize,
            limit_seconds: 21.5,
        }
    }

    fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    fn clients_seen(&self) -> u64 {
        self.clients
    }

    fn client_ids(&self) -> Vec<u64> {
        self.looks.fetch_add(1, Ordering::Relaxed);
        (1..=self.clients).collect()
    }

    fn client(&self, id: u64, _: bool) -> Option<Client> {
        self.expect_to_be_apart();
        self.made_up(id)
    }

    fn client_sketch(&self, id: u64) -> Option<Sketch> {
        let Client { node, identity, .. } = self.made_up(id)?;
        let dialect = if id == 1 { "sotw" } else { "delta" };
        let parameters: DynamicParameters = [("env", "prod")].into_iter().collect();
        let parameters = parameters.into();
        let Node { id: node, cluster, user_agent, .. } = node;
        Some(Sketch { node, cluster, user_agent, identity, dialect, parameters })
    }

    fn client_may_have(&self, id: u64, _: &TypeUrl, name: &Name) -> Option<bool> {
        (id <= self.clients).then_some(&**name != "secret")
    }

    fn client_views(&self, id: u64) -> Option<Vec<(TypeUrl, Fingerprint)>> {
        let selector = Selector::plain("*", [("env", "prod")].into_iter().collect());
        let subscription: Subscription = [selector].into_iter().collect();
        let barred = Self::barred(|change| Subscription::default().patched(change));
        let views = [(CDS, subscription.fingerprint()), (LDS, barred.fingerprint())];
        (id <= self.clients).then(|| views.map(|(of_type, view)| (TypeUrl::new(of_type), view)).into())
    }

    fn client_standing(&self, id: u64) -> Option<Vec<(u64, Condition)>> {
        let standing =
            |client: Client| client.types.iter().map(|of_type| (of_type.view, of_type.state)).collect();
        self.made_up(id).map(standing)
    }

    fn propagated(&self) -> Vec<Propagated> {
        let change = |number| Propagated {
            number,
            at: at(),
            authority: String::new(),
            short_name: "cds".into(),
            type_url: CDS.to_owned(),
            streams: 3,
            seconds: seconds(Duration::from_millis(number)),
            outcome: if number.is_multiple_of(2) { "accepted" } else { "late" }.into(),
        };
        (1..=30).rev().map(change).collect()
    }

    fn deliveries(&self, type_url: &TypeUrl, changed: &Changed) -> Vec<Delivery> {
        self.expect_to_be_apart();
        let states = [Standing::Accepted, Standing::Waiting, Standing::Rejected, Standing::Unanswered];
        let delivery = |id: u64| {
            let views = self.client_views(id)?;
            views.iter().find(|(of, view)| of == type_url && changed.contains_key(view))?;
            let state = states[usize::try_from(id).unwrap() % states.len()];
            let message = (state == Standing::Rejected).then(|| "no".to_owned());
            let sent = Some(at() - Duration::from_secs(id));
            Some(Delivery { client: id, node: format!("node-{id}"), state, sent, message })
        };
        self.client_ids().into_iter().filter_map(delivery).collect()
    }

    fn nacks(&self) -> Vec<Nack> {
        let nack = |number| Nack {
            number,
            at: at(),
            client: Some(number),
            node: format!("node-{number}"),
            cluster: "odd".to_owned(),
            short_name: "cds",
            type_url: CDS.to_owned(),
            nonce: None,
            code: 3,
            message: "no".to_owned(),
        };
        (1..=self.clients).rev().map(nack).collect()
    }

    fn database(&self) -> Database {
        self.database.clone()
    }

    fn configuration(&self) -> Result<Configuration, String> {
        let error = Some("weir.toml:1: downstream: it is missing".to_owned());
        Ok(Configuration {
            file: "weir.toml".to_owned(),
            loaded: at(),
            last_reload: Some(Reload { at: at(), applied: false, changed: Vec::new(), error }),
            waiting_for_restart: vec!["store".to_owned()],
            effective: serde_json::json!({ "log": { "level": "info" } }),
        })
    }

    fn configuration_file(&self) -> Result<String, String> {
        let ready = self.ready.load(Ordering::Relaxed);
        if ready { Ok("[log]\nlevel = \"info\"\n".to_owned()) } else { Err("broken".to_owned()) }
    }

    fn store(&self) -> Option<Store> {
        self.expect_to_be_apart();
        (self.clients > 0).then(|| Store {
            path: "/var/lib/weir/store".to_owned(),
            failure: None,
            size: 1 << 20,
            max_size: 1 << 30,
            pending: 3,
            written: Some(at()),
            refused: 1,
            unreadable: 2,
            secrets: true,
            set_aside: vec!["/var/lib/weir/store.broken-1700000000".to_owned()],
            unconfirmed: 7,
        })
    }

    fn refused(&self) -> Vec<Refused> {
        let refused = |limit| Refused { authority: "a".to_owned(), limit, subscriptions: 7 };
        vec![refused("max_subscriptions"), refused("new_names_per_client")]
    }

    fn log_level(&self) -> LogLevel {
        let asked = self.level.lock().unwrap().clone();
        let chosen_by = if asked.is_some() { "operator" } else { "configuration" }.to_owned();
        LogLevel { level: asked.unwrap_or_else(|| "info".to_owned()), chosen_by }
    }

    fn set_log_level(&self, level: Option<&str>) -> Result<(), String> {
        if level == Some("loud") {
            return Err("there is no level \"loud\"".to_owned());
        }
        *self.level.lock().unwrap() = level.map(str::to_owned);
        Ok(())
    }
}
