//! Envoy. A target is a port of its own.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, timeout};
use weir_testkit::process::http::{self, Connection};
use weir_testkit::process::{Envoy, EnvoyOptions};

use super::super::control_planes::XdsServer;
use super::super::observed::{Observed, Outcome};
use super::{ClientKind, ClientNode, RATE, without_circumstances};

/// How many connections the first target's requests go over: one that waits holds up no other.
const CONNECTIONS: usize = 3;
/// How long an answer may take.
const DEADLINE: Duration = Duration::from_secs(10);
/// The parts of its configuration that came by xDS.
const DUMPED: [&str; 4] = ["Clusters", "Listeners", "Routes", "Endpoints"];

/// An Envoy and the requests to it.
pub(super) struct Loaded {
    envoy: Envoy,
    _requests: JoinSet<()>,
}

impl Loaded {
    pub(super) fn start(
        kind: ClientKind,
        server: &XdsServer,
        node: ClientNode<'_>,
        metadata: &Value,
        targets: &[(&'static str, u16)],
        observed: &Observed,
    ) -> Self {
        let (dialect, program) = match kind {
            ClientKind::OldestEnvoy(dialect) => (dialect, "envoy-oldest"),
            ClientKind::Envoy(dialect) => (dialect, "envoy"),
            other => unreachable!("{other:?} is no Envoy"),
        };
        let mut options = EnvoyOptions::new(dialect, node.id).program(program);
        options.metadata = metadata.clone();
        node.cluster.clone_into(&mut options.cluster);
        options.tls.clone_from(&server.tls);
        let envoy = Envoy::start(server.address, &options);
        let mut requests = JoinSet::new();
        for (number, (target, port)) in targets.iter().enumerate() {
            let address = SocketAddr::from(([127, 0, 0, 1], *port));
            if number == 0 {
                for _ in 0..CONNECTIONS {
                    requests.spawn(keep_asking(target, address, RATE / CONNECTIONS, observed.clone()));
                }
            } else {
                requests.spawn(ask_anew(target, address, RATE / 10, observed.clone()));
            }
        }
        Self { envoy, _requests: requests }
    }

    pub(super) async fn dump(&mut self) -> Vec<String> {
        let dump = self.envoy.config_dump().await;
        let mut entries = Vec::new();
        for section in dump["configs"].as_array().into_iter().flatten() {
            let kind = section["@type"].as_str().unwrap_or_default().to_owned();
            if !DUMPED.iter().any(|part| kind.ends_with(&format!(".{part}ConfigDump"))) {
                continue;
            }
            for (key, values) in section.as_object().into_iter().flatten() {
                for value in values.as_array().into_iter().flatten().filter(|_| key.starts_with("dynamic_")) {
                    let mut value = value.clone();
                    without_circumstances(&mut value);
                    entries.push(json!({ key: value }).to_string());
                }
            }
        }
        entries
    }
}

/// Requests on one connection.
async fn keep_asking(target: &'static str, address: SocketAddr, rate: usize, observed: Observed) {
    let mut connection = Connection::to(address);
    let mut ticks = ticks(rate);
    loop {
        ticks.tick().await;
        let answer = timeout(DEADLINE, connection.get("/")).await;
        if answer.is_err() {
            connection = Connection::to(address);
        }
        observed.add(target, outcome(answer));
    }
}

/// Requests on a connection each: a listener that goes keeps the connections that it has.
async fn ask_anew(target: &'static str, address: SocketAddr, rate: usize, observed: Observed) {
    let mut ticks = ticks(rate);
    loop {
        ticks.tick().await;
        let answer = timeout(DEADLINE, http::get(address, "/")).await;
        observed.add(target, outcome(answer));
    }
}

/// What was missed is made up for.
fn ticks(rate: usize) -> tokio::time::Interval {
    let mut ticks = interval(Duration::from_secs(1) / u32::try_from(rate).expect("a small number"));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    ticks
}

fn outcome(answer: Result<Result<http::Answer, String>, tokio::time::error::Elapsed>) -> Outcome {
    match answer {
        Ok(Ok(answer)) if answer.status == 200 => Ok(answer.body),
        Ok(Ok(answer)) => Err(format!("{}: {}", answer.status, answer.body)),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(format!("no answer within {} s", DEADLINE.as_secs())),
    }
}
