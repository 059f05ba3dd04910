//! What is subscribed to before any client asks.

use std::path::Path;

use super::errors::{HEAD, PLANE, error};
use crate::Source;

#[test]
fn what_cannot_be_prefetched_is_named() {
    for (parts, wanted) in [
        (
            &[HEAD, PLANE, "authority = 'a'\n[[upstream.prefetch]]\ntype = 'cds'\n"],
            "5: upstream[0].prefetch[0].names: must name resources or globs of \"a\": [] is the wildcard, which has no authority",
        ),
        (
            &[
                HEAD,
                PLANE,
                "prefetch = [{ type = 'cds', names = ['xdstp://a/envoy.config.cluster.v3.Cluster/x'] }]\n",
            ],
            "4: upstream[0].prefetch[0].names[0]: must have this upstream's authority, which is \"\" (got \"xdstp://a/envoy.config.cluster.v3.Cluster/x\")",
        ),
        (
            &[HEAD, PLANE, "prefetch = [{ type = 'cds', parameter_sets = [] }]\n"],
            "4: upstream[0].prefetch[0].parameter_sets: must have at least one set: leave it out for one without parameters (got [])",
        ),
        (
            &[
                HEAD,
                PLANE,
                "parameter_keys = ['env']\nprefetch = [{ type = 'cds', parameter_sets = [{ zone = 'a' }] }]\n",
            ],
            "5: upstream[0].prefetch[0].parameter_sets[0]: \"zone\" is none of parameter_keys, which are [\"env\"]",
        ),
        (
            &[
                HEAD,
                PLANE,
                "parameter_keys = ['env']\nmax_parameter_sets = 1\nprefetch = [{ type = 'cds', parameter_sets = [{}, { env = 'a' }] }]\n",
            ],
            "6: upstream[0].prefetch: must have at most max_parameter_sets sets, which is 1 (got 2)",
        ),
        (
            &[HEAD, "[[upstream]]\nfiles = 'r'\n", "prefetch = []\n"],
            "4: upstream[0].prefetch: does not apply to files; it belongs to endpoints",
        ),
    ] {
        assert_eq!(error(parts), wanted);
    }
}

#[test]
fn without_sets_and_names_it_is_the_wildcard_for_clients_without_parameters() {
    let text = [HEAD, PLANE, "[[upstream.prefetch]]\ntype = 'cds'\n"].concat();
    let config = crate::parse(&text, Path::new("x.toml")).unwrap();
    let Source::ControlPlane(control_plane) = &config.upstreams[0].source else { panic!() };
    let [prefetch] = &control_plane.general.prefetch[..] else { panic!("{control_plane:?}") };
    assert_eq!((prefetch.type_url.short_name(), prefetch.names.len()), ("cds", 0));
    assert_eq!(prefetch.parameter_sets, [[].into()]);
}
