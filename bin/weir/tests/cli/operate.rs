use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::server::Server;
use crate::{Outcome, directory, weir};

const CONFIG: &str = "
[downstream]
listen = ['127.0.0.1:0']
[admin]
listen = '127.0.0.1:0'
[[dynamic_parameters]]
key = 'env'
from = 'node.metadata.env'
[[upstream]]
files = 'resources'
";

pub(crate) const ENDPOINTS: &str = "
resources:
- constraints: { env: prod }
  resource: { '@type': type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment, cluster_name: x }
- constraints: { env: test }
  resource:
    '@type': type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment
    cluster_name: x
    policy: { overprovisioning_factor: 200 }
";

/// A client that stays connected until it is dropped.
pub(crate) struct Watching(Child);

impl Drop for Watching {
    fn drop(&mut self) {
        // It may have ended already.
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// An instance with two clients, of different `env`.
pub(crate) struct Bed {
    pub(crate) server: Server,
    clients: Vec<Watching>,
    directory: tempfile::TempDir,
}

impl Bed {
    pub(crate) fn start() -> Self {
        let directory = directory(&[("weir.toml", CONFIG), ("resources/x.yaml", ENDPOINTS)]);
        let mut server = Server::start(&directory.path().join("weir.toml"));
        server.wait_for("resource files read");
        let mut bed = Self { server, clients: Vec::new(), directory };
        bed.clients = vec![bed.client("web-1", "env=prod"), bed.client("web-2", "env=test")];
        bed.wait_for_clients("in-sync", 2);
        bed
    }

    /// An instance whose control plane is at `address`, with a client without parameters.
    pub(crate) fn of_control_plane(address: SocketAddr) -> Self {
        let config = CONFIG.replace("files = 'resources'", &format!("endpoints = ['http://{address}']"));
        let directory = directory(&[("weir.toml", &config)]);
        let server = Server::start(&directory.path().join("weir.toml"));
        let mut bed = Self { server, clients: Vec::new(), directory };
        bed.clients = vec![bed.client("web-1", "env=prod")];
        bed
    }

    /// Another client.
    pub(crate) fn client(&self, id: &str, env: &str) -> Watching {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        command.args(["get", "eds", "x", "--watch", "--server", self.server.address(), "--node-id", id]);
        command.args(["--node-metadata", env]).stdout(Stdio::null());
        Watching(command.spawn().unwrap())
    }

    pub(crate) fn wait_for_clients(&self, state: &str, number: usize) {
        let listed = |outcome: &Outcome| {
            let clients: Value = serde_json::from_str(&outcome.stdout).unwrap();
            clients.as_array().is_some_and(|clients| clients.len() == number)
        };
        self.until(&["clients", "--state", state, "--output", "json"], listed);
    }

    /// Runs a command until its outcome is good.
    pub(crate) fn until(&self, arguments: &[&str], good: impl Fn(&Outcome) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let outcome = self.run(arguments);
            if good(&outcome) {
                return;
            }
            assert!(Instant::now() < deadline, "{outcome:?}");
        }
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.directory.path().join("weir.toml")
    }

    /// Replaces the resources.
    pub(crate) fn write(&self, text: &str) {
        let file = self.directory.path().join("resources/x.yaml");
        let beside = file.with_extension("new");
        std::fs::write(&beside, text).unwrap();
        std::fs::rename(&beside, file).unwrap();
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Outcome {
        let admin = format!("http://{}", self.server.admin());
        weir(&[arguments, &["--admin", &admin]].concat())
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let outcome = self.run(&[arguments, &["--output", "json"]].concat());
        serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome:?}"))
    }
}

/// The rows of a table, each with one space between the cells.
pub(crate) fn rows(outcome: &Outcome) -> Vec<String> {
    let rows = outcome.stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    rows.collect()
}

#[test]
fn status_sends_how_many_are_in_sync() {
    let bed = Bed::start();
    let outcome = bed.run(&["status"]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let rows = rows(&outcome);
    assert_eq!(rows[0], "ready");
    assert!(rows.iter().any(|row| row.starts_with("\"\" anyone in-sync ")), "{rows:?}");
    assert!(rows.contains(&"all 2 0 0".to_owned()) && rows.contains(&"eds 2 0 0 2".to_owned()), "{rows:?}");
    let status = bed.json(&["status"]);
    assert_eq!((&status["ready"], &status["clients"]["in-sync"]), (&json!(true), &json!(2)));
    assert!(!outcome.stdout.contains('\x1b'), "it is no terminal: {outcome:?}");
}

#[test]
fn clients_and_resources_are_listed() {
    let bed = Bed::start();
    let outcome = bed.run(&["clients", "--param", "env=test"]);
    assert_eq!((outcome.code, rows(&outcome).len()), (0, 2), "{outcome:?}");
    assert!(rows(&outcome)[1].contains("web-2 delta eds in-sync"), "{outcome:?}");
    for (cluster, code) in [("", 0), ("nowhere", 1)] {
        assert_eq!(bed.run(&["clients", "--cluster", cluster]).code, code, "{cluster:?}");
    }
    let outcome = bed.run(&["clients", "--node", "nobody"]);
    assert_eq!((outcome.code, rows(&outcome).len()), (1, 1), "{outcome:?}");
    let outcome = bed.run(&["resources", "--type", "eds"]);
    let rows = rows(&outcome);
    assert!(rows[1].starts_with("eds x env=prod ") && rows[1].ends_with(" 1"), "{rows:?}");
    assert!(rows[2].starts_with("eds x env=test ") && rows[2].ends_with(" 1"), "{rows:?}");
    assert_eq!(bed.run(&["resources", "--type", "cds"]).code, 1);
    let outcome = bed.run(&["resources", "--type", "xds"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("type: \"xds\" is not allowed; allowed are cds, eds"), "{outcome:?}");
}

#[test]
fn two_clients_are_compared() {
    let bed = Bed::start();
    let outcome = bed.run(&["diff", "web-1", "web-2"]);
    let rows = rows(&outcome);
    assert_eq!((outcome.code, &*rows[0], &*rows[1]), (1, "web-1 web-2", "parameter env prod test"));
    assert!(rows[2].starts_with("eds x ") && rows[2].ends_with("(env=test)"), "{rows:?}");
    let same = bed.run(&["diff", "web-1", "web-1"]);
    assert_eq!((same.code, &*same.stdout), (0, "no difference: 1 resources\n"));
    let outcome = bed.run(&["diff", "web-1", "web-3"]);
    assert_eq!(outcome.code, 2);
    assert_eq!(outcome.stderr, "weir: no client is connected whose node has the id \"web-3\"\n");
}

#[test]
fn the_log_level_is_changed() {
    let bed = Bed::start();
    for (arguments, wanted) in [
        (&["log-level"][..], "info (chosen by: configuration)\n"),
        (&["log-level", "debug"], "debug (chosen by: operator)\n"),
        (&["log-level", "--reset"], "info (chosen by: configuration)\n"),
    ] {
        let outcome = bed.run(arguments);
        assert_eq!((outcome.code, &*outcome.stdout), (0, wanted), "{outcome:?}");
    }
    let yaml = bed.run(&["log-level", "--output", "yaml"]).stdout;
    assert!(yaml.contains("level: info\n"), "{yaml}");
    let outcome = bed.run(&["log-level", "loud"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.starts_with("weir: level: \"loud\" is not allowed; "), "{outcome:?}");
}

#[test]
fn an_instance_that_is_away_is_one_line() {
    for command in ["status", "clients", "resources", "log-level"] {
        let outcome = weir(&[command, "--admin", "http://127.0.0.1:1"]);
        assert_eq!((outcome.code, outcome.stderr.lines().count()), (2, 1), "{outcome:?}");
        assert!(outcome.stderr.starts_with("weir: ask http://127.0.0.1:1/"), "{outcome:?}");
    }
}
