//! Errors about certificates, credentials and access rules.

use std::path::Path;

use super::errors::{FILES, HEAD, PLANE, error};

#[test]
fn certificates_and_credentials() {
    const TLS: &str = "[[upstream]]\nendpoints = ['https://a:1']\n";
    for (parts, wanted) in [
        (
            &[HEAD, PLANE, "tls.ca = 'x'\n"][..],
            "4: upstream[0].tls: applies only to endpoints that are https://",
        ),
        (
            &[HEAD, FILES, "token_file = 'x'\n"],
            "4: upstream[0].token_file: does not apply to files; it belongs to endpoints",
        ),
        (
            &[HEAD, TLS, "tls.certificate = 'x'\n"],
            "4: upstream[0].tls.certificate: needs the private key beside it: key",
        ),
        (
            &[HEAD, TLS, "tls.key = 'x'\n"],
            "4: upstream[0].tls.key: needs the certificate that it is for: certificate",
        ),
        (
            &[HEAD, TLS, "tls.subject_alt_names = ['a*b']\n"],
            "4: upstream[0].tls.subject_alt_names[0]: \"a*b\" is no pattern; write a text, or one with a single * at its beginning or at its end",
        ),
        (
            &[HEAD, TLS, "tls.server_name = ''\n"],
            "4: upstream[0].tls.server_name: must not be empty (got \"\")",
        ),
        (
            &[HEAD, PLANE, "token_file = 'x'\n"],
            "4: upstream[0].token_file: endpoints[0] is not https://, and would show it to everyone on the way; token_over_plaintext = true allows that",
        ),
        (
            &[HEAD, PLANE, "headers = { Authorization = 'x' }\n"],
            "4: upstream[0].headers.authorization: endpoints[0] is not https://, and would show it to everyone on the way; token_over_plaintext = true allows that",
        ),
        (
            &[HEAD, TLS, "token_over_plaintext = true\n"],
            "4: upstream[0].token_over_plaintext: every endpoint is https://",
        ),
        (
            &[HEAD, TLS, "token_file = 'x'\nheaders = { authorization = 'x' }\n"],
            "4: upstream[0].token_file: headers has an authorization already",
        ),
        (
            &[HEAD, TLS, "headers = { 'a b' = 'x' }\n"],
            "4: upstream[0].headers.a b: \"a b\" is no name of a header",
        ),
        (
            &[HEAD, TLS, "headers = { grpc-timeout = 'x' }\n"],
            "4: upstream[0].headers.grpc-timeout: this header belongs to the transport",
        ),
        (
            &[HEAD, TLS, "headers = { x-bin = 'x' }\n"],
            "4: upstream[0].headers.x-bin: headers with binary values are not supported",
        ),
        (&[HEAD, TLS, "headers = 'Bearer hush'\n"], "4: upstream[0].headers: expected a map"),
        (
            &[HEAD, TLS, "headers = { authorization = 12345 }\n"],
            "4: upstream[0].headers.authorization: expected a string",
        ),
        (
            &[HEAD, TLS, "headers = { x = \"a\\nb\" }\n"],
            "4: upstream[0].headers.x: the value has characters that no header may have",
        ),
    ] {
        assert_eq!(error(parts), wanted);
    }
    for good in ["token_file = 'x'\ntoken_over_plaintext = true\n", "headers = { x-tenant = 'a' }\n"] {
        crate::parse(&[HEAD, PLANE, good].concat(), Path::new("x")).unwrap();
    }
}

