use super::*;

const ENDPOINTS: &str = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";

fn endpoints(port: &str) -> String {
    format!(
        "'@type': {ENDPOINTS}\ncluster_name: a\nendpoints:\n- lbEndpoints:\n  - endpoint:\n      address:\n        \
         socket_address:\n          address: 10.0.0.1\n          {port}\n"
    )
}

fn violations(loaded: &Loaded, dir: &Dir) -> Vec<String> {
    loaded.violations().iter().map(|violation| dir.relative(violation)).collect()
}

#[test]
fn a_violation_has_the_line_of_its_field() {
    let wrapped = endpoints("portValue: 70000").replace('\n', "\n    ");
    let dir = Dir::new(&[
        ("a.yaml", &endpoints("port_value: 80810")),
        ("b.yaml", &format!("- name: b\n  constraints: {{ env: prod }}\n  resource:\n    {wrapped}")),
        ("c.yaml", &format!("- '@type': {}\n  name: c\n  type: EDS\n", cds())),
    ]);
    let loaded = dir.load(&Loaded::default());
    assert_eq!(
        violations(&loaded, &dir),
        [
            "a.yaml:9: endpoints[0].lb_endpoints[0].endpoint.address.socket_address.port_value: must be at most 65535 \
             (got 80810)",
            "b.yaml:12: resource.endpoints[0].lb_endpoints[0].endpoint.address.socket_address.port_value: must be at \
             most 65535 (got 70000)",
            "c.yaml:1: eds_cluster_config: must have eds_config for a cluster of type EDS",
        ]
    );
    assert_eq!((loaded.problems(), loaded.resources().count()), (&[][..], 3), "they are served all the same");
}

#[test]
fn a_violation_in_a_message_has_the_place_of_its_resource() {
    let text = format!("resources {{ [{}] {{ name: 'a' lb_policy: 77 }} }}\ntype_url: '{}'\n", cds(), cds());
    let dir = Dir::new(&[("a.pb_text", &text.replace("lb_policy: 77", "connect_timeout {}"))]);
    let loaded = dir.load(&Loaded::default());
    assert_eq!(
        violations(&loaded, &dir),
        ["a.pb_text: resources[0].connect_timeout: must be greater than 0s (got 0s)"]
    );
}
