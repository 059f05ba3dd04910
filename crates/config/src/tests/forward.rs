//! What of a client's node goes upstream.

use std::path::Path;

use super::errors::{HEAD, PLANE, error};
use crate::{ParameterStreams, Source};

const TLS: &str = "downstream.listen = ['127.0.0.1:1']\ndownstream.tls = { certificate = 'c', key = 'k', client_ca = 'a' }\n";
const RULE: &str =
    "[[dynamic_parameters]]\nkey = 'env'\nfrom = 'identity.spiffe'\npattern = '/env/([a-z]+)/'\n";

fn parameters(upstream: &str) -> ParameterStreams {
    let text = [HEAD, "[node]\ncluster = 'c'\nmetadata = { a = '1', b = '2' }\n", PLANE, upstream].concat();
    let config = crate::parse(&text, Path::new("x")).unwrap();
    let Source::ControlPlane(control_plane) = &config.upstreams[0].source else { panic!() };
    control_plane.parameters.clone().unwrap()
}

#[test]
fn p19_what_cannot_be_forwarded_is_named() {
    for (upstream, wanted) in [
        (
            "node.forward = ['clusters']\n",
            "4: upstream[0].node.forward[0]: \"clusters\" is no part of a node that can be forwarded; did you mean cluster? allowed are id, cluster, locality, user_agent, metadata, metadata.KEY",
        ),
        (
            "dynamic_parameters = 'native'\nnode.forward = ['id']\n",
            "5: upstream[0].node: applies only with dynamic_parameters = \"streams\"",
        ),
        (
            "node.forward = ['id', 'id']\n",
            "4: upstream[0].node.forward[1]: \"id\" is forwarded already, by \"id\"",
        ),
        (
            "node.forward = ['id', 'metadata.a.b', 'metadata.a']\n",
            "4: upstream[0].node.forward[1]: \"metadata.a.b\" is forwarded already, by \"metadata.a\"",
        ),
        (
            "node.forward = ['id']\nnode.id = 'x'\n",
            "4: upstream[0].node.forward[0]: \"id\" has a value in upstream.node; leave out one of them",
        ),
        (
            "node.forward = ['id', 'metadata.a.b']\nnode.metadata.a = 'x'\n",
            "4: upstream[0].node.forward[1]: \"metadata.a.b\" has a value in upstream.node; leave out one of them",
        ),
        ("node.max_size = '0B'\n", "4: upstream[0].node.max_size: must be at least 1B (got 0B)"),
        (
            "node.forward = ['id']\nprefetch = [{ type = 'cds' }]\n",
            "5: upstream[0].prefetch: does not go with node.forward: only a client has a node to forward",
        ),
        (
            "node.forward = ['cluster']\nnode.id = 'w'\n",
            "5: upstream[0].node.id: must have {weir.node}, or sets that differ in it have one id; or forward \"id\", or allow it by unique_id = false (got \"w\")",
        ),
        (
            "parameter_keys = ['env']\nnode.forward = ['cluster']\nnode.id = 'w-{weir.node}'\n",
            "6: upstream[0].node.id: must have {env}, or sets that differ in it have one id; or forward \"id\", or allow it by unique_id = false (got \"w-{weir.node}\")",
        ),
        (
            "node.unique_id = false\n",
            "4: upstream[0].node.unique_id: applies only with node.forward, or placeholders in headers",
        ),
        (
            "node.id = 'w-{weir.node}'\n",
            "4: upstream[0].node.id: \"w-{weir.node}\" has a placeholder for the unknown key \"weir.node\"; there are no parameter_keys",
        ),
    ] {
        assert_eq!(error(&[HEAD, PLANE, upstream]), wanted);
    }
}

#[test]
fn p20_what_cannot_be_verified_is_named() {
    for (parts, wanted) in [
        (
            [HEAD, PLANE, "node.forward = ['id']\nnode.verify = ['{node.id}']\n"],
            "5: upstream[0].node.verify: needs downstream.tls.client_ca: clients have no identity without it",
        ),
        (
            [TLS, PLANE, "node.verify = ['{node.id}']\n"],
            "5: upstream[0].node.verify: applies only with node.forward or load_reports = \"relay\"",
        ),
        (
            [TLS, PLANE, "node.forward = ['id']\nnode.verify = ['a', '{identity.dns}']\n"],
            "6: upstream[0].node.verify[1]: {identity.dns} is in the certificate; write a part of the node",
        ),
    ] {
        assert_eq!(error(&parts), wanted);
    }
    let unknown = error(&[TLS, PLANE, "node.forward = ['id']\nnode.verify = ['{id}']\n"]);
    assert!(
        unknown.starts_with("6: upstream[0].node.verify[0]: \"id\" is no part of a node or an identity;"),
        "{unknown}"
    );
}

