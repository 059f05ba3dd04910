//! Any kind of client in front of any kind of server: each row is a dialect for clients, each column a source of
//! resources, and each cell a client that has to see the same five things as every other.
//!
//! The control planes and files have two variants of each resource, and clients are to get one of them. With TP2,
//! the client names it by locator, and the control plane is sent locators and sends constraints. Without, clients
//! have the parameter from their `Node` by a rule, and a control plane has a stream, with a `Node` of its own, for each
//! parameter set. Files have constraints in both. Every transport can carry locators, those of v2 too: the
//! messages are the same, and control planes that do not know the fields do not see them. REST polls have them in JSON.

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use bytes::Bytes;
use serde_json::{Value, json};
use support::{Bed, Item, Source, local};
use weir_testkit::client::Change;
use weir_testkit::constraints::locator;
use weir_testkit::resources::{assignment, eds_cluster, name, published};
use weir_testkit::wait::PATIENCE;
use weir_testkit::{Dialect, Received, RestClient, Service, XdsClient, node, type_url};
use weir_wire::discovery::ResourceLocator;

/// The steps of each cell, in order.
const STEPS: [&str; 6] = ["initial", "change", "addition", "removal", "client back", "server back"];

const TYPES: [&str; 2] = ["cds", "eds"];

/// The dialect of a client.
#[derive(Clone, Copy, Debug)]
struct Kind {
    name: &'static str,
    dialect: Dialect,
    /// The service of each of [`TYPES`], on one stream where they are equal; none for polls over REST.
    services: Option<[Service; 2]>,
}

const CLIENTS: [Kind; 7] = [
    Kind { name: "ADS SotW", dialect: Dialect::Sotw, services: Some([Service::Ads; 2]) },
    Kind { name: "ADS delta", dialect: Dialect::Delta, services: Some([Service::Ads; 2]) },
    Kind { name: "SotW", dialect: Dialect::Sotw, services: Some([Service::Own("cds"), Service::Own("eds")]) },
    Kind {
        name: "delta",
        dialect: Dialect::Delta,
        services: Some([Service::Own("cds"), Service::Own("eds")]),
    },
    Kind { name: "REST", dialect: Dialect::Sotw, services: None },
    Kind { name: "v2 ADS SotW", dialect: Dialect::Sotw, services: Some([Service::AdsV2; 2]) },
    Kind { name: "v2 ADS delta", dialect: Dialect::Delta, services: Some([Service::AdsV2; 2]) },
];

/// Protocols of control planes, as the test bed calls them; none for files.
const SERVERS: [Option<&str>; 8] = [
    Some("ads-sotw"),
    Some("ads-delta"),
    Some("sotw"),
    Some("delta"),
    Some("rest"),
    Some("v2 ads-sotw"),
    Some("v2 ads-delta"),
    None,
];

/// What there is: revisions of resources, by type and name.
type Content = BTreeMap<(&'static str, &'static str), u16>;

/// A resource in a revision.
fn resource(short: &str, name: &str, revision: u16) -> Value {
    match short {
        "cds" => {
            let mut cluster = eds_cluster(name);
            cluster["connect_timeout"] = json!(format!("{revision}s"));
            cluster
        }
        _ => assignment(name, &[local(revision)]),
    }
}

/// As the source has it: for those whom the clients are, and another variant for others.
fn items(content: &Content) -> Vec<Item> {
    let variants = |(&(short, name), &revision): (&(&str, &str), &u16)| {
        [
            (Some("prod"), resource(short, name, revision)),
            (Some("test"), resource(short, name, revision + 5000)),
        ]
    };
    content.iter().flat_map(variants).collect()
}

