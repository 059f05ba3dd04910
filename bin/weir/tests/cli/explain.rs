use crate::{FILES, Outcome, directory, weir, weir_reading};

/// Three variants of a cluster, two of which have a value in common.
pub(crate) const OVERLAPPING: &str = r#"
resources:
- constraints: { env: [prod, test] }
  resource: { "@type": type.googleapis.com/envoy.config.cluster.v3.Cluster, name: x }
- constraints: { env: [qa, test] }
  resource: { "@type": type.googleapis.com/envoy.config.cluster.v3.Cluster, name: x }
- constraints: { env: dev, version: v1 }
  resource: { "@type": type.googleapis.com/envoy.config.cluster.v3.Cluster, name: x }
"#;

const RULES: &str = "
[[dynamic_parameters]]
key = 'env'
from = 'node.metadata.env'
pattern = '^[a-z]+'
default = 'dev'
[[dynamic_parameters]]
key = 'version'
from = 'node.id'
fill_locators = true
";

fn explain(arguments: &[&str]) -> Outcome {
    let config = format!("{FILES}{RULES}");
    let directory = directory(&[("weir.toml", &config), ("resources/x.yaml", OVERLAPPING)]);
    let path = directory.path().join("weir.toml");
    let fixed = ["explain", "x", "--type", "cds", "--config", path.to_str().unwrap()];
    let mut outcome = weir(&[&fixed, arguments].concat());
    outcome.stdout = outcome.stdout.replace(&format!("{}/", directory.path().display()), "");
    outcome
}

#[test]
fn p12_the_variant_that_is_served_and_those_that_are_not() {
    let outcome = explain(&["--param", "env=test"]);
    let wanted = "\
parameters {env=test}
  env=test    sent by the client
  no version  node.id is not set (dynamic_parameters[1])

served
  env=prod or env=test  resources/x.yaml:3

also matching, but less preferred
  env=qa or env=test  resources/x.yaml:5

not matching
  env=dev and version=v1  resources/x.yaml:7  needs env=dev, the client has env=test

overlapping
  resources/x.yaml:3 and resources/x.yaml:5: both match {env=test}
";
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, wanted));
}

#[test]
fn p13_the_rules_that_gave_the_parameters() {
    for (arguments, wanted) in [
        (
            &["--node-metadata", "env=qa-7", "--node-id", "n"][..],
            "parameters {env=qa, version=n}\n  \
             env=qa     node.metadata.env is \"qa-7\" for n, which matches ^[a-z]+ (dynamic_parameters[0])\n  \
             version=n  node.id is \"n\" for n (dynamic_parameters[1])\n",
        ),
        (
            &["--node-metadata", "env=7"],
            "parameters {env=dev}\n  \
             env=dev     the default: node.metadata.env is \"7\", which does not match ^[a-z]+ (dynamic_parameters[0])\n  \
             no version  node.id is not set (dynamic_parameters[1])\n",
        ),
        (
            &["--param", "env=prod", "--node-id", "v2"],
            "parameters {env=prod, version=v2}\n  env=prod    sent by the client\n  \
             version=v2  node.id is \"v2\" for v2 (dynamic_parameters[1])\n",
        ),
    ] {
        let outcome = explain(arguments);
        assert!(outcome.stdout.starts_with(wanted), "{wanted}\n{}", outcome.stdout);
    }
}

#[test]
fn p13_a_node_may_come_from_a_file_or_standard_input_and_an_identity_beside_it() {
    let rules = "
[downstream.tls]
certificate = 'weir.pem'
key = 'weir.key'
client_ca = 'ca.pem'
[[dynamic_parameters]]
key = 'env'
from = 'identity.spiffe'
pattern = '^spiffe://([a-z]+)[.]example/'
enforce = true
[[dynamic_parameters]]
key = 'version'
from = 'node.cluster'
";
    let config = format!("{FILES}{rules}");
    let node = r#"{"id": "n", "cluster": "v1", "metadata": {"team": "shop"}, "extensions": [{"name": "x"}]}"#;
    let files =
        [("weir.toml", &*config), ("resources/x.yaml", OVERLAPPING), ("node.json", node), ("bad.json", "{")];
    let directory = directory(&files);
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (config, file, bad) = (path("weir.toml"), path("node.json"), path("bad.json"));
    let fixed =
        ["explain", "x", "--type", "cds", "--config", &config, "--identity", "spiffe://dev.example/web"];
    let ask = |arguments: &[&str], input: &str| weir_reading(&[&fixed, arguments].concat(), input);
    let other = ["--identity", "web.example"];
    for (outcome, node) in [
        (ask(&["--node-json", &file], ""), "n"),
        (ask(&[&["--node-json", "-"], &other[..]].concat(), node), "n"),
        (ask(&["--node-id", "m", "--node-cluster", "v1"], ""), "m"),
    ] {
        let wanted = format!(
            "parameters {{env=dev, version=v1}}\n  \
             env=dev     identity.spiffe is \"spiffe://dev.example/web\" for {node}, which matches \
             ^spiffe://([a-z]+)[.]example/ (dynamic_parameters[0])\n  \
             version=v1  node.cluster is \"v1\" for {node} (dynamic_parameters[1])\n"
        );
        assert!(outcome.code == 0 && outcome.stdout.starts_with(&wanted), "{wanted}\n{outcome:?}");
    }
    let outcome = ask(&["--node-json", &bad], "");
    assert_eq!((outcome.code, outcome.stderr.lines().count()), (2, 1), "{outcome:?}");
    assert!(outcome.stderr.contains("bad.json"), "{outcome:?}");
}

#[test]
fn nothing_served_is_exit_code_1() {
    let outcome = explain(&["--param", "env=none"]);
    assert_eq!(outcome.code, 1);
    assert!(outcome.stdout.contains("\nnothing is served: no variant matches\n"), "{}", outcome.stdout);
    let outcome = weir(&["explain", "nobody", "--type", "cds", "--config", "config/quickstart.toml"]);
    assert_eq!(outcome.code, 1);
    assert!(
        outcome.stdout.contains("\nnot found: there is no resource of this name\n"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn files_of_control_planes_cannot_be_explained() {
    for (name, config, wanted) in [
        (
            "x",
            "control-plane",
            "weir: resources of authority \"\" come from a control plane; ask a running instance: \
             leave out --config\n",
        ),
        ("xdstp://a/b/c", "quickstart", "weir: no upstream has authority \"a\"\n"),
    ] {
        let config = format!("config/{config}.toml");
        let outcome = weir(&["explain", name, "--type", "cds", "--config", &config]);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (2, wanted));
    }
}

#[test]
fn what_is_explained_is_a_document_too() {
    let outcome = explain(&["--param", "env=test", "--output", "json"]);
    let document: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(
        (&document["outcome"], &document["chosen"]["at"]),
        (&"served".into(), &"resources/x.yaml:3".into())
    );
    assert_eq!(document["overlaps"][0]["witness"]["env"], "test");
    assert_eq!(document["parameters"][1]["origin"]["rule"], 1);
    let yaml = explain(&["--param", "env=test", "--output", "yaml"]).stdout;
    assert_eq!(serde_saphyr::from_str::<serde_json::Value>(&yaml).unwrap(), document);
}

#[test]
fn a_node_is_for_files() {
    let outcome = weir(&["explain", "x", "--type", "cds", "--node-id", "n"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.starts_with("weir: a node is for --config: "), "{outcome:?}");
    let outcome = weir(&["explain", "x", "--type", "cds", "--client", "n", "--param", "a=b"]);
    assert_eq!(outcome.code, 2, "{outcome:?}");
}
