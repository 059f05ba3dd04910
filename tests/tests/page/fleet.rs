//! A small fleet with everything that a page has to show, for [`crate::lively`]: several control planes, one of which
//! is away; clients of several kinds, one of which rejects a change, one does not answer, and one asks for what nobody
//! can be asked for.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use weir_testkit::client::Received;
use weir_testkit::process::{Weir, free_port};
use weir_testkit::resource::Published;
use weir_testkit::resources::{assignment, direct_routes, listener_with_routes, published, static_cluster};
use weir_testkit::wait::until;
use weir_testkit::{Dialect, FakeControlPlane, XdsClient, node, type_url};

use crate::support::{Item, for_nodes, local};

/// How long Weir waits for the answers to a change.
const DEADLINE: Duration = Duration::from_secs(5);

/// Of each type, Weir follows one change in this time.
const EACH: Duration = Duration::from_secs(1);

/// The types that the fleet is subscribed to.
const TYPES: [&str; 3] = ["cds", "eds", "lds"];

/// The change of which one client rejects the clusters.
const BAD: u16 = 600;

/// The change of which another one does not answer for the endpoints.
const SLOW: u16 = 700;

/// How a client answers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    Accepts,
    /// It rejects clusters from [`BAD`] on.
    Rejects,
    /// It does not answer for endpoints from [`SLOW`] on.
    Stalls,
}

pub(crate) struct Fleet {
    pub(crate) weir: Weir,
    main: FakeControlPlane,
    regional: FakeControlPlane,
    _clients: JoinSet<()>,
    changes: u16,
    /// The number of the newest change: a client's manner depends on it.
    newest: watch::Sender<u16>,
    /// When the newest change was seen to have been followed.
    followed: Instant,
}

fn payments(change: u16) -> Published {
    let name = "xdstp://eu.example/envoy.config.cluster.v3.Cluster/payments";
    let mut cluster = static_cluster(name, &[local(change)]);
    cluster["connect_timeout"] = Value::from("1s");
    published(&cluster)
}

/// What the main control plane has.
fn items(change: u16) -> Vec<Published> {
    let cluster = |name: &str| static_cluster(name, &[local(change)]);
    let ingress = listener_with_routes("ingress", 80, direct_routes("ingress", &format!("hello {change}")));
    let names = ["cart", "checkout", "search"];
    let mut items: Vec<Item> = vec![(Some("prod"), cluster("backend")), (Some("test"), cluster("backend"))];
    items.extend(names.map(|name| (None, cluster(name))));
    items.extend(names.map(|name| (None, assignment(name, &[local(change)]))));
    items.push((None, ingress));
    items.iter().map(for_nodes).collect()
}

impl Fleet {
    pub(crate) async fn start() -> Self {
        let (main, regional) = (FakeControlPlane::start().await, FakeControlPlane::start_tp2().await);
        main.set_all(items(1));
        regional.set(payments(1));
        let away = local(free_port());
        let upstream = |authority: &str, server: &str| {
            format!(
                "[[upstream]]\nauthority = \"{authority}\"\nendpoints = [\"{server}\"]\nprotocol = \"ads-delta\""
            )
        };
        let weir = Weir::builder()
            .parameter_from_metadata("env")
            .upstream(&main, "ads-delta", "streams")
            .section(&upstream("eu.example", &regional.uri()))
            .section(&upstream("lab.example", &format!("http://{away}")))
            .section(&format!("[telemetry]\npropagation_deadline = \"{}s\"", DEADLINE.as_secs()))
            .start()
            .await;
        let newest = watch::Sender::new(1);
        let mut clients = JoinSet::new();
        for (id, env, user_agent, manner) in [
            ("edge-1", "prod", "envoy", Manner::Accepts),
            ("edge-2", "prod", "envoy", Manner::Accepts),
            ("edge-3", "prod", "envoy", Manner::Rejects),
            ("edge-4", "prod", "envoy", Manner::Accepts),
            ("edge-test-1", "test", "envoy", Manner::Accepts),
            ("edge-test-2", "test", "envoy", Manner::Accepts),
            ("shop-1", "prod", "grpc-java", Manner::Accepts),
            ("shop-2", "prod", "grpc-java", Manner::Stalls),
            ("shop-3", "prod", "grpc-java", Manner::Accepts),
        ] {
            let cluster = id.split('-').next().unwrap();
            let who = node(id).cluster(cluster).metadata("env", env).user_agent(user_agent);
            let who = who.locality("eu-central", if id.ends_with('1') { "a" } else { "b" }, "");
            let mut client = XdsClient::connect(Dialect::Delta, weir.address(), &who).await;
            subscribe(&mut client, cluster, manner);
            clients.spawn(answer(client, manner, newest.subscribe()));
        }
        let followed = Instant::now();
        let mut fleet = Self { weir, main, regional, _clients: clients, changes: 1, newest, followed };
        fleet.is_sent_of(1).await;
        fleet
    }

