use crate::{FILES, directory, weir};

#[test]
fn every_example_is_good() {
    for example in ["quickstart", "control-plane", "warm-start"] {
        let path = format!("config/{example}.toml");
        let outcome = weir(&["check", "--config", &path]);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{outcome:?}");
        assert!(outcome.stdout.ends_with(&format!("\n{path} is valid\n")), "{}", outcome.stdout);
        let mut warnings = outcome.stdout.lines().filter(|line| line.contains("warning"));
        assert!(warnings.all(|line| line.contains("/var/lib/weir/store")), "{}", outcome.stdout);
    }
}

#[test]
fn all_that_the_reference_lacks_is_the_files_that_it_names() {
    let outcome = weir(&["check", "--config", "config/reference.toml"]);
    let problems: Vec<_> = outcome.stdout.lines().filter(|line| line.starts_with("problem: ")).collect();
    let missing =
        |problem: &&str| problem.ends_with(": it cannot be read: No such file or directory (os error 2)");
    assert!(!problems.is_empty() && problems.iter().all(missing), "{problems:#?}");
}

#[test]
fn what_was_understood_is_shown() {
    let outcome = weir(&["check", "--config", "config/control-plane.toml"]);
    let wanted = "\
node     weir-1 in cluster edge
clients  0.0.0.0:18000
admin    127.0.0.1:19000

upstream for names without an authority
  endpoints   http://127.0.0.1:18001
  protocol    aggregated, incremental
  parameters  env: a stream for each set, 256 at most, as node weir-1-{env}

1 rule for clients that send no parameters
  env  node.metadata.env by ^(prod|test)$, else \"prod\"

config/control-plane.toml is valid
";
    assert_eq!(outcome.stdout, wanted);
}

#[test]
fn p21_what_of_a_client_goes_upstream_is_shown() {
    let text = "[downstream]\nlisten = ['127.0.0.1:1']\ntls = { certificate = 'c', key = 'k', client_ca = 'a' }\n\
                [[upstream]]\nendpoints = ['http://127.0.0.1:1']\nnode.forward = ['id', 'metadata.a']\n\
                headers.x = 'Bearer hush {identity.spiffe}'\n";
    let directory = directory(&[("weir.toml", text)]);
    let path = directory.path().join("weir.toml");
    let shown = weir(&["check", "--config", path.to_str().unwrap()]).stdout;
    for wanted in [
        "  parameters  weir.node: a stream for each set, 256 at most, as node {node.id}\n",
        "  forwarded   id, metadata.a of each client\n",
        "  in headers  identity.spiffe of each client\n",
    ] {
        assert!(shown.contains(wanted), "{shown}");
    }
    assert!(!shown.contains("hush"), "{shown}");
}

#[test]
fn what_is_written_and_who_may_connect_is_shown() {
    let text = "[store]\npath = 'nowhere/store'\npersist_secrets = true\nkey_file = 'store.key'\n\
                [[export]]\ntype = 'cds'\nto = 'nowhere/cds.yaml'\n[[access]]\n";
    let directory = directory(&[("weir.toml", &format!("{FILES}{text}")), ("store.key", "no key")]);
    let path = directory.path().join("weir.toml");
    let outcome = weir(&["check", "--config", path.to_str().unwrap()]);
    assert_eq!(outcome.code, 1, "{outcome:?}");
    let shown: Vec<_> = outcome.stdout.lines().collect();
    let nowhere = directory.path().join("nowhere");
    for wanted in [
        &format!("store    {}", nowhere.join("store").display()),
        "access   1 rule",
        &format!("warning: store.path: there is no directory for {}", nowhere.join("store").display()),
        &format!("warning: export[0].to: there is no directory for {}", nowhere.join("cds.yaml").display()),
    ] {
        assert!(shown.contains(&wanted), "{wanted}\n{}", outcome.stdout);
    }
    assert!(outcome.stdout.contains("\nproblem: store.key_file: "), "{}", outcome.stdout);
}

#[test]
fn a_configuration_that_cannot_be_read_is_no_answer() {
    let outcome = weir(&["check", "--output", "json", "--config", "/none/weir.toml"]);
    let document: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((outcome.code, &document["valid"]), (2, &false.into()), "{outcome:?}");
    assert_eq!(outcome.stderr, "weir: /none/weir.toml: No such file or directory (os error 2)\n");
}

