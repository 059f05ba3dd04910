use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::server::Server;
use crate::{FILES, Outcome, command, directory, weir, weir_reading};

const ENDPOINTS: &str = r#"
resources:
- constraints: { env: prod }
  resource: { "@type": type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment, cluster_name: x }
- constraints: { env: test }
  resource:
    "@type": type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment
    cluster_name: x
    policy: { overprovisioning_factor: 200 }
"#;

const RULE: &str = "
[[dynamic_parameters]]
key = 'env'
from = 'node.metadata.env'
default = 'prod'
";

fn start() -> (TempDir, Server) {
    let config = format!("{FILES}{RULE}");
    let directory = directory(&[("weir.toml", &config), ("resources/x.yaml", ENDPOINTS)]);
    let server = Server::start(&directory.path().join("weir.toml"));
    (directory, server)
}

fn get(server: &Server, arguments: &[&str]) -> Outcome {
    weir(&[&["get", "--server", server.address()], arguments].concat())
}

/// The rows of the table, without the versions.
fn rows(outcome: &Outcome) -> Vec<String> {
    let rows = outcome.stdout.lines().skip(1);
    rows.map(|row| row.split_whitespace().take(2).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn p02_a_locator_gets_its_variant_in_both_protocols() {
    let (_directory, server) = start();
    for protocol in ["delta", "sotw"] {
        let outcome = get(&server, &["eds", "x", "--param", "env=test", "--protocol", protocol]);
        assert_eq!(
            (outcome.code, rows(&outcome)),
            (0, vec!["x env=test".to_owned()]),
            "{protocol} {outcome:?}"
        );
    }
}

#[test]
fn p13_a_plain_client_gets_the_variant_of_its_node() {
    let (_directory, server) = start();
    for (node, factor) in [(&[][..], Value::Null), (&["--node-metadata", "env=test"], 200.into())] {
        let outcome = get(&server, &[&["eds", "x", "--output", "json"], node].concat());
        let document: Value = serde_json::from_str(&outcome.stdout).unwrap();
        let resource = &document["resources"][0];
        assert_eq!(resource["resource"]["policy"]["overprovisioning_factor"], factor, "{document:#}");
        assert_eq!(resource["dynamic_parameter_constraints"], Value::Null, "{document:#}");
    }
}

#[test]
fn p13_a_whole_node_and_single_parts_of_it_are_sent() {
    let rules = RULE.replace("node.metadata.env", "node.cluster");
    let directory = directory(&[("weir.toml", &format!("{FILES}{rules}")), ("resources/x.yaml", ENDPOINTS)]);
    let server = Server::start(&directory.path().join("weir.toml"));
    let factor = |outcome: &Outcome| {
        let document: Value = serde_json::from_str(&outcome.stdout).unwrap_or_default();
        document["resources"][0]["resource"]["policy"]["overprovisioning_factor"].clone()
    };
    let arguments = ["get", "eds", "x", "-o", "json", "-s", server.address()];
    let parts = weir(&[&arguments[..], &["--node-id", "n", "--node-cluster", "test"]].concat());
    assert_eq!((parts.code, factor(&parts)), (0, 200.into()), "{parts:?}");
    let node = r#"{"id": "n", "cluster": "test"}"#;
    let whole = weir_reading(&[&arguments[..], &["--node-json", "-"]].concat(), node);
    assert_eq!((whole.code, factor(&whole)), (0, 200.into()), "{whole:?}");
    let by_environment =
        command(&["get", "eds", "x", "-p", "env=test"]).env("WEIR_SERVER", server.address()).output();
    assert!(by_environment.unwrap().status.success());
}

#[test]
fn i06_a_missing_resource_is_shown_and_is_exit_code_1() {
    let (_directory, server) = start();
    let outcome = get(&server, &["eds", "x", "nobody", "--param", "env=test"]);
    assert_eq!(
        (outcome.code, rows(&outcome)),
        (1, vec!["x env=test".to_owned(), "nobody -".to_owned()]),
        "{outcome:?}"
    );
    let outcome = get(&server, &["eds", "x", "--param", "env=qa", "--output", "json"]);
    assert_eq!(outcome.code, 1);
    let document: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(document["missing"][0], "x");
}

#[test]
fn f02_what_comes_can_be_served_from_files() {
    let (_directory, server) = start();
    let outcome = get(&server, &["eds", "x", "--param", "env=test", "--output", "yaml"]);
    let copy = directory(&[("weir.toml", FILES), ("resources/copy.yaml", &outcome.stdout)]);
    let path = copy.path().join("weir.toml");
    let explained =
        ["explain", "x", "--type", "eds", "--param", "env=test", "--config", path.to_str().unwrap()];
    let outcome = weir(&explained);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(outcome.stdout.contains("\nserved\n  env=test  "), "{}", outcome.stdout);
}

#[test]
fn changes_are_watched() {
    let (directory, mut server) = start();
    server.wait_for("resource files read");
    let arguments = [
        "get",
        "eds",
        "x",
        "--param",
        "env=prod",
        "--output",
        "json",
        "--watch",
        "--server",
        server.address(),
    ];
    let mut watching =
        Command::new(env!("CARGO_BIN_EXE_weir")).args(arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines().map(Result::unwrap);
    let first: String = lines.by_ref().take_while(|line| line != "}").collect();
    assert!(first.contains("\"name\": \"x\""), "{first}");

    let file = directory.path().join("resources/x.yaml");
    for (text, wanted) in [
        (
            ENDPOINTS.replace(
                "cluster_name: x }",
                "cluster_name: x, policy: { weighted_priority_health: true } }",
            ),
            "changed",
        ),
        ("resources: []".to_owned(), "removed"),
    ] {
        replace(&file, &text);
        let change: Value = serde_json::from_str(&lines.next().unwrap()).unwrap();
        assert_eq!((&change["name"], &change["change"]), (&"x".into(), &wanted.into()), "{change:#}");
    }
    watching.kill().unwrap();
    watching.wait().unwrap();
}

fn replace(file: &Path, text: &str) {
    let beside = file.with_extension("new");
    std::fs::write(&beside, text).unwrap();
    std::fs::rename(&beside, file).unwrap();
}

#[test]
fn a_server_that_is_away_is_one_line() {
    let outcome = weir(&["get", "cds", "--server", "127.0.0.1:1"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.starts_with("weir: http://127.0.0.1:1: "), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.lines().count(), 1);
}

#[test]
fn a_server_that_states_nothing_is_given_up() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let server = silent.local_addr().unwrap().to_string();
    let outcome = weir(&["get", "cds", "--server", &server, "--timeout", "100ms"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("no answer within 100ms"), "{}", outcome.stderr);
}

#[test]
fn ports_that_are_confused_are_named() {
    let config = format!("{FILES}[admin]\nlisten = '127.0.0.1:0'\n");
    let directory = directory(&[("weir.toml", &config), ("resources/x.yaml", ENDPOINTS)]);
    let server = Server::start(&directory.path().join("weir.toml"));
    for protocol in ["delta", "sotw"] {
        let outcome = weir(&["get", "cds", "--server", server.admin(), "--protocol", protocol]);
        let wanted = format!(
            "weir: http://{}: this is the admin interface of a Weir; --server is the address where clients connect, \
             [downstream] listen in the configuration\n",
            server.admin()
        );
        assert_eq!((outcome.code, outcome.stderr), (2, wanted));
    }
    let admin = format!("http://{}", server.address());
    for command in ["status", "resources", "log-level"] {
        let outcome = weir(&[command, "--admin", &admin]);
        let wanted = format!(
            "weir: {admin}: this is a gRPC port, where clients connect; --admin is the address of the admin interface, \
             [admin] listen in the configuration\n"
        );
        assert_eq!((outcome.code, outcome.stderr), (2, wanted));
    }
}
