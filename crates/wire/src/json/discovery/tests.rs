//! The error texts of REST-JSON: path and reason, for requests, responses and the resources in them.

use super::{JsonResponse, request_from_json, response_from_json};

/// The error of a request, if it has one.
fn request_error(json: &str) -> Option<String> {
    request_from_json(json.as_bytes()).err().map(|error| error.to_string())
}

/// The error of a response, else that of its first resource with one.
fn response_error(json: &str) -> Option<String> {
    let first = |read: JsonResponse| read.resources.into_iter().find_map(Result::err).map(|(_, error)| error);
    response_from_json(json.as_bytes()).map_or_else(Some, first).map(|error| error.to_string())
}

fn assert_errors(error_of: impl Fn(&str) -> Option<String>, table: &[(&str, &str)]) {
    for (json, wanted) in table {
        assert_eq!(error_of(json).as_deref(), Some(*wanted), "{json}");
    }
}

#[test]
fn r02_a_request_that_is_no_object_is_an_error() {
    assert_errors(
        request_error,
        &[
            ("", "$: EOF while parsing a value at line 1 column 0"),
            ("{", "$: EOF while parsing an object at line 1 column 1"),
            ("<html>", "$: expected value at line 1 column 1"),
            ("null", "$: invalid type: null, expected struct Request at line 1 column 4"),
            ("7", "$: invalid type: integer `7`, expected struct Request at line 1 column 1"),
            ("[]", "$: expected an object, found a list"),
            (r#" ["1"]"#, "$: expected an object, found a list"),
            ("{} {}", "$: trailing characters at line 1 column 4"),
            ("{}x", "$: trailing characters at line 1 column 3"),
            ("{}\0", "$: trailing characters at line 1 column 3"),
        ],
    );
}

#[test]
fn r02_a_field_of_a_request_with_a_value_of_another_type_is_an_error() {
    assert_errors(
        request_error,
        &[
            (
                r#"{"version_info": 7}"#,
                "$.version_info: invalid type: integer `7`, expected a string at line 1 column 18",
            ),
            (
                r#"{"typeUrl": ["t"]}"#,
                "$.typeUrl: invalid type: sequence, expected a string at line 1 column 12",
            ),
            (
                r#"{"resource_names": "a"}"#,
                "$.resource_names: invalid type: string \"a\", expected a sequence at line 1 column 22",
            ),
            (
                r#"{"resource_names": ["a", null]}"#,
                "$.resource_names[1]: invalid type: null, expected a string at line 1 column 29",
            ),
            (
                r#"{"resource_locators": [7]}"#,
                "$.resource_locators[0]: invalid type: integer `7`, expected struct Locator at line 1 column 24",
            ),
            (
                r#"{"resource_locators": [{"dynamic_parameters": {"env": 1}}]}"#,
                "$.resource_locators[0].dynamic_parameters.env: invalid type: integer `1`, expected a string \
                 at line 1 column 55",
            ),
            (
                r#"{"resource_locators": [{"dynamicParameters": ["env"]}]}"#,
                "$.resource_locators[0].dynamicParameters: invalid type: sequence, expected a map \
                 at line 1 column 45",
            ),
            (r#"{"node": 7}"#, "$.node: invalid type: integer `7`, expected struct Node at line 1 column 10"),
            (
                r#"{"node": {"metadata": 1}}"#,
                "$.node.metadata: invalid type: integer `1`, expected a map at line 1 column 23",
            ),
            (r#"{"node": {"metadata": {"a": }}}"#, "$.node.metadata.a: expected value at line 1 column 29"),
            (
                r#"{"node": {"locality": {"zone": false}}}"#,
                "$.node.locality.zone: invalid type: boolean `false`, expected a string at line 1 column 36",
            ),
            (
                r#"{"error_detail": {"code": "x"}}"#,
                "$.error_detail.code: invalid type: string \"x\", expected i32 at line 1 column 29",
            ),
            (
                r#"{"error_detail": {"code": 3000000000}}"#,
                "$.error_detail.code: invalid value: integer `3000000000`, expected i32 at line 1 column 36",
            ),
        ],
    );
}

#[test]
fn r02_a_field_of_a_request_that_is_unknown_or_there_twice_is_an_error() {
    assert_errors(
        request_error,
        &[
            (
                r#"{"names": []}"#,
                "$.names: unknown field `names`, expected one of `versionInfo`, `version_info`, `node`, \
                 `resourceNames`, `resource_names`, `resourceLocators`, `resource_locators`, `typeUrl`, \
                 `type_url`, `responseNonce`, `response_nonce`, `errorDetail`, `error_detail` \
                 at line 1 column 8",
            ),
            (
                r#"{"resource_locators": [{"name": "a", "parameters": {}}]}"#,
                "$.resource_locators[0].parameters: unknown field `parameters`, expected one of `name`, \
                 `dynamicParameters`, `dynamic_parameters` at line 1 column 49",
            ),
            (r#"{"type_url": "a", "type_url": "b"}"#, "$: duplicate field `type_url` at line 1 column 28"),
            (r#"{"type_url": "a", "typeUrl": "b"}"#, "$: duplicate field `type_url` at line 1 column 27"),
            (r#"{"node": {"id": "a", "id": "b"}}"#, "$.node: duplicate field `id` at line 1 column 25"),
            (
                r#"{"resource_locators": [{"name": "a", "name": "b"}]}"#,
                "$.resource_locators[0]: duplicate field `name` at line 1 column 43",
            ),
        ],
    );
}

#[test]
fn r02_what_a_newer_envoy_adds_to_its_node_or_to_an_error_is_no_error() {
    for json in [
        r#"{"node": {"later": 1, "extensions": [{"later": 1}], "listening_addresses": [{"later": 1}]}}"#,
        r#"{"node": {"user_agent_version": "1", "user_agent_build_version": {}}}"#,
        r#"{"error_detail": {"details": [{"@type": "type.googleapis.com/acme.Widget"}]}}"#,
    ] {
        assert_eq!(request_error(json), None, "{json}");
    }
}

#[test]
fn e03_what_is_no_response_is_named_by_its_path() {
    assert_errors(
        response_error,
        &[
            ("", "$: EOF while parsing a value at line 1 column 0"),
            ("<html>", "$: expected value at line 1 column 1"),
            ("null", "$: invalid type: null, expected struct Response at line 1 column 4"),
            ("[]", "$: expected an object, found a list"),
            ("{} {}", "$: trailing characters at line 1 column 4"),
            (
                r#"{"version_info": 7}"#,
                "$.version_info: invalid type: integer `7`, expected a string at line 1 column 18",
            ),
            (
                r#"{"resources": {}}"#,
                "$.resources: invalid type: map, expected a sequence at line 1 column 14",
            ),
            (r#"{"nonce": "a", "nonce": "b"}"#, "$: duplicate field `nonce` at line 1 column 22"),
            (
                r#"{"versionInfo": "a", "version_info": "b"}"#,
                "$: duplicate field `version_info` at line 1 column 35",
            ),
            (r#"{"resource_errors": [{"x": 1}]}"#, "$.resource_errors[0]: unrecognized field name 'x'"),
            (
                r#"{"resource_errors": [7]}"#,
                "$.resource_errors[0]: invalid type: integer `7`, expected a map",
            ),
            (
                r#"{"resourceErrors": [{"errorDetail": {"code": "x"}}]}"#,
                "$.resource_errors[0].errorDetail.code: invalid digit found in string",
            ),
        ],
    );
}

#[test]
fn e03_what_is_no_resource_is_named_by_its_path() {
    assert_errors(
        |resource| response_error(&format!(r#"{{"resources": [{resource}]}}"#)),
        &[
            ("7", "$.resources[0]: invalid type: integer `7`, expected a map"),
            ("[]", "$.resources[0]: invalid type: sequence, expected a map"),
            ("null", "$.resources[0]: invalid type: null, expected a map"),
            ("{}", "$.resources[0]: expected '@type' field"),
            (r#"{"@type": 7}"#, "$.resources[0].@type: invalid type: integer `7`, expected a string"),
            (
                r#"{"@type": "acme.Widget"}"#,
                "$.resources[0]: unsupported type url 'acme.Widget': missing at least one '/'",
            ),
            (
                r#"{"@type": "type.googleapis.com/acme.Widget"}"#,
                "$.resources[0]: message 'acme.Widget' not found",
            ),
        ],
    );
}

#[test]
fn e03_what_is_wrong_in_a_resource_is_named_by_its_path() {
    let cluster = r#""@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster""#;
    assert_errors(
        |field| response_error(&format!(r#"{{"resources": [{{{cluster}, {field}}}]}}"#)),
        &[
            (r#""name": 7"#, "$.resources[0].name: invalid type: integer `7`, expected a string"),
            (r#""lod": 1"#, "$.resources[0]: unrecognized field name 'lod'"),
            (r#""lb_policy": "X""#, "$.resources[0].lb_policy: unrecognized enum value 'X'"),
            (r#""lbPolicy": {}"#, "$.resources[0].lbPolicy: invalid type: map, expected a string or integer"),
            (r#""connect_timeout": "x""#, "$.resources[0].connect_timeout: failed to parse duration"),
            (
                r#""load_assignment": []"#,
                "$.resources[0].load_assignment: invalid type: sequence, expected a map",
            ),
            (
                r#""load_assignment": {"endpoints": [{"priority": "x"}]}"#,
                "$.resources[0].load_assignment.endpoints[0].priority: invalid digit found in string",
            ),
            (
                r#""type": "STATIC", "cluster_type": {}"#,
                "$.resources[0]: multiple fields provided for oneof 'cluster_discovery_type'",
            ),
            (
                r#""transport_socket": {"typed_config": {"@type": "type.googleapis.com/acme.Widget"}}"#,
                "$.resources[0].transport_socket.typed_config: message 'acme.Widget' not found",
            ),
            (
                r#""transport_socket": {"typed_config": {
                    "@type": "type.googleapis.com/envoy.config.core.v3.DataSource", "inline_bytes": "*"}}"#,
                "$.resources[0].transport_socket.typed_config.inline_bytes: invalid base64: \
                 Invalid symbol 42, offset 0.",
            ),
        ],
    );
}
