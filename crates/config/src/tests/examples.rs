//! The examples are valid, the reference is complete, and the documentation has the same keys.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use crate::{Downstream, Error, Limits, Parameters, Source, Telemetry};

pub(super) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(super) fn read(path: &str) -> String {
    std::fs::read_to_string(repository().join(path)).unwrap()
}

#[test]
fn every_example_is_valid() {
    let mut count = 0;
    for entry in std::fs::read_dir(repository().join("config")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            crate::load(&path).unwrap_or_else(|error| panic!("{error}"));
            count += 1;
        }
    }
    assert!(count >= 3);
}

#[test]
fn f01_the_quickstart_serves_the_files_beside_it() {
    let config = crate::load(&repository().join("config/quickstart.toml")).unwrap();
    let [upstream] = &config.upstreams[..] else { panic!("{:?}", config.upstreams) };
    let Source::Files { path, poll_interval: None } = &upstream.source else { panic!("{upstream:?}") };
    assert_eq!(path, &repository().join("config/resources"));
    assert_eq!(config.node_rules[0].from.to_string(), "node.metadata.env");
}

#[test]
fn p15_the_default_node_of_a_set_is_this_node_with_the_values() {
    let config = crate::load(&repository().join("config/control-plane.toml")).unwrap();
    let Source::ControlPlane(control_plane) = &config.upstreams[0].source else { panic!() };
    let Parameters::Streams { keys, max_sets, node } = &control_plane.parameters else { panic!() };
    assert_eq!((keys.as_slice(), max_sets.get()), (&["env".to_owned()][..], 256));
    assert_eq!((node.id.to_string(), node.cluster.to_string()), ("weir-1-{env}".into(), "edge".into()));
    assert_eq!(format!("{:?}", node.metadata["env"]), "Text(Template([Key(\"env\")]))");
}

/// Dotted keys of all tables, without indices.
fn keys(prefix: &str, value: &toml::Value, found: &mut BTreeSet<String>) {
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                let key = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                if ![
                    "node.metadata",
                    "upstream.node.metadata",
                    "downstream.wrap_resources",
                    "upstream.headers",
                    "telemetry.resource_attributes",
                    "export.parameters",
                    "upstream.prefetch.parameter_sets",
                ]
                .contains(&prefix)
                {
                    keys(&key, value, found);
                    found.insert(key);
                }
            }
        }
        toml::Value::Array(items) => items.iter().for_each(|item| keys(prefix, item, found)),
        _ => {}
    }
}

pub(super) fn keys_of_reference() -> BTreeSet<String> {
    keys_of(&toml::from_str(&read("config/reference.toml")).unwrap())
}

/// The keys of a document.
pub(super) fn keys_of(document: &toml::Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    keys("", document, &mut found);
    found
}

/// What an unknown key in the table that starts with `header` could have been.
fn allowed(text: &str, header: &str) -> BTreeSet<String> {
    let unknown = text.replacen(&format!("\n{header}\n"), &format!("\n{header}\nunknown-key = 1\n"), 1);
    assert_ne!(text, unknown, "{header} is not in the reference");
    let Err(Error::Invalid { problems, .. }) = crate::parse(&unknown, Path::new("x.toml")) else { panic!() };
    let message = &problems[0].message;
    assert!(message.starts_with("unknown key `unknown-key`, expected "), "{message}");
    message.split('`').skip(3).step_by(2).map(str::to_owned).collect()
}

#[test]
fn the_warm_start_has_a_store() {
    let config = crate::load(&repository().join("config/warm-start.toml")).unwrap();
    let store = config.store.unwrap();
    assert_eq!((store.max_size.get(), store.keep_unwanted.as_secs()), (1 << 30, 7 * 24 * 3600));
    assert_eq!((store.path.to_str(), store.key_file), (Some("/var/lib/weir/store"), None));
}

