//! A client that never gives up: it connects again whenever it is cut off, and states what it has.
//!
//! Owns what such a client asks for, and how it shows what it holds. What that should be is for others to know.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use weir_testkit::client::{Change, Connection, DIALECTS, XdsClient};
use weir_testkit::resource::PROBE;
use weir_testkit::{Dialect, Received, Service, node, type_url};

/// How many notes there are.
pub const NOTES: usize = 20;

/// How many of them a client wants.
const WANTED: usize = 5;

/// The values of the dynamic parameter.
pub const ENVIRONMENTS: [&str; 2] = ["prod", "test"];

/// Between two attempts.
const BACKOFF: Duration = Duration::from_millis(100);

/// By type and name, the text.
pub type Held = BTreeMap<(String, String), String>;

/// How soon the dead are noticed.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// After how much silence the other side is pinged.
    pub keepalive: Duration,
    /// How long it may take to answer, and to accept a connection, on a machine that is busy with all the others.
    pub patience: Duration,
}

impl Pace {
    /// How long that may take in all.
    pub fn longest(self) -> Duration {
        self.keepalive + self.patience
    }
}

/// The notes that a client wants.
pub fn wanted(client: usize) -> impl Iterator<Item = usize> {
    (0..WANTED).map(move |n| (client * 3 + n) % NOTES)
}

/// What a note is called.
pub fn note_name(number: usize) -> String {
    format!("note-{number}")
}

/// The client with this number, which shows `show` what it holds, for ever.
pub async fn run(number: usize, server: SocketAddr, pace: Pace, show: fn(usize, &Held)) {
    let mut client = Client {
        number,
        dialect: DIALECTS[number / 2 % 2],
        versions: BTreeMap::new(),
        held: Held::new(),
        show,
    };
    loop {
        if let Some(connection) = Connection::kept_alive(server, pace.keepalive, pace.patience).await {
            client.stream(connection).await;
        }
        tokio::time::sleep(BACKOFF).await;
    }
}

struct Client {
    number: usize,
    dialect: Dialect,
    /// By type, those of the resources by name, or the one of the type under the empty name.
    versions: BTreeMap<String, BTreeMap<String, String>>,
    held: Held,
    show: fn(usize, &Held),
}

impl Client {
    async fn stream(&mut self, connection: Connection) {
        let env = ENVIRONMENTS[self.number % 2];
        let node = node(&format!("client-{}", self.number)).metadata("env", env);
        let mut stream = connection.open(&Service::Ads.path(self.dialect), self.dialect, &node);
        // As for Weir's own streams: who holds on to a connection that dies at the wrong moment waits for ever.
        drop(connection);
        self.subscribe(&mut stream, type_url("cds"), vec!["*".to_owned()]);
        self.subscribe(&mut stream, PROBE, wanted(self.number).map(note_name).collect());
        while let Some(Ok(received)) = stream.try_receive(Duration::MAX).await {
            self.take(&received);
            stream.ack(&received);
        }
    }

    fn subscribe(&self, stream: &mut XdsClient, type_url: &str, names: Vec<String>) {
        let known = self.versions.get(type_url).cloned().unwrap_or_default();
        let change = match self.dialect {
            Dialect::Delta => Change { names, initial_versions: known, ..Change::default() },
            Dialect::Sotw => Change { names, version: known.get("").cloned(), ..Change::default() },
        };
        stream.change(type_url, change);
    }

    fn take(&mut self, received: &Received) {
        let of_type = &received.type_url;
        let versions = self.versions.entry(of_type.clone()).or_default();
        let key = |name: &str| (of_type.clone(), name.to_owned());
        match self.dialect {
            Dialect::Sotw => {
                // Of clusters, this is all there is.
                if of_type == type_url("cds") {
                    self.held.retain(|(kind, _), _| kind != of_type);
                }
                versions.insert(String::new(), received.version.clone());
            }
            Dialect::Delta => versions.extend(received.versions()),
        }
        for name in &received.removed {
            self.held.remove(&key(name));
            versions.remove(name);
        }
        self.held.extend(received.texts().into_iter().map(|(name, text)| (key(&name), text)));
        (self.show)(self.number, &self.held);
    }
}