#[test]
fn who_is_let_in() {
    const TLS: &str = "[downstream.tls]\ncertificate = 'c'\nkey = 'k'\n";
    for (parts, wanted) in [
        (
            &["downstream.listen_plaintext = ['127.0.0.1:2']\n", HEAD, FILES][..],
            "1: downstream.listen_plaintext: applies only with downstream.tls",
        ),
        (
            &[HEAD, FILES, TLS, "client_certificate = 'required'\n"],
            "7: downstream.tls.client_certificate: needs client_ca: who vouches for clients",
        ),
        (
            &[HEAD, FILES, TLS, "client_ca = 'x'\nclient_certificate = 'none'\n"],
            "7: downstream.tls.client_ca: does not apply with client_certificate = \"none\"",
        ),
        (
            &[HEAD, FILES, TLS, "subject_alt_names = ['x']\n"],
            "7: downstream.tls.subject_alt_names: needs downstream.tls.client_ca: clients have no identity without it",
        ),
        (
            &[HEAD, FILES, TLS, "max_handshakes = 0\n"],
            "7: downstream.tls.max_handshakes: must be at least 1 (got 0)",
        ),
        (
            &[HEAD, FILES, TLS, "handshake_timeout = '0s'\n"],
            "7: downstream.tls.handshake_timeout: must be greater than zero (got 0s)",
        ),
        (&[HEAD, FILES, "[downstream.tls]\nkey = 'k'\n"], "4: downstream.tls: missing key `certificate`"),
        (
            &[HEAD, FILES, "[admin]\nlisten = '0.0.0.0:1'\n"],
            "5: admin.listen: must be a loopback address without token_file, or tls with client_ca and read (got 0.0.0.0:1)",
        ),
        (
            &[HEAD, FILES, "[admin]\nlisten = '0.0.0.0:1'\nchange_token_file = 'x'\n"],
            "5: admin.listen: must be a loopback address without token_file, or tls with client_ca and read (got 0.0.0.0:1)",
        ),
        (
            &[HEAD, FILES, "[admin.tls]\ncertificate = 'c'\nkey = 'k'\nchange = ['x']\n"],
            "7: admin.tls.change: needs client_ca: who vouches for operators",
        ),
    ] {
        assert_eq!(error(parts), wanted);
    }
    for good in [
        "[admin]\nlisten = '0.0.0.0:1'\ntoken_file = 'x'\n",
        "[admin]\nlisten = '[::1]:1'\n",
        "[admin]\n",
        "[admin]\nlisten = '0.0.0.0:1'\ntls = { certificate = 'c', key = 'k', client_ca = 'a', read = ['*'] }\n",
    ] {
        crate::parse(&[HEAD, FILES, good].concat(), Path::new("x")).unwrap();
    }
    let both = ["downstream.listen_plaintext = ['127.0.0.1:2']\n", HEAD, FILES, TLS].concat();
    crate::parse(&both, Path::new("x")).unwrap();
}

#[test]
fn who_may_have_what() {
    const CA: &str = "[downstream.tls]\ncertificate = 'c'\nkey = 'k'\nclient_ca = 'a'\n";
    const RULE: &str = "[[dynamic_parameters]]\nkey = 'env'\n";
    const NODE: &str = "from = 'node.id'\n";
    const SPIFFE: &str = "from = 'identity.spiffe'\n";
    for (parts, wanted) in [
        (
            &[HEAD, FILES, RULE, SPIFFE][..],
            "6: dynamic_parameters[0].from: needs downstream.tls.client_ca: clients have no identity without it",
        ),
        (
            &[HEAD, FILES, RULE, NODE, "enforce = true\n"],
            "7: dynamic_parameters[0].enforce: needs from = \"identity.…\": a client chooses what is in its node",
        ),
        (
            &[HEAD, FILES, CA, RULE, SPIFFE, "enforce = true\n", RULE, NODE],
            "13: dynamic_parameters[1].key: another rule for \"env\" is enforced, so this one has to be, too",
        ),
        (
            &[HEAD, FILES, "[[access]]\nidentities = ['*']\n"],
            "5: access[0].identities: needs downstream.tls.client_ca: clients have no identity without it",
        ),
        (
            &[HEAD, FILES, "[[access]]\ntypes = ['xds']\n"],
            "5: access[0].types[0]: \"xds\" is no resource type; allowed are cds, eds, lds, rds, srds, vhds, sds, rtds, ecds, leds, or a type URL like type.googleapis.com/envoy.config.cluster.v3.Cluster",
        ),
        (
            &[HEAD, FILES, "[[access]]\nnames = ['a*b']\n"],
            "5: access[0].names[0]: \"a*b\" is no pattern; write a text, or one with a single * at its beginning or at its end",
        ),
    ] {
        assert_eq!(error(parts), wanted);
    }
    let good = [
        HEAD,
        FILES,
        CA,
        RULE,
        SPIFFE,
        "enforce = true\n",
        "[[access]]\nidentities = ['*']\ntypes = ['sds']\n",
    ];
    let config = crate::parse(&good.concat(), Path::new("x")).unwrap();
    assert!(config.node_rules[0].enforce && config.access.len() == 1);
}

#[test]
fn p13_the_parts_of_a_node() {
    for (from, good) in [
        ("node.id", true),
        ("node.cluster", true),
        ("node.locality.region", true),
        ("node.locality.zone", true),
        ("node.locality.sub_zone", true),
        ("node.user_agent_name", true),
        ("node.metadata.a", true),
        ("node.metadata.a.b-c.d", true),
        ("identity.spiffe", true),
        ("identity.uri", true),
        ("identity.dns", true),
        ("identity", false),
        ("identity.ip", false),
        ("node.metadata", false),
        ("node.metadata.", false),
        ("node.metadata.a..b", false),
        ("node.locality", false),
        ("id", false),
    ] {
        let tls = "[downstream.tls]\ncertificate = 'c'\nkey = 'k'\nclient_ca = 'a'\n";
        let rule = format!("[[dynamic_parameters]]\nkey = 'x'\nfrom = '{from}'\n");
        match crate::parse(&[HEAD, FILES, tls, &rule].concat(), Path::new("x")) {
            Ok(config) => assert_eq!((config.node_rules[0].from.to_string().as_str(), true), (from, good)),
            Err(error) => assert!(!good, "{error}"),
        }
    }
}
