use std::fs;

use serde_json::Value;

use crate::server::Server;
use crate::{FILES, directory, weir};

const CLUSTERS: &str = r#"
- { "@type": type.googleapis.com/envoy.config.cluster.v3.Cluster, name: a, connect_timeout: 1s }
- { "@type": type.googleapis.com/envoy.config.cluster.v3.Cluster, name: b }
"#;

#[test]
fn f03_every_format_holds_what_the_server_sends() {
    let files = directory(&[("weir.toml", FILES), ("resources/x.yaml", CLUSTERS)]);
    let server = Server::start(&files.path().join("weir.toml"));
    for ending in ["yaml", "yml", "json", "pb", "pb_text", "textproto", "txtpb"] {
        let file = files.path().join(format!("cds.{ending}"));
        let path = file.to_str().unwrap();
        let outcome = weir(&["export", "cds", "--to", path, "--server", server.address()]);
        assert_eq!(outcome.code, 0, "{outcome:?}");

        // A server of that file sends the same.
        let config = format!("[downstream]\nlisten = ['127.0.0.1:0']\n[[upstream]]\nfiles = '{path}'\n");
        let second = directory(&[("weir.toml", &config)]);
        let second = Server::start(&second.path().join("weir.toml"));
        let get = |server: &Server| {
            let outcome = weir(&["get", "cds", "--server", server.address(), "--output", "json"]);
            serde_json::from_str::<Value>(&outcome.stdout).unwrap()
        };
        assert_eq!(get(&second), get(&server), "{ending}");
        assert_eq!(get(&second)["resources"].as_array().unwrap().len(), 2);
    }
}

#[test]
fn f03_what_cannot_be_written_is_said_and_changes_nothing() {
    let files = directory(&[("weir.toml", FILES), ("resources/x.yaml", CLUSTERS)]);
    let server = Server::start(&files.path().join("weir.toml"));
    let export = |arguments: &[&str], to: &str| {
        let to = files.path().join(to);
        let to = to.to_str().unwrap();
        weir(&[&["export", "--server", server.address(), "--to", to], arguments].concat())
    };
    let outcome = export(&["cds"], "cds.toml");
    assert_eq!(outcome.code, 2);
    assert!(
        outcome.stderr.contains("cds.toml: the file name has no known ending; use one of .yaml"),
        "{outcome:?}"
    );
    let outcome = export(&["cds"], "nowhere/cds.yaml");
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("nowhere/cds.yaml: No such file or directory"), "{outcome:?}");
    let outcome = export(&["cds", "a", "nobody"], "cds.json");
    assert_eq!(outcome.code, 1, "something named is missing, which is known: {outcome:?}");
    let text = fs::read_to_string(files.path().join("cds.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["resources"].as_array().unwrap().len(), 1);
}
