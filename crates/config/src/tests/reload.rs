//! The table of what a changed file changes, against the reference and the documentation.

use std::path::Path;

use super::examples::{keys_of_reference, read};
use crate::{Config, Counts, SETTINGS, in_force};

fn parse(text: &str) -> Config {
    crate::parse(text, Path::new("config/reference.toml")).unwrap_or_else(|error| panic!("{error}"))
}

/// Whether a row is about a key of the reference.
fn covers(row: &str, key: &str) -> bool {
    key.strip_prefix(row).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[test]
fn each_key_has_one_row() {
    let known = keys_of_reference();
    let is_table = |key: &String| known.iter().any(|other| other.starts_with(&format!("{key}.")));
    for key in known.iter().filter(|key| !is_table(key)) {
        let rows: Vec<_> = SETTINGS.iter().map(|row| row.key).filter(|row| covers(row, key)).collect();
        let states_most = rows.iter().map(|row| row.len()).max();
        let rows: Vec<_> = rows.into_iter().filter(|row| Some(row.len()) == states_most).collect();
        assert_eq!(rows.len(), 1, "{key} has {rows:?}: add it to the table in crates/config/src/reload.rs");
    }
    for row in SETTINGS {
        assert!(known.iter().any(|key| covers(row.key, key)), "there is no {}", row.key);
    }
}

#[test]
fn the_documentation_has_the_same_table() {
    let page = read("docs/reload.md");
    let written: Vec<_> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let wanted: Vec<_> =
        SETTINGS.iter().map(|row| format!("| `{}` | {} |", row.key, row.counts.as_str())).collect();
    assert_eq!(written, wanted);
}

#[test]
fn a_row_notices_its_key_and_no_other() {
    let text = read("config/reference.toml");
    let before = parse(&text);
    for row in SETTINGS {
        assert!(!row.differs(&before, &parse(&text)), "{} differs from itself", row.key);
    }
    let mut unnoticed: Vec<_> = SETTINGS.iter().map(|row| row.key).collect();
    for (from, to, noticed) in [
        ("cluster = \"edge\"  ", "cluster = \"core\"  ", &["node", "upstream.node"][..]),
        ("level = \"info\"", "level = \"warn\"", &["log.level"]),
        ("format = \"auto\"", "format = \"json\"", &["log.format"]),
        ("sample_ratio = 0.01", "sample_ratio = 0.5", &["telemetry"]),
        ("0.0.0.0:18000", "0.0.0.0:18009", &["downstream.listen"]),
        ("max_request_size = \"64MiB\"", "max_request_size = \"1MiB\"", &["downstream.max_request_size"]),
        ("max_response_size = \"4MiB\"", "max_response_size = \"1MiB\"", &["downstream.max_response_size"]),
        (
            "keepalive_interval = \"30s\"  ",
            "keepalive_interval = \"31s\"  ",
            &["downstream.keepalive_interval"],
        ),
        ("keepalive_timeout = \"10s\"  ", "keepalive_timeout = \"11s\"  ", &["downstream.keepalive_timeout"]),
        ("127.0.0.1:18443", "127.0.0.1:18444", &["downstream.listen_plaintext"]),
        ("max_handshakes = 1024", "max_handshakes = 1025", &["downstream.tls"]),
        ("names = [\"shop-*\"]", "names = [\"bank-*\"]", &["access"]),
        ("rest_hold = \"30s\"", "rest_hold = \"31s\"", &["downstream.rest_hold"]),
        ("csds = \"loopback\"", "csds = \"off\"", &["downstream.csds"]),
        ("reflection = false", "reflection = true", &["downstream.reflection"]),
        ("ready_when = \"warm\"", "ready_when = \"in-sync\"", &["downstream.ready_when"]),
        ("receive_timeout = \"30s\"", "receive_timeout = \"31s\"", &["downstream.receive_timeout"]),
        ("stall_timeout = \"5m\"", "stall_timeout = \"6m\"", &["downstream.stall_timeout"]),
        ("warming_timeout = \"1s\"", "warming_timeout = \"2s\"", &["downstream.warming_timeout"]),
        (
            "first_response_timeout = \"1s\"",
            "first_response_timeout = \"2s\"",
            &["downstream.first_response_timeout"],
        ),
        ("max_connection_age = \"30m\"", "max_connection_age = \"31m\"", &["downstream.max_connection_age"]),
        ("{ envoy = false }", "{ envoy = true }", &["downstream.wrap_resources"]),
        ("grpc = \"close\"", "grpc = \"error\"", &["downstream.cold_start"]),
        ("127.0.0.1:19000", "127.0.0.1:19009", &["admin"]),
        ("token_file = \"admin.token\"", "token_file = \"other\"", &["admin.token_file"]),
        ("\"admin-change.token\"", "\"other\"", &["admin.change_token_file"]),
        ("\"operators-ca.pem\"", "\"other\"", &["admin.tls"]),
        ("read = [\"spiffe://prod.example", "read = [\"spiffe://test.example", &["admin.tls.read"]),
        ("change = [\"spiffe://prod.example", "change = [\"spiffe://test.example", &["admin.tls.change"]),
        ("idle_timeout = \"60s\"", "idle_timeout = \"61s\"", &["cache"]),
        ("max_name_length = 4096", "max_name_length = 4097", &["limits.max_name_length"]),
        ("max_names = 100000", "max_names = 100001", &["limits.max_names"]),
        ("max_connections = 100000", "max_connections = 100001", &["limits.max_connections"]),
        ("per_address = 100 ", "per_address = 101 ", &["limits.max_connections_per_address"]),
        ("max_streams = 1000000", "max_streams = 1000001", &["limits.max_streams"]),
        ("per_connection = 1000 ", "per_connection = 1001 ", &["limits.max_streams_per_connection"]),
        ("per_node = 100 ", "per_node = 101 ", &["limits.max_streams_per_node"]),
        ("max_load_streams = 10000", "max_load_streams = 10001", &["limits.max_load_streams"]),
        ("load_reports = \"off\"", "load_reports = \"relay\"", &["upstream"]),
        ("max_node_size = \"1MiB\"", "max_node_size = \"2MiB\"", &["limits.max_node_size"]),
        ("names_per_stream = 100000", "names_per_stream = 100001", &["limits.max_names_per_stream"]),
        ("locators_per_name = 1000 ", "locators_per_name = 1001 ", &["limits.max_locators_per_name"]),
        ("types_per_stream = 100 ", "types_per_stream = 101 ", &["limits.max_types_per_stream"]),
        (
            "max_partial_requests = \"256MiB\"",
            "max_partial_requests = \"257MiB\"",
            &["limits.max_partial_requests"],
        ),
        ("max_handshakes = 10000", "max_handshakes = 10001", &["limits.max_handshakes"]),
        (
            "\nnew_names_per_client = 1000 ",
            "\nnew_names_per_client = 1001 ",
            &["limits.new_names_per_client"],
        ),
        (
            "max_new_names_per_client = 10000 ",
            "max_new_names_per_client = 10001 ",
            &["limits.max_new_names_per_client"],
        ),
        (
            "\nnew_parameter_sets_per_client = 1 ",
            "\nnew_parameter_sets_per_client = 2 ",
            &["limits.new_parameter_sets_per_client"],
        ),
        (
            "max_new_parameter_sets_per_client = 10 ",
            "max_new_parameter_sets_per_client = 11 ",
            &["limits.max_new_parameter_sets_per_client"],
        ),
        ("per_second = 2000", "per_second = 2001", &["admission.new_streams_per_second"]),
        ("new_streams_burst = 4000", "new_streams_burst = 4001", &["admission.new_streams_burst"]),
        ("max_first_responses = 1024", "max_first_responses = 1025", &["admission.max_first_responses"]),
        ("retry_after = \"1s\"", "retry_after = \"2s\"", &["admission.retry_after"]),
        ("delay = \"0s\"", "delay = \"1s\"", &["drain.delay"]),
        ("over = \"15s\"", "over = \"16s\"", &["drain.over"]),
        ("grace = \"1s\"", "grace = \"2s\"", &["drain.grace"]),
        ("keep_unwanted = \"168h\"", "keep_unwanted = \"1h\"", &["store"]),
        ("default = \"prod\"", "default = \"test\"", &["dynamic_parameters"]),
        ("to = \"export/cds.yaml\"", "to = \"export/cds.json\"", &["export"]),
        ("backoff_max = \"30s\"", "backoff_max = \"31s\"", &["upstream"]),
        ("max_parameter_sets = 256", "max_parameter_sets = 255", &["upstream"]),
        ("protocol = \"ads-delta\"", "protocol = \"delta\"", &["upstream.protocol"]),
        ("transport = \"v3\"", "transport = \"v2\"", &["upstream.transport"]),
        ("parameter_keys = [\"env\"]", "parameter_keys = [\"env\", \"a\"]", &["upstream.parameter_keys"]),
        (
            "headers = {",
            "dynamic_parameters = \"native\"\nheaders = {",
            &["upstream", "upstream.dynamic_parameters", "upstream.parameter_keys", "upstream.node"],
        ),
        ("virtual_hosts = \"on-demand\"", "virtual_hosts = \"wildcard\"", &["upstream.virtual_hosts"]),
        ("files = \"resources\"", "files = \"others\"", &["upstream.files"]),
        ("poll_interval = \"30s\"", "poll_interval = \"31s\"", &["upstream.poll_interval"]),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from} is not in the reference");
        let after = parse(&changed);
        let differing: Vec<_> =
            SETTINGS.iter().filter(|row| row.differs(&before, &after)).map(|row| row.key).collect();
        assert_eq!(differing, noticed, "{to}");
        let next = in_force(&before, &after);
        let rows = || SETTINGS.iter().filter(|row| noticed.contains(&row.key));
        let waits = rows().any(|row| row.counts == Counts::Restart);
        for row in rows() {
            let (applied, pending) = (row.differs(&before, &next), row.differs(&next, &after));
            assert_eq!((applied, pending), (!waits, waits), "{}: {to}", row.key);
        }
        unnoticed.retain(|key| !noticed.contains(key));
    }
    assert!(unnoticed.is_empty(), "add to this test: {unnoticed:?}");
}

