//! The examples are valid, the reference is complete, and the documentation has the same keys.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use crate::parts::fields;
use crate::{
    AccessRule, Admin, AdminTls, Admission, AfterSubscribers, Cache, ColdStarts, Config, Debounce,
    Downstream, DownstreamTls, Drain, Export, Files, General, GuardedEndpoints, Limits, Locality, Log, Modes,
    Node, NodeRule, NodeTemplate, ParameterStreams, Polling, Prefetch, ShrinkGuard, Source, Store, Streaming,
    Telemetry, UpstreamTls,
};

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
    let Source::Files(Files { path, poll_interval: None }) = &upstream.source else { panic!("{upstream:?}") };
    assert_eq!(path, &repository().join("config/resources"));
    assert_eq!(config.node_rules[0].from.to_string(), "node.metadata.env");
}

#[test]
fn p15_the_default_node_of_a_set_is_this_node_with_the_values() {
    let config = crate::load(&repository().join("config/control-plane.toml")).unwrap();
    let Source::ControlPlane(control_plane) = &config.upstreams[0].source else { panic!() };
    let parameters = control_plane.parameters.as_ref().unwrap();
    assert_eq!((parameters.keys(), parameters.max_sets.get()), (&["env".to_owned()][..], 256));
    let NodeTemplate { id, cluster, metadata, .. } = parameters.node.clone();
    assert_eq!(
        (id.unwrap().to_string(), cluster.unwrap().to_string()),
        ("weir-1-{env}".into(), "edge".into())
    );
    assert_eq!(format!("{:?}", metadata.unwrap()["env"]), "Text(Template([Key(\"env\")]))");
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

#[test]
fn the_warm_start_has_a_store() {
    let config = crate::load(&repository().join("config/warm-start.toml")).unwrap();
    let store = config.store.unwrap();
    assert_eq!((store.max_size.get(), store.keep_unwanted.as_secs()), (1 << 30, 7 * 24 * 3600));
    assert_eq!((store.path.to_str(), store.key_file), (Some("/var/lib/weir/store"), None));
}

/// The keys of every table, from the structs that they are read into.
fn keys_of_structs() -> Vec<(&'static str, Vec<&'static str>)> {
    let upstream = [
        &["authority", "virtual_hosts"],
        fields::<Files>(),
        fields::<General>(),
        fields::<Modes>(),
        fields::<Streaming>(),
        fields::<Polling>(),
        fields::<ParameterStreams>(),
        fields::<AfterSubscribers>(),
    ];
    vec![
        ("node", fields::<Node>().into()),
        ("node.locality", fields::<Locality>().into()),
        ("log", fields::<Log>().into()),
        ("telemetry", fields::<Telemetry>().into()),
        ("downstream", fields::<Downstream>().into()),
        ("downstream.cold_start", fields::<ColdStarts>().into()),
        ("downstream.tls", fields::<DownstreamTls>().into()),
        ("admin", fields::<Admin>().into()),
        ("admin.tls", fields::<AdminTls>().into()),
        ("access", fields::<AccessRule>().into()),
        ("cache", fields::<Cache>().into()),
        ("limits", fields::<Limits>().into()),
        ("admission", fields::<Admission>().into()),
        ("drain", fields::<Drain>().into()),
        ("store", fields::<Store>().into()),
        ("upstream", upstream.concat()),
        ("upstream.node", fields::<NodeTemplate>().into()),
        ("upstream.node.locality", fields::<Locality>().into()),
        ("upstream.tls", fields::<UpstreamTls>().into()),
        ("upstream.shrink_guard", fields::<ShrinkGuard>().into()),
        ("upstream.shrink_guard.endpoints", fields::<GuardedEndpoints>().into()),
        ("upstream.debounce", fields::<Debounce>().into()),
        ("upstream.prefetch", fields::<Prefetch>().into()),
        ("dynamic_parameters", fields::<NodeRule>().into()),
        ("export", fields::<Export>().into()),
    ]
}

#[test]
fn the_reference_has_every_key() {
    let mut known = keys_of_reference();
    let structs = keys_of_structs();
    for (table, fields) in &structs {
        known.retain(|key| key != table);
        for field in fields {
            let key = format!("{table}.{field}");
            let is_table = structs.iter().any(|(table, _)| *table == key);
            assert!(known.remove(&key) || is_table, "config/reference.toml does not have {key}");
        }
    }
    assert_eq!(known, BTreeSet::new(), "config/reference.toml has keys that no section has");
    let mut sections = keys_of_reference();
    sections.retain(|key| !key.contains('.'));
    let error = crate::parse("unknown = 1", Path::new("x.toml")).unwrap_err().to_string();
    let message = error.lines().find(|line| line.contains("unknown key")).unwrap();
    let allowed = message.split('`').skip(3).step_by(2).map(str::to_owned).collect();
    assert_eq!(sections, allowed);
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
    let Source::ControlPlane(of_reference) = &reference.upstreams[0].source else { panic!() };
    let Source::ControlPlane(of_short) = &short.upstreams[0].source else { panic!() };
    // Examples, by the comments beside them.
    let general = General {
        shrink_guard: None,
        idle_timeout: None,
        new_subscriptions_per_second: None,
        prefetch: Vec::new(),
        ..of_reference.general.clone()
    };
    assert_eq!(general, of_short.general);
    assert_eq!(of_reference.modes, of_short.modes);
    assert_eq!(of_reference.exchange, of_short.exchange);
    assert_eq!(of_reference.after_subscribers, of_short.after_subscribers);
    let with_examples = Config {
        node: Node { id: reference.node.id.clone(), ..short.node.clone() },
        telemetry: Telemetry { endpoint: None, resource_attributes: BTreeMap::new(), ..reference.telemetry },
        downstream: Downstream {
            wrap_resources: HashMap::new(),
            tls: None,
            listen_plaintext: Vec::new(),
            max_connection_age: None,
            ..reference.downstream
        },
        limits: Limits {
            max_connections_per_address: None,
            max_streams_per_node: None,
            new_names_per_client: None,
            max_new_names_per_client: None,
            new_parameter_sets_per_client: None,
            max_new_parameter_sets_per_client: None,
            ..reference.limits
        },
        admission: Admission { new_streams_per_second: None, new_streams_burst: None, ..reference.admission },
        admin: None,
        store: None,
        upstreams: short.upstreams.clone(),
        node_rules: Vec::new(),
        access: Vec::new(),
        exports: Vec::new(),
        ..reference
    };
    assert_eq!(with_examples, short);
}
