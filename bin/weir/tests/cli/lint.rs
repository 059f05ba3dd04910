use serde_json::{Value, json};

use crate::{FILES, Outcome, directory, weir};

/// The variants of explain, and a name without a variant for some values.
fn lint(text: &str, arguments: &[&str]) -> Outcome {
    let directory = directory(&[("weir.toml", FILES), ("resources/x.yaml", text)]);
    let resources = directory.path().join("resources");
    let mut outcome = weir(&[&["lint", resources.to_str().unwrap()], arguments].concat());
    outcome.stdout = outcome.stdout.replace(&format!("{}/", directory.path().display()), "");
    outcome
}

#[test]
fn p12_each_fault_is_told_with_a_witness() {
    let outcome = lint(crate::explain::OVERLAPPING, &[]);
    let wanted = "\
overlap: cds x: both variants match {env=test}
  env=prod or env=test  resources/x.yaml:3
  env=qa or env=test  resources/x.yaml:5
keys: cds x: its variants are constrained by different keys
  env:
    env=prod or env=test  resources/x.yaml:3
    env=qa or env=test  resources/x.yaml:5
  env, version:
    env=dev and version=v1  resources/x.yaml:7
2 findings in 3 variants of 1 name
";
    assert_eq!((outcome.code, outcome.stdout.as_str()), (1, wanted));
}

#[test]
fn p12_values_that_only_others_have_are_not_covered() {
    let text = "
resources:
- constraints: { env: prod }
  resource: { '@type': type.googleapis.com/envoy.config.cluster.v3.Cluster, name: a }
- constraints: { env: test }
  resource: { '@type': type.googleapis.com/envoy.config.cluster.v3.Cluster, name: a }
- constraints: { env: prod }
  resource: { '@type': type.googleapis.com/envoy.config.cluster.v3.Cluster, name: b }
";
    let outcome = lint(text, &[]);
    let wanted =
        "uncovered: cds b: there is no variant for\n  {env=test}\n1 finding in 3 variants of 2 names\n";
    assert_eq!((outcome.code, outcome.stdout.as_str()), (1, wanted));
    let outcome = lint(text, &["--allow", "uncovered"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, "nothing is wrong with 3 variants of 2 names\n"));
    let outcome = lint(text, &["--type", "eds"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, "no resources were found\n"));
    let document = lint(text, &["--output", "json"]).stdout;
    let document: Value = serde_json::from_str(&document).unwrap();
    let finding =
        json!({ "kind": "uncovered", "type": "cds", "name": "b", "witnesses": [{ "env": "test" }] });
    assert_eq!((&document["findings"], &document["names"]), (&json!([finding]), &json!(2)));
    let yaml = lint(text, &["--output", "yaml"]).stdout;
    assert_eq!(serde_saphyr::from_str::<Value>(&yaml).unwrap(), document);
}

#[test]
fn f01_a_bad_file_is_a_finding() {
    let outcome = lint("resources: [{ constraints: 1 }]", &[]);
    assert_eq!(outcome.code, 1);
    assert!(outcome.stdout.starts_with("bad file: resources/x.yaml:1: "), "{outcome:?}");
}

#[test]
fn a_resource_that_envoy_rejects_is_a_finding() {
    let text = "\
resources:
- '@type': type.googleapis.com/envoy.config.cluster.v3.Cluster
  name: a
  connect_timeout: 0s
";
    let outcome = lint(text, &[]);
    let wanted = "invalid: cds a: resources/x.yaml:4: connect_timeout: must be greater than 0s (got 0s)\n\
                  1 finding in 1 variant of 1 name\n";
    assert_eq!((outcome.code, outcome.stdout.as_str()), (1, wanted));
    let document: Value = serde_json::from_str(&lint(text, &["--output", "json"]).stdout).unwrap();
    let reason = "connect_timeout: must be greater than 0s (got 0s)";
    let finding = json!({ "kind": "invalid", "type": "cds", "name": "a", "at": "resources/x.yaml:4", "reason": reason });
    assert_eq!(document["findings"], json!([finding]));
    assert_eq!(lint(text, &["--allow", "invalid"]).code, 0);
}

#[test]
fn the_examples_are_clean() {
    let outcome = weir(&["lint", "--config", "config/quickstart.toml"]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
}

#[test]
fn what_cannot_be_looked_at_is_trouble() {
    for (arguments, wanted) in [
        (&["lint", "nowhere"][..], "weir: cannot read resource files from nowhere: "),
        (
            &["lint", "--config", "config/control-plane.toml"],
            "weir: config/control-plane.toml: no upstream has files; ",
        ),
        (&["lint", "--admin", "http://127.0.0.1:1"], "weir: ask http://127.0.0.1:1/resources: "),
    ] {
        let outcome = weir(arguments);
        assert_eq!(outcome.code, 2, "{outcome:?}");
        assert!(outcome.stderr.starts_with(wanted), "{outcome:?}");
    }
}
