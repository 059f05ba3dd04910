//! Rules for dynamic parameters.

use std::path::Path;

use super::errors::{HEAD, PLANE};

#[test]
fn p13_rules_for_one_key_may_follow_each_other() {
    let rules = ["node.metadata.env", "node.cluster"]
        .map(|from| format!("[[dynamic_parameters]]\nkey = 'env'\nfrom = '{from}'\n"));
    let config = crate::parse(&[HEAD, PLANE, &rules.concat()].concat(), Path::new("x")).unwrap();
    assert_eq!(config.node_rules.len(), 2);
    let crate::Source::ControlPlane(control_plane) = &config.upstreams[0].source else { panic!() };
    assert_eq!(control_plane.parameters.as_ref().unwrap().keys(), &["env"]);
}