    /// Changes everything, and waits until all have answered for it, or the deadline has passed.
    pub(crate) async fn change(&mut self) {
        self.changes += 1;
        self.change_to(self.changes).await;
    }

    /// Has one client reject clusters, and then another one not answer for endpoints.
    pub(crate) async fn go_wrong(&mut self) {
        for (first, outcome) in [(BAD, "rejected"), (SLOW, "late")] {
            self.changes = first;
            // Which of the commits that a change leads to is followed is not ours to decide.
            self.change().await;
            while !self.has_come_to(outcome).await {
                self.change().await;
            }
        }
    }

    /// Whether a change comes to this, once all have answered or the deadline has passed.
    async fn has_come_to(&self, outcome: &str) -> bool {
        let path = format!("/propagation?outcome={outcome}");
        let found = until(outcome, || async { self.ask(&path).await.first().map(drop) });
        timeout(2 * DEADLINE, found).await.is_ok()
    }

    async fn change_to(&mut self, change: u16) {
        let since = self.followed;
        until("a change to be followed again", || async { (since.elapsed() > EACH).then_some(()) }).await;
        let before = self.ask("/propagation?limit=1").await.first().map_or(0, number);
        self.newest.send_replace(change);
        self.regional.set(payments(change));
        self.main.change(|all| *all = items(change));
        self.is_sent_of(before + 1).await;
    }

    async fn is_sent_of(&mut self, wanted: u64) {
        until(format!("the change {wanted} to be followed"), || async {
            let changes = self.ask("/propagation?limit=1").await;
            changes.first().is_some_and(|newest| number(newest) >= wanted).then_some(())
        })
        .await;
        self.followed = Instant::now();
    }

    async fn ask(&self, path: &str) -> Vec<Value> {
        let page: Value = serde_json::from_str(&self.weir.admin(path).await.body).unwrap();
        page["items"].as_array().unwrap().clone()
    }
}

fn number(change: &Value) -> u64 {
    change["number"].as_u64().unwrap()
}

fn subscribe(client: &mut XdsClient, cluster: &str, manner: Manner) {
    let payments = "xdstp://eu.example/envoy.config.cluster.v3.Cluster/payments";
    let experiment = "xdstp://lab.example/envoy.config.cluster.v3.Cluster/experiment";
    match (cluster, manner) {
        ("edge", _) => {
            client.subscribe(type_url("cds"), &["*"]);
            client.subscribe(type_url("lds"), &["*"]);
            client.subscribe(type_url("eds"), &["cart", "checkout", "search"]);
        }
        (_, Manner::Accepts) => {
            client.subscribe(type_url("cds"), &["cart", "checkout", payments]);
            client.subscribe(type_url("eds"), &["cart", "checkout"]);
        }
        _ => {
            client.subscribe(type_url("cds"), &["cart", payments, experiment]);
            client.subscribe(type_url("eds"), &["cart"]);
        }
    }
}

/// Answers for as long as there is a stream.
async fn answer(mut client: XdsClient, manner: Manner, newest: watch::Receiver<u16>) {
    let is = |received: &Received, short: &str| received.type_url == type_url(short);
    loop {
        let received = match client.try_receive(DEADLINE).await {
            None => continue,
            Some(Err(_)) => return,
            Some(Ok(received)) => received,
        };
        assert!(TYPES.iter().any(|short| is(&received, short)), "{received:?}");
        let change = *newest.borrow();
        match manner {
            Manner::Rejects if change >= BAD && is(&received, "cds") => {
                client.nack(&received, "Error adding/updating cluster(s) checkout: hosts must be specified");
            }
            Manner::Stalls if change >= SLOW && is(&received, "eds") => {}
            _ => client.ack(&received),
        }
    }
}