#[test]
fn a_bad_configuration_is_sent_with_line_and_key() {
    for (text, wanted) in [
        (
            "[downstream]\nlisten = ['x']\n[[upstream]]\nfiles = 'x'\n",
            "2: downstream.listen[0]: \"x\" is not a socket address;",
        ),
        (
            "[downstream]\nlisten = ['127.0.0.1:1']\nport = 1\n[[upstream]]\nfiles = 'x'\n",
            "3: downstream.port: unknown key `port`, expected",
        ),
        (&format!("{FILES}{FILES}"), "7: downstream: duplicate key"),
        (
            &format!("{FILES}[[upstream]]\nfiles = 'x'\n"),
            "6: upstream[1].authority: must be another authority than upstream[0].authority (got \"\")",
        ),
        (
            "[downstream]\nlisten = ['127.0.0.1:1']\n[[upstream]]\nendpoints = ['http://a']\nprotocol = 'x'\n",
            "5: upstream[0].protocol: unknown variant `x`, expected one of `ads-delta`, `ads-sotw`,",
        ),
    ] {
        let directory = directory(&[("weir.toml", text)]);
        let path = directory.path().join("weir.toml");
        let outcome = weir(&["check", "--config", path.to_str().unwrap()]);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (1, ""), "{outcome:?}");
        let found = outcome.stderr.strip_prefix(&format!("weir: {}:", path.display()));
        assert!(found.is_some_and(|found| found.starts_with(wanted)), "{wanted}\n{}", outcome.stderr);
    }
}

#[test]
fn f01_a_bad_resource_file_is_told_with_line_and_reason() {
    let bad = "resources:\n- '@type': type.googleapis.com/envoy.config.cluster.v3.Cluster\n  nam: x\n";
    let directory = directory(&[("weir.toml", FILES), ("resources/bad.yaml", bad)]);
    let path = directory.path().join("weir.toml");
    let outcome = weir(&["check", "--config", path.to_str().unwrap()]);
    assert_eq!(outcome.code, 1);
    let file = directory.path().join("resources/bad.yaml");
    let found = outcome.stdout.lines().find_map(|line| line.strip_prefix("  error: "));
    let found = found.unwrap_or_else(|| panic!("{}", outcome.stdout));
    assert!(found.starts_with(&format!("{}:3: ", file.display())) && found.contains("nam"), "{found}");
    assert!(outcome.stdout.ends_with("weir.toml is bad\n"), "{}", outcome.stdout);
}

#[test]
fn a_missing_directory_is_sent() {
    let directory = directory(&[("weir.toml", FILES)]);
    let path = directory.path().join("weir.toml");
    let outcome = weir(&["check", "--config", path.to_str().unwrap()]);
    assert_eq!(outcome.code, 1);
    assert!(outcome.stdout.contains("  error: cannot read resource files from "), "{}", outcome.stdout);
}

#[test]
fn p12_overlapping_variants_are_warned_of_with_a_witness() {
    let directory = directory(&[("weir.toml", FILES), ("resources/x.yaml", crate::explain::OVERLAPPING)]);
    let path = directory.path().join("weir.toml");
    let outcome = weir(&["check", "--config", path.to_str().unwrap()]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let wanted = "both variants of cds x match {env=test}\n";
    assert!(outcome.stdout.contains("  warning: ") && outcome.stdout.contains(wanted), "{}", outcome.stdout);
}

#[test]
fn what_is_wrong_is_a_document_too() {
    let bad = "resources: [{ constraints: 1 }]";
    let directory = directory(&[
        ("weir.toml", FILES),
        ("resources/x.yaml", crate::explain::OVERLAPPING),
        ("resources/bad.yaml", bad),
    ]);
    let path = directory.path().join("weir.toml");
    let outcome = weir(&["check", "--output", "json", "--config", path.to_str().unwrap()]);
    let document: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((outcome.code, &document["valid"]), (1, &false.into()));
    assert!(document["problems"][0].as_str().unwrap().contains("resources/bad.yaml:1: "), "{document:#}");
    assert!(document["warnings"][0].as_str().unwrap().ends_with(" both variants of cds x match {env=test}"));
}

#[test]
fn a_directory_without_resource_files_is_warned_of() {
    let directory = directory(&[("weir.toml", FILES), ("resources/readme.txt", "")]);
    let path = directory.path().join("weir.toml");
    let outcome = weir(&["check", "--config", path.to_str().unwrap()]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(outcome.stdout.contains("resources: no resource file was found\n"), "{}", outcome.stdout);
}

#[test]
fn parameter_keys_that_no_rule_gives_are_warned_of() {
    let text = "
[downstream]
listen = ['127.0.0.1:0']

[[upstream]]
endpoints = ['http://127.0.0.1:1']
parameter_keys = ['env', 'zone']

[[dynamic_parameters]]
key = 'env'
from = 'node.cluster'
";
    let directory = directory(&[("weir.toml", text)]);
    let path = directory.path().join("weir.toml");
    let outcome = weir(&["check", "--config", path.to_str().unwrap()]);
    let warnings: Vec<_> = outcome.stdout.lines().filter(|line| line.starts_with("warning")).collect();
    let wanted = "warning: upstream[0].parameter_keys: no [[dynamic_parameters]] rule gives \"zone\"; only clients that send locators can have it";
    assert_eq!((outcome.code, warnings), (0, vec![wanted]), "{}", outcome.stdout);
}