#[test]
fn p19_the_key_of_the_node_is_reserved() {
    const WANTED: &str = "\"weir.node\" stands for the forwarded part of a client's node; choose another key";
    for (rest, key) in [
        ("parameter_keys = ['weir.node']\n", "4: upstream[0].parameter_keys[0]"),
        ("[[dynamic_parameters]]\nkey = 'weir.node'\nfrom = 'node.id'\n", "5: dynamic_parameters[0].key"),
        (
            "[[export]]\ntype = 'cds'\nto = 'x.yaml'\nparameters = { 'weir.node' = 'x' }\n",
            "7: export[0].parameters.weir.node",
        ),
    ] {
        assert_eq!(error(&[HEAD, PLANE, rest]), format!("{key}: {WANTED}"));
    }
}

#[test]
fn p19_what_is_forwarded_has_no_default() {
    let parameters =
        parameters("parameter_keys = ['env']\nnode.forward = ['cluster', 'metadata.a.x', 'metadata.env']\n");
    let node = &parameters.node;
    assert_eq!(node.id.as_ref().unwrap().to_string(), "weir-{env}-{weir.node}");
    assert_eq!(node.cluster.as_ref().unwrap().to_string(), "");
    assert_eq!(node.metadata.as_ref().unwrap().keys().collect::<Vec<_>>(), ["b"]);
    assert_eq!(node.max_size.get(), 64 << 10);
    assert_eq!(parameters.set_keys().collect::<Vec<_>>(), ["env", "weir.node"]);
    let parameters = self::parameters("node.forward = ['id', 'metadata']\n");
    assert_eq!(parameters.node.id.as_ref().unwrap().to_string(), "");
    assert!(parameters.node.metadata.as_ref().unwrap().is_empty());
    assert_eq!(self::parameters("").set_keys().count(), 0);
}

#[test]
fn p21_headers_are_filled_only_with_what_a_certificate_vouches_for() {
    for (parts, wanted) in [
        (
            &[HEAD, PLANE, "headers.x = 'URI={identity.spiffe}'\n"][..],
            "4: upstream[0].headers.x: needs downstream.tls.client_ca: clients have no identity without it",
        ),
        (
            &[TLS, PLANE, "headers.x = '{env}'\n"],
            "5: upstream[0].headers.x: {env} needs a [[dynamic_parameters]] rule for \"env\" with enforce = true: a client chooses it otherwise",
        ),
        (
            &[TLS, PLANE, "headers.x = '{env}'\n", RULE],
            "5: upstream[0].headers.x: {env} needs a [[dynamic_parameters]] rule for \"env\" with enforce = true: a client chooses it otherwise",
        ),
        (
            &[TLS, PLANE, "headers.x = '{identity.dns}'\n"],
            "5: upstream[0].headers.x: {identity.dns} may be several names; write {identity.spiffe}, or the key of a rule with enforce = true",
        ),
        (
            &[TLS, PLANE, "dynamic_parameters = 'native'\nheaders.x = '{identity.spiffe}'\n"],
            "6: upstream[0].headers.x: {identity.spiffe} applies only with dynamic_parameters = \"streams\"",
        ),
        (
            &[TLS, PLANE, "headers.x = '{identity.spiffe}'\nprefetch = [{ type = 'cds' }]\n"],
            "6: upstream[0].prefetch: does not go with placeholders in headers: only a client has values for them",
        ),
        (
            &[TLS, PLANE, "headers.x = 'hush {'\n"],
            "5: upstream[0].headers.x: the value is not a template: a { without a }; {{ and }} stand for braces",
        ),
        (
            &[TLS, PLANE, "headers.x = \"{identity.spiffe}\\n\"\n"],
            "5: upstream[0].headers.x: the value has characters that no header may have",
        ),
        (
            &[TLS, PLANE, "headers.x = '{identity.spiffe}'\nnode.id = 'w'\n"],
            "6: upstream[0].node.id: must have {weir.node}, or sets that differ in it have one id; or forward \"id\", or allow it by unique_id = false (got \"w\")",
        ),
    ] {
        assert_eq!(error(parts), wanted);
    }
    let text = [TLS, PLANE, "headers.x = '{env} {identity.spiffe}'\n", RULE, "enforce = true\n"].concat();
    let config = crate::parse(&text, Path::new("x")).unwrap();
    let Source::ControlPlane(control_plane) = &config.upstreams[0].source else { panic!() };
    let parameters = control_plane.parameters.as_ref().unwrap();
    assert_eq!(parameters.node.header_values, ["env", "identity.spiffe"]);
    assert_eq!(parameters.set_keys().collect::<Vec<_>>(), ["env", "weir.node"]);
    assert_eq!(parameters.node.id.as_ref().unwrap().to_string(), "weir-{env}-{weir.node}");
    assert!(!config.upstreams[0].forwards_claims());
}

#[test]
fn p21_what_headers_are_filled_with_changes_only_with_a_restart() {
    let of = |header: &str| {
        let text = [TLS, PLANE, "headers.x = '", header, "'\n", RULE, "enforce = true\n"].concat();
        crate::parse(&text, Path::new("x")).unwrap()
    };
    let running = of("URI={identity.spiffe}");
    let other = crate::in_force(&running, &of("By=w;URI={identity.spiffe}"));
    assert!(other == of("By=w;URI={identity.spiffe}"), "another text");
    assert!(crate::in_force(&running, &of("{env}")) == running, "another value");
}