/// Which keys are applied where the file had the one and has the other, and which wait.
fn apply(running: &str, file: &str) -> (String, String) {
    let of = |more: &str| {
        crate::parse(&format!("[downstream]\nlisten = [\"127.0.0.1:1\"]\n{more}"), Path::new("x.toml"))
            .unwrap_or_else(|error| panic!("{error}"))
    };
    let differing = |one: &Config, other: &Config, counts: &dyn Fn(Counts) -> bool| {
        let rows = SETTINGS.iter().filter(|row| counts(row.counts) && row.differs(one, other));
        rows.map(|row| row.key).collect::<Vec<_>>().join(",")
    };
    let (running, file) = (of(running), of(file));
    let next = in_force(&running, &file);
    let applied = differing(&running, &next, &|counts| counts != Counts::Restart);
    (applied, differing(&next, &file, &|_| true))
}

#[test]
fn what_it_takes_to_be_an_operator_stays_with_where_one_connects() {
    let upstream = "[[upstream]]\nfiles = \"x\"\n";
    let of = |admin: &str| format!("{upstream}{admin}");
    let plain = of("[admin]\nlisten = \"0.0.0.0:2\"\ntoken_file = \"a\"\n");
    let tls = plain.clone() + "[admin.tls]\ncertificate = \"c\"\nkey = \"k\"\n";
    let local = of("[admin]\nlisten = \"127.0.0.1:2\"\n");
    for (running, file, applied, pending) in [
        (&plain, &plain.replace("\"a\"", "\"b\""), "admin.token_file", ""),
        (&tls, &tls.replace("\"c\"", "\"d\""), "admin.tls", ""),
        (&plain, &local, "", "admin,admin.token_file"),
        (&local, &plain, "", "admin,admin.token_file"),
        (&plain, &tls, "", "admin,admin.tls,admin.tls.read,admin.tls.change"),
        (&local, &of(""), "", "admin"),
        (&of(""), &plain, "", "admin,admin.token_file"),
    ] {
        assert_eq!(apply(running, file), (applied.to_owned(), pending.to_owned()), "{running} {file}");
    }
}

#[test]
fn upstreams_come_and_go_and_change_but_for_what_they_are() {
    let a = "[[upstream]]\nauthority = \"a\"\nendpoints = [\"http://one:1\"]\n";
    let (b, polled) = (a.replace("\"a\"", "\"b\""), a.replace("one", "other") + "protocol = \"rest\"\n");
    for (running, file, applied, pending) in [
        (a.to_owned(), a.replace("one", "other"), "upstream", ""),
        (a.to_owned(), format!("{a}{b}"), "upstream", ""),
        (format!("{a}{b}"), b.clone(), "upstream", ""),
        (a.to_owned(), polled.clone(), "", "upstream,upstream.protocol"),
        (
            format!("{a}{b}"),
            format!("{polled}{}", b.replace("one", "two")),
            "upstream",
            "upstream,upstream.protocol",
        ),
    ] {
        assert_eq!(apply(&running, &file), (applied.to_owned(), pending.to_owned()), "{file}");
    }
}
