use std::time::Duration;

use weir_wire::json::any_to_json;

use super::super::resource::{Resource, parse};
use super::*;

const CLUSTER: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";

fn read(text: &str) -> Result<Vec<Resource>, Vec<String>> {
    let parsed = parse(&file("a.yaml"), text.replace("$CLUSTER", CLUSTER).as_bytes());
    parsed.map_err(|problems| problems.iter().map(ToString::to_string).collect())
}

fn one(text: &str) -> Resource {
    let mut all = read(text).unwrap();
    assert_eq!(all.len(), 1, "{text}");
    all.remove(0)
}

#[test]
fn f01_all_shapes_of_a_file_hold_the_same() {
    let wanted = one("- { '@type': $CLUSTER, name: a }");
    for text in [
        "{ '@type': $CLUSTER, name: a }",
        "[{ name: a, '@type': $CLUSTER }]",
        "resources:\n- '@type': $CLUSTER\n  name: a\n",
        "- resource: { '@type': $CLUSTER, name: a }",
        "- '@type': type.googleapis.com/envoy.service.discovery.v3.Resource\n  name: a\n  \
         resource: { '@type': $CLUSTER, name: a }",
        "version_info: ''\ntype_url: $CLUSTER\nnonce: ''\ncontrol_plane: { identifier: x }\nresources: [{ '@type': $CLUSTER, name: a }]",
        "---\n---\n{ '@type': $CLUSTER, name: a }\n---\n",
    ] {
        let found = one(text);
        assert_eq!(found.variant.key(), wanted.variant.key(), "{text}");
        assert_eq!(found.variant.content(), wanted.variant.content(), "{text}");
        assert_eq!(found.type_url, cds());
    }
}