#[test]
fn the_reference_has_every_key() {
    let text = read("config/reference.toml");
    let known = keys_of_reference();
    let of_table = |table: &str| -> BTreeSet<String> {
        let keys = known.iter().filter_map(|key| key.strip_prefix(table)?.strip_prefix('.'));
        keys.filter(|key| !key.contains('.')).map(str::to_owned).collect()
    };
    for (header, table) in [
        ("[node]", "node"),
        ("[log]", "log"),
        ("[telemetry]", "telemetry"),
        ("[downstream]", "downstream"),
        ("[downstream.tls]", "downstream.tls"),
        ("[admin]", "admin"),
        ("[admin.tls]", "admin.tls"),
        ("[[access]]", "access"),
        ("[cache]", "cache"),
        ("[limits]", "limits"),
        ("[admission]", "admission"),
        ("[drain]", "drain"),
        ("[store]", "store"),
        ("[[upstream]]", "upstream"),
        ("[upstream.node]", "upstream.node"),
        ("[upstream.tls]", "upstream.tls"),
        ("[[dynamic_parameters]]", "dynamic_parameters"),
        ("[[export]]", "export"),
    ] {
        assert_eq!(of_table(table), allowed(&text, header), "{header}");
    }
    let top: BTreeSet<_> = known.iter().filter(|key| !key.contains('.')).cloned().collect();
    assert_eq!(top, allowed(&format!("\n# top\n{text}"), "# top"));
    let locality = text.replacen("region = ", "unknown-key = 1, region = ", 1);
    let error = crate::parse(&locality, Path::new("x.toml")).unwrap_err().to_string();
    assert!(error.ends_with("expected one of `region`, `zone`, `sub_zone`"), "{error}");
    assert_eq!(of_table("node.locality").len(), 3);
}

#[test]
fn the_documentation_has_the_keys_of_the_reference() {
    let text = read("docs/configuration.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let documented: BTreeSet<_> = rows.map(str::to_owned).collect();
    let tables = [
        "node",
        "log",
        "telemetry",
        "downstream",
        "admin",
        "cache",
        "limits",
        "admission",
        "drain",
        "store",
        "upstream",
        "dynamic_parameters",
        "export",
        "access",
    ];
    let known = keys_of_reference().into_iter().filter(|key| !tables.contains(&key.as_str())).collect();
    assert_eq!(documented, known);
}

#[test]
fn the_reference_shows_the_defaults() {
    let reference = crate::load(&repository().join("config/reference.toml")).unwrap();
    let short = "
        downstream.listen = ['0.0.0.0:18000']
        [[upstream]]
        endpoints = ['http://127.0.0.1:18001']
        acknowledge = 'after-subscribers'
    ";
    let short = crate::parse(short, Path::new("x.toml")).unwrap();
    assert_eq!(reference.node.id, short.node.id);
    for (a, b) in [
        (format!("{:?}", reference.log), format!("{:?}", short.log)),
        (
            format!(
                "{:?}",
                Telemetry { endpoint: None, resource_attributes: BTreeMap::new(), ..reference.telemetry }
            ),
            format!("{:?}", short.telemetry),
        ),
        (
            format!(
                "{:?}",
                Downstream {
                    wrap_resources: HashMap::new(),
                    tls: None,
                    listen_plaintext: Vec::new(),
                    max_connection_age: None,
                    ..reference.downstream
                }
            ),
            format!("{:?}", short.downstream),
        ),
        (format!("{:?}", reference.cache), format!("{:?}", short.cache)),
        (
            format!(
                "{:?}",
                Limits {
                    max_connections_per_address: None,
                    max_streams_per_node: None,
                    new_names_per_client: None,
                    max_new_names_per_client: None,
                    new_parameter_sets_per_client: None,
                    max_new_parameter_sets_per_client: None,
                    ..reference.limits
                }
            ),
            format!("{:?}", short.limits),
        ),
        (
            format!("{:?}", (reference.admission.max_first_responses, reference.admission.retry_after)),
            format!("{:?}", (short.admission.max_first_responses, short.admission.retry_after)),
        ),
        (format!("{:?}", reference.drain), format!("{:?}", short.drain)),
    ] {
        assert_eq!(a, b);
    }
    let (Source::ControlPlane(a), Source::ControlPlane(b)) =
        (&reference.upstreams[0].source, &short.upstreams[0].source)
    else {
        panic!()
    };
    assert_eq!(
        (a.protocol, a.connect_timeout, a.backoff_base),
        (b.protocol, b.connect_timeout, b.backoff_base)
    );
    assert_eq!((a.backoff_max, a.max_response_size), (b.backoff_max, b.max_response_size));
    assert_eq!(a.acknowledge, b.acknowledge);
    assert_eq!(a.does_not_exist_timeout, b.does_not_exist_timeout);
    assert_eq!(a.node_on_first_message_only, b.node_on_first_message_only);
    assert_eq!((a.keepalive_interval, a.keepalive_timeout), (b.keepalive_interval, b.keepalive_timeout));
}
