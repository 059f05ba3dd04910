//! A client that never gives up: it connects again whenever it is cut off, and says what it has.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::sync::watch;
use weir_testkit::client::{Change, Connection, DIALECTS, XdsClient};
use weir_testkit::resource::PROBE;
use weir_testkit::{Dialect, Received, Service, node, type_url};

use super::truth::{ENVIRONMENTS, Held, wanted_names};
use super::world::Pace;

/// Between two attempts.
const BACKOFF: Duration = Duration::from_millis(100);

/// The client with this number, which shows what it holds, for ever.
pub(crate) async fn run(number: usize, server: SocketAddr, pace: Pace, shown: watch::Sender<Held>) {
    let mut client = Client { number, dialect: DIALECTS[number / 2 % 2], versions: BTreeMap::new(), shown };
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
    shown: watch::Sender<Held>,
}

impl Client {
    async fn stream(&mut self, connection: Connection) {
        let env = ENVIRONMENTS[self.number % 2];
        let node = node(&format!("client-{}", self.number)).metadata("env", env);
        let mut stream = connection.open(&Service::Ads.path(self.dialect), self.dialect, &node);
        // As for Weir's own streams: who holds on to a connection that dies at the wrong moment waits for ever.
        drop(connection);
        self.subscribe(&mut stream, type_url("cds"), vec!["*".to_owned()]);
        self.subscribe(&mut stream, PROBE, wanted_names(self.number));
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
        self.shown.send_modify(|held| {
            match self.dialect {
                Dialect::Sotw => {
                    // Of clusters, this is all there is.
                    if of_type == type_url("cds") {
                        held.retain(|(kind, _), _| kind != of_type);
                    }
                    versions.insert(String::new(), received.version.clone());
                }
                Dialect::Delta => versions.extend(received.versions()),
            }
            for name in &received.removed {
                held.remove(&key(name));
                versions.remove(name);
            }
            held.extend(received.texts().into_iter().map(|(name, text)| (key(&name), text)));
        });
    }
}