#[test]
fn f01_json_is_json() {
    let json = format!(r#"{{"resources": [{{"@type": "{CLUSTER}", "name": "a\ud83d\ude00\/"}}]}}"#);
    let resources = parse(&file("a.json"), json.as_bytes()).unwrap();
    assert_eq!(&**resources[0].variant.name(), "a😀/");
    for (json, wanted) in [
        ("{\"resources\":\n [1,]}", "a.json:2: expected value"),
        ("{\"resources\":", "a.json:1: EOF while parsing a value"),
        ("resources: []", "a.json:1: expected value"),
        ("[]\n[]", "a.json:2: trailing characters"),
    ] {
        let problems = parse(&file("a.json"), json.as_bytes()).unwrap_err();
        assert_eq!(problems.iter().map(ToString::to_string).collect::<Vec<_>>(), [wanted]);
    }
}

#[test]
fn f02_what_the_transport_says_is_carried() {
    let resource =
        one("version_info: '1'\nresources:\n- name: b\n  aliases: [c, d]\n  version: '42'\n  ttl: 1.5s\n  \
         cache_control: { do_not_cache: true }\n  resource: { '@type': $CLUSTER, name: a }\n");
    let content = resource.variant.content();
    assert_eq!(&**resource.variant.name(), "b");
    assert_eq!(content.aliases.iter().map(|alias| &**alias).collect::<Vec<_>>(), ["c", "d"]);
    assert_eq!((&*content.upstream_version, content.ttl), ("42", Some(Duration::from_millis(1500))));
    assert_eq!(&content.extra[..], [0x3a, 2, 0x08, 1], "cache_control is passed through");
    assert!(!content.do_not_cache, "and a file is no cache");
    assert_eq!(any_to_json(content.body.as_ref().unwrap())["name"], "a");
    assert_eq!(resource.origin.to_string(), "a.yaml:3");
    let bare = one("{ version_info: '1', resources: [{ '@type': $CLUSTER, name: a }] }");
    assert_eq!(&*bare.variant.content().upstream_version, "1");
}

#[test]
fn f02_constraints_in_each_form() {
    for (text, wanted) in [
        ("- constraints: { env: prod }", "a[env=prod]"),
        ("- constraints: {}", "a[anyone]"),
        ("- name: b\n  constraints: { env: prod }", "b[env=prod]"),
        ("- dynamic_parameter_constraints: { constraint: { key: env, exists: {} } }", "a[env exists]"),
        (
            "- resource_name:\n    name: b\n    dynamicParameterConstraints:\n      \
             not_constraints: { constraint: { key: env, value: prod } }",
            "b[env!=prod]",
        ),
        ("- resource_name: { dynamic_parameter_constraints: { and_constraints: {} } }", "a[anyone]"),
        ("- resource_name: { name: b }\n  constraints: { env: prod }", "b[env=prod]"),
    ] {
        let resource = one(&format!("{text}\n  resource: {{ '@type': $CLUSTER, name: a }}"));
        assert_eq!(format!("{:?}", resource.variant.key()), wanted, "{text}");
    }
}

#[test]
fn o03_the_endpoints_of_a_cluster_are_known() {
    let cluster = one("{ '@type': $CLUSTER, name: a, type: EDS, eds_cluster_config: { service_name: s } }");
    assert_eq!(cluster.variant.content().eds_name.as_deref(), Some("s"));
}

#[test]
fn i12_a_resource_without_a_body() {
    let vhds = TypeUrl::from_short_name("vhds").unwrap();
    let resource = one(&format!("type_url: {vhds}\nresources: [{{ name: r/h, aliases: [r/h] }}]"));
    assert_eq!((resource.type_url, resource.variant.content().body.clone()), (vhds, None));
}

#[test]
fn d02_a_type_that_nobody_knows() {
    let resource = one("- { name: w, resource: { '@type': acme.example/acme.Widget, value: CgRsZWZ0 } }");
    assert_eq!(resource.type_url.as_str(), "acme.example/acme.Widget");
    assert_eq!(any_to_json(resource.variant.content().body.as_ref().unwrap())["value"], "CgRsZWZ0");
    assert_eq!(&**one("- { '@type': acme.example/acme.Widget, value: CgRsZWZ0 }").variant.name(), "left");
}

#[test]
fn f01_errors_say_line_and_reason() {
    let long = "x".repeat(5000);
    let too_long = format!("- {{ '@type': $CLUSTER, name: {long} }}");
    for (text, wanted) in [
        ("", "a.yaml: the file is empty; to hold no resources write 'resources: []'"),
        ("# nothing\n", "a.yaml: the file is empty; to hold no resources write 'resources: []'"),
        ("text", "a.yaml:1: expected a list of resources, or a mapping with 'resources'"),
        ("resources: x", "a.yaml:1: resources: expected a list"),
        ("resources: []\nresource: []", "a.yaml:2: unrecognized field name 'resource'"),
        (
            "resources: []\nversion_info: 5",
            "a.yaml:2: version_info: invalid type: integer `5`, expected a string",
        ),
        ("- 5", "a.yaml:1: a resource is a mapping with '@type' or 'resource'"),
        (
            "- name: a",
            "a.yaml:1: expected '@type' or 'resource'; one without a body needs the 'type_url' of its list",
        ),
        (
            "- name: a\n  type: EDS",
            "a.yaml:1: expected '@type' or 'resource'; one without a body needs the 'type_url' of its list",
        ),
        ("resorces:\n- name: a", "a.yaml:1: unrecognized field name 'resorces'; did you mean 'resources'?"),
        ("- name: a\n  type_url: $CLUSTER", "a.yaml:2: expected '@type' in place of 'type_url'"),
        ("- name: a\n  type: $CLUSTER", "a.yaml:2: expected '@type' in place of 'type'"),
        (
            "type_url: $CLUSTER\nresources:\n- name: a\n  type: EDS",
            "a.yaml:4: unrecognized field name 'type'; a resource with a body needs '@type', also in a list with \
             'type_url'",
        ),
        (
            "type_url: $CLUSTER\nresources:\n- name: a\n  aliase: [b]",
            "a.yaml:4: unrecognized field name 'aliase'; did you mean 'aliases'?",
        ),
        (
            "- '@type': type.googleapis.com/envoy.config.cluster.v3.Clusters\n  name: a",
            "a.yaml:1: message 'envoy.config.cluster.v3.Clusters' not found; did you mean \
             'envoy.config.cluster.v3.Cluster'?",
        ),
        (
            "node: { id: a }\nstatic_resources: { clusters: [] }",
            "a.yaml:1: this is an Envoy bootstrap; a resource file has a list 'resources' of clusters, listeners and \
             others, each with its '@type'",
        ),
        (
            "{ configs: [{ '@type': type.googleapis.com/envoy.admin.v3.ClustersConfigDump }] }",
            "a.yaml:1: this is an Envoy config dump; a resource file has a list 'resources', each with its '@type': \
             those in 'dynamic_active_clusters[].cluster' and the like",
        ),
        (
            "- '@type': acme.Widget\n  name: a",
            "a.yaml:1: unsupported type url 'acme.Widget': missing at least one '/'",
        ),
        ("- '@type': x/acme.Widget\n  name: a", "a.yaml:1: message 'acme.Widget' not found"),
        ("- { '@type': $CLUSTER }", "a.yaml:1: resource without a usable name: the name is empty"),
        (
            &too_long,
            "a.yaml:1: resource without a usable name: a name of 5000 bytes is over the limit of 4096",
        ),
        (
            "- '@type': $CLUSTER\n  name: a\n  lod_assignment: {}",
            "a.yaml:3: unrecognized field name 'lod_assignment'; did you mean 'load_assignment'?",
        ),
        (
            "- '@type': $CLUSTER\n  name: a\n  load_assignment:\n    endpoints:\n    - prio: 1",
            "a.yaml:5: load_assignment.endpoints[0]: unrecognized field name 'prio'",
        ),
        (
            "- '@type': $CLUSTER\n  name: a\n  lb_policy:\n    RANDOMLY",
            "a.yaml:4: lb_policy: unrecognized enum value 'RANDOMLY'; did you mean 'RANDOM'?",
        ),
        (
            "- '@type': $CLUSTER\n  name: 1.10",
            "a.yaml:2: name: invalid type: floating point `1.1`, expected a string",
        ),
        (
            "- resource: { name: a,\n   '@type': $CLUSTER, typed_extension_protocol_options: {\n   x: { y: 1,\n   \
             '@type': type.googleapis.com/google.protobuf.Duration } } }",
            "a.yaml:3: resource.typed_extension_protocol_options.x: expected 'value' field",
        ),
        (
            "- '@type': $CLUSTER\n  name: a\n  name: b",
            "a.yaml:3: duplicate mapping key: name not allowed here",
        ),
        ("- [a\n- b: c: d\n", "a.yaml:2: illegal placement of ':' indicator"),
        (
            "- nam: a\n  resource: { '@type': $CLUSTER }",
            "a.yaml:1: unrecognized field name 'nam'; did you mean 'name'?",
        ),
        (
            "- name: a\n  ttl: soon\n  resource: { '@type': $CLUSTER }",
            "a.yaml:2: ttl: failed to parse duration",
        ),
        (
            "- name: a\n  resource_name: { name: b }\n  resource: { '@type': $CLUSTER }",
            "a.yaml:1: a: both name and resource_name are set",
        ),
        (
            "- constraints: { a: b }\n  resource_name: { name: b, dynamic_parameter_constraints: {} }\n  \
             resource: { '@type': $CLUSTER }",
            "a.yaml:1: the constraints are given twice",
        ),
        (
            "- name: a\n  constraints:\n    env: 1\n  resource: { '@type': $CLUSTER }",
            "a.yaml:3: constraints.env: a value is a string: numbers, booleans and null need quotes",
        ),
        (
            "type_url: x\nresources:\n- { '@type': $CLUSTER, name: a }",
            "a.yaml:3: a is of type type.googleapis.com/envoy.config.cluster.v3.Cluster, type_url is x",
        ),
        (
            "- { '@type': type.googleapis.com/envoy.config.route.v3.VirtualHost, name: a }",
            "a.yaml:1: a: a resource of this type needs the Resource wrapper",
        ),
    ] {
        assert_eq!(read(text).unwrap_err(), [wanted], "{text}");
    }
}

#[test]
fn p05_a_constraint_without_a_type_is_named() {
    let untyped = "{ and_constraints: { constraints: [{ not_constraints: { constraint: { key: env } } }] } }";
    let reason = "dynamic_parameter_constraints without a type at and[0].not";
    for (key, wanted) in [
        ("dynamic_parameter_constraints", format!("a.yaml:2: {reason}")),
        ("resource_name: { name: a, dynamic_parameter_constraints", format!("a.yaml:1: a: {reason}")),
    ] {
        let close = if key.contains('{') { " }" } else { "" };
        let text = format!("- resource: {{ '@type': $CLUSTER, name: a }}\n  {key}: {untyped}{close}");
        assert_eq!(read(&text).unwrap_err(), [wanted]);
    }
}

#[test]
fn p03_a_constraint_that_nests_too_deep_is_named() {
    let nested = |depth: usize, [open, close]: [&str; 2]| {
        let leaf = "{ constraint: { key: env, value: prod } }";
        format!(
            "- resource: {{ '@type': $CLUSTER, name: a }}\n  dynamic_parameter_constraints: {}{leaf}{}",
            open.repeat(depth),
            close.repeat(depth)
        )
    };
    let not = ["{ not_constraints: ", " }"];
    let and = ["{ and_constraints: { constraints: [", "] } }"];
    for form in [not, and] {
        assert!(read(&nested(32, form)).is_ok(), "{form:?}");
        let problems = read(&nested(33, form)).unwrap_err();
        let wanted = "a.yaml:2: dynamic_parameter_constraints nest deeper than 32 at ";
        assert!(problems[0].starts_with(wanted), "{problems:?}");
    }
    assert_eq!(
        read(&nested(5000, not)).unwrap_err(),
        ["a.yaml:2: YAML document too large or too complex: limits breached: Depth { depth: 129 }"]
    );
}

#[test]
fn f01_all_bad_resources_of_a_file_are_reported() {
    let problems = read("- { '@type': $CLUSTER }\n- { '@type': $CLUSTER, name: a }\n- x\n").unwrap_err();
    assert_eq!(problems.len(), 2);
    assert!(problems[1].starts_with("a.yaml:3: "), "{problems:?}");
}

#[test]
fn f01_bytes_that_are_no_text() {
    let problems = parse(&file("a.yaml"), b"- a\n- \xff").unwrap_err();
    assert_eq!(problems[0].to_string(), "a.yaml:2: not UTF-8");
}

/// The examples of the documentation, and those that a stranger starts with.
#[test]
fn f01_the_documented_examples_are_good() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("docs/resource-files.md")).unwrap();
    let examples: Vec<_> =
        text.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(examples.len() >= 5);
    for example in examples {
        assert!(!read(example).unwrap().is_empty(), "{example}");
    }
    let quickstart = load(&root.join("config/resources"), &Loaded::default()).unwrap();
    assert_eq!(quickstart.problems(), []);
    assert_eq!(quickstart.resources().count(), 7);
}
