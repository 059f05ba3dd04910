//! Which upstream load reports are passed on to.

use std::path::Path;

use super::errors::{FILES, HEAD, PLANE, error};

const RELAY: &str = "load_reports = 'relay'\n";

#[test]
fn load_reports_go_to_one_control_plane_over_grpc() {
    let other = PLANE.replace("]]\n", "]]\nauthority = 'b'\n");
    for (parts, wanted) in [
        (
            &[HEAD, PLANE, RELAY, &other, RELAY][..],
            "8: upstream[1].load_reports: must be \"relay\" for one upstream only, which upstream[0].load_reports is \
             (got \"relay\")",
        ),
        (
            &[HEAD, PLANE, "protocol = 'rest'\n", RELAY],
            "5: upstream[0].load_reports: does not apply to protocol = \"rest\"",
        ),
        (
            &[HEAD, FILES, RELAY],
            "4: upstream[0].load_reports: does not apply to files; it belongs to endpoints",
        ),
        (
            &[HEAD, PLANE, "load_reports = 'sum'\n"],
            "4: upstream[0].load_reports: unknown variant `sum`, expected `off` or `relay`",
        ),
    ] {
        assert_eq!(error(parts), wanted);
    }
    let parse = |parts: &[&str]| crate::parse(&parts.concat(), Path::new("x")).unwrap();
    let config = parse(&[HEAD, PLANE, &other, RELAY]);
    let relays: Vec<_> = config.upstreams.iter().map(crate::Upstream::relays_load_reports).collect();
    assert_eq!(relays, [false, true], "off by default");
}

#[test]
fn the_nodes_of_load_reports_can_be_verified_though_none_is_forwarded() {
    const TLS: &str = "downstream.listen = ['127.0.0.1:1']\n\
                       downstream.tls = { certificate = 'c', key = 'k', client_ca = 'a' }\n";
    let text = [TLS, PLANE, RELAY, "node.verify = ['{node.id}']\n"].concat();
    assert!(crate::parse(&text, Path::new("x")).is_ok());
}