/// A client, and what it has.
struct Client {
    kind: Kind,
    locators: bool,
    server_is_sotw: bool,
    /// None over REST.
    streams: Vec<XdsClient>,
    poller: Option<RestClient>,
    held: BTreeMap<(&'static str, String), Bytes>,
    /// What it would state of a type on the next stream: by name in delta, under no name in SotW.
    versions: BTreeMap<(&'static str, String), String>,
    /// What was sent since the last connection.
    sent: Vec<(&'static str, String)>,
}

impl Client {
    async fn start(kind: Kind, server: Option<&str>, locators: bool, bed: &Bed) -> Self {
        let server_is_sotw = server.is_some_and(|protocol| protocol.ends_with("sotw") || protocol == "rest");
        let (streams, sent) = (Vec::new(), Vec::new());
        let (held, versions) = (BTreeMap::new(), BTreeMap::new());
        let mut client = Self { kind, locators, server_is_sotw, streams, poller: None, held, versions, sent };
        client.connect(bed).await;
        client
    }

    /// Connects, or connects again, and subscribes: to all clusters, and to some endpoints by name.
    async fn connect(&mut self, bed: &Bed) {
        let Kind { dialect, services, .. } = self.kind;
        let node = if self.locators { node("client") } else { node("client").metadata("env", "prod") };
        self.disconnect();
        let Some(services) = services else {
            self.poller = Some(RestClient::connect(bed.address(), &node).await);
            return;
        };
        let own = services[0] != services[1];
        for service in services.into_iter().take(if own { 2 } else { 1 }) {
            self.streams.push(XdsClient::on(service, dialect, bed.address(), &node).await);
        }
        for short in TYPES {
            let stated = self.versions.iter().filter(|((of, _), _)| *of == short);
            let stated = stated.map(|((_, name), version)| (name.clone(), version.clone()));
            let mut change = match dialect {
                Dialect::Delta => Change { initial_versions: stated.collect(), ..Change::default() },
                Dialect::Sotw => Change { version: stated.map(|(_, v)| v).next(), ..Change::default() },
            };
            let (names, locators) = self.asks_for(short);
            (change.names, change.locators) = (names.iter().map(ToString::to_string).collect(), locators);
            self.stream(short).change(type_url(short), change);
        }
    }

    fn disconnect(&mut self) {
        self.streams.clear();
        self.poller = None;
        self.sent.clear();
    }

    /// All clusters, by the legacy wildcard where there are no locators, and some endpoints.
    fn asks_for(&self, short: &str) -> (&'static [&'static str], Vec<ResourceLocator>) {
        let names: &[&str] = if short == "cds" { &["*"] } else { &["a", "b"] };
        match self.locators {
            true => (&[], names.iter().map(|name| locator(name, &[("env", "prod")])).collect()),
            false if short == "cds" => (&[], Vec::new()),
            false => (names, Vec::new()),
        }
    }

    /// The next response of a type, or of whatever type comes on its stream.
    async fn next(&mut self, short: &'static str) -> Result<Received, String> {
        let (names, locators) = self.asks_for(short);
        if let Some(poller) = &mut self.poller {
            let path = if short == "cds" { "clusters" } else { "endpoints" };
            let polling = async {
                loop {
                    if let Some(received) = poller.poll(path, names, &locators).await {
                        return received;
                    }
                }
            };
            let polled = tokio::time::timeout(PATIENCE, polling).await;
            return polled.map_err(|_| format!("{short} did not come"));
        }
        match self.stream(short).try_receive(PATIENCE).await {
            Some(Ok(received)) => Ok(received),
            Some(Err(status)) => Err(format!("the stream of {short} ended: {status}")),
            None => Err(format!("{short} did not come")),
        }
    }

    fn stream(&mut self, short: &str) -> &mut XdsClient {
        let last = self.streams.len() - 1;
        let index = TYPES.iter().position(|of| *of == short).expect("one of two types").min(last);
        &mut self.streams[index]
    }

    /// Waits until it has `content`. SotW has no words for the end of endpoints: where it is used on either side
    /// of Weir, the client may keep them.
    async fn has(&mut self, content: &Content) -> Result<(), String> {
        for short in TYPES {
            let wanted: BTreeMap<(&str, String), Bytes> = content
                .iter()
                .filter(|((of, _), _)| *of == short)
                .map(|(&(of, name), &revision)| ((of, name.to_owned()), body(&resource(of, name, revision))))
                .collect();
            let keeps = short == "eds" && (self.server_is_sotw || self.kind.dialect == Dialect::Sotw);
            loop {
                let mut held = self.held.iter().filter(|((of, _), _)| *of == short);
                let missing = wanted.iter().any(|(key, body)| self.held.get(key) != Some(body));
                if !missing && (keeps || held.all(|(key, _)| wanted.contains_key(key))) {
                    break;
                }
                let received = self.next(short).await?;
                self.take(&received);
            }
        }
        Ok(())
    }

    fn take(&mut self, received: &Received) {
        let short = TYPES.into_iter().find(|short| type_url(short) == received.type_url);
        let short = short.expect("a type that was asked for");
        if self.poller.is_none() {
            self.stream(short).ack(received);
        }
        let gone = received.removed_variants.iter().map(|variant| &variant.name).chain(&received.removed);
        for name in gone {
            self.held.remove(&(short, name.clone()));
            self.versions.remove(&(short, name.clone()));
        }
        if self.kind.dialect == Dialect::Sotw {
            self.versions.insert((short, String::new()), received.version.clone());
            if short == "cds" {
                self.held.retain(|(of, _), _| *of != short);
            }
        }
        for resource in &received.resources {
            let key = (short, resource.name.clone());
            self.sent.push(key.clone());
            if self.kind.dialect == Dialect::Delta {
                self.versions.insert(key.clone(), resource.version.clone());
            }
            self.held.insert(key, resource.body.clone().expect("a whole resource"));
        }
    }
}

fn body(resource: &Value) -> Bytes {
    published(resource).body.unwrap_or_else(|| panic!("{} has no body", name(resource)))
}

/// How far a cell has come, or why it came no further.
type Cell = Result<usize, String>;

/// A source with every kind of client behind one Weir; in step, so that a change is for all of them.
struct Column {
    bed: Bed,
    clients: Vec<Client>,
    cells: Vec<Cell>,
    content: Content,
}

impl Column {
    async fn start(server: Option<&'static str>, tp2: bool) -> Self {
        let content = Content::from([(("cds", "a"), 1), (("cds", "c"), 1), (("eds", "a"), 1)]);
        let source = match server {
            None => Source::Files,
            Some(protocol) if tp2 => Source::Native(protocol),
            Some(protocol) => Source::Streams(protocol),
        };
        let bed = Bed::start(source, &items(&content)).await;
        let mut clients = Vec::new();
        for kind in CLIENTS {
            clients.push(Client::start(kind, server, tp2, &bed).await);
        }
        Self { bed, clients, cells: vec![Ok(0); CLIENTS.len()], content }
    }

    fn set(&mut self, changes: &[((&'static str, &'static str), Option<u16>)]) {
        for (key, revision) in changes {
            match revision {
                Some(revision) => _ = self.content.insert(*key, *revision),
                None => _ = self.content.remove(key),
            }
        }
        self.bed.set(&items(&self.content));
    }

    /// Ends a step: everyone who came this far has to have what there is.
    async fn step(&mut self) {
        for (client, cell) in self.clients.iter_mut().zip(&mut self.cells) {
            let Ok(steps) = cell.clone() else { continue };
            *cell = match client.has(&self.content).await {
                Ok(()) => Ok(steps + 1),
                Err(error) => Err(format!("{}: {error}", STEPS[steps])),
            };
        }
    }

    async fn run(mut self) -> Vec<Cell> {
        self.step().await;
        self.set(&[(("cds", "a"), Some(2)), (("eds", "a"), Some(2))]);
        self.step().await;
        self.set(&[(("cds", "b"), Some(1)), (("eds", "b"), Some(1))]);
        self.step().await;
        self.set(&[(("cds", "b"), None), (("eds", "b"), None)]);
        self.step().await;
        self.reconnect_clients().await;
        self.reconnect_server().await;
        self.cells
    }

    /// A client that comes back gets what has changed, and in delta nothing else.
    async fn reconnect_clients(&mut self) {
        for client in &mut self.clients {
            client.disconnect();
        }
        self.set(&[(("cds", "a"), Some(3))]);
        for client in &mut self.clients {
            client.connect(&self.bed).await;
        }
        self.step().await;
        for (client, cell) in self.clients.iter().zip(&mut self.cells) {
            let again = client.sent.contains(&("cds", "c".to_owned()));
            if cell.is_ok() && client.kind.dialect == Dialect::Delta && again {
                *cell = Err("client back: what it had was sent again".to_owned());
            }
        }
    }

    /// While the control plane is away nothing goes; what it changed meanwhile comes when it is back.
    async fn reconnect_server(&mut self) {
        if let Some(control_plane) = &mut self.bed.control_plane {
            control_plane.stop().await;
        }
        self.set(&[(("cds", "a"), Some(4)), (("eds", "a"), Some(4))]);
        if let Some(control_plane) = &mut self.bed.control_plane {
            control_plane.restart().await;
        }
        self.step().await;
    }
}

/// The matrix, for people.
fn draw(title: &str, columns: &[(Option<&'static str>, Vec<Cell>)]) -> (String, bool) {
    let mut text = format!("{title}\n{:16}", "client / server");
    let mut failures = String::new();
    for (server, _) in columns {
        let _ = write!(text, "{:>14}", server.unwrap_or("files"));
    }
    for (row, client) in CLIENTS.iter().enumerate() {
        let _ = write!(text, "\n{:16}", client.name);
        for (server, cells) in columns {
            let cell = match &cells[row] {
                Ok(steps) => format!("{steps}/{}", STEPS.len()),
                Err(error) => {
                    let _ = writeln!(failures, "{} / {}: {error}", client.name, server.unwrap_or("files"));
                    "FAILED".to_owned()
                }
            };
            let _ = write!(text, "{cell:>14}");
        }
    }
    (format!("{text}\n{failures}"), failures.is_empty())
}

async fn run(title: &str, tp2: bool) {
    let mut columns = Vec::new();
    for server in SERVERS {
        columns.push((server, Column::start(server, tp2).await.run().await));
    }
    let (matrix, good) = draw(title, &columns);
    println!("{matrix}");
    assert!(good, "{matrix}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u01_d01_v01_any_client_in_front_of_any_server_without_tp2() {
    run("without TP2: parameters by node rules, upstream by a stream for each set", false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u01_d01_v01_p14_any_client_in_front_of_any_server_with_tp2() {
    run("with TP2: locators from clients, and to control planes", true).await;
}
