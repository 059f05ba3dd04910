//! What of a client's node goes upstream.

use std::path::Path;

use super::errors::{HEAD, PLANE, error};
use crate::{ParameterStreams, Source};

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
        ("node.unique_id = false\n", "4: upstream[0].node.unique_id: applies only with node.forward"),
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
    const TLS: &str = "downstream.listen = ['127.0.0.1:1']\ndownstream.tls = { certificate = 'c', key = 'k', client_ca = 'a' }\n";
    for (parts, wanted) in [
        (
            [HEAD, PLANE, "node.forward = ['id']\nnode.verify = ['{node.id}']\n"],
            "5: upstream[0].node.verify: needs downstream.tls.client_ca: clients have no identity without it",
        ),
        (
            [TLS, PLANE, "node.verify = ['{node.id}']\n"],
            "5: upstream[0].node.verify: applies only with node.forward",
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
