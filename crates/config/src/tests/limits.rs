//! What is wrong with limits.

use std::path::Path;

fn error(line: &str) -> String {
    let text = format!("downstream.listen = ['127.0.0.1:1']\n{line}\n[[upstream]]\nfiles = '/x'\n");
    crate::parse(&text, Path::new("x.toml")).expect_err(line).to_string()
}

#[test]
fn a_limit_of_nothing_is_sent_with_its_key() {
    for key in [
        "max_names",
        "max_handshakes",
        "max_streams_per_node",
        "max_load_streams",
        "max_names_per_stream",
        "max_locators_per_name",
        "max_types_per_stream",
        "new_names_per_client",
        "max_new_names_per_client",
        "new_parameter_sets_per_client",
        "max_new_parameter_sets_per_client",
    ] {
        let error = error(&format!("limits.{key} = 0"));
        assert!(error.contains(&format!("2: limits.{key}: must be at least 1 (got 0)")), "{error}");
    }
    let error = error("limits.max_node_size = '0KiB'");
    assert!(error.contains("2: limits.max_node_size: must be at least 1B (got 0B)"), "{error}");
    let error = self::error("downstream.stall_timeout = '0s'");
    assert!(error.contains("2: downstream.stall_timeout: must be greater than zero (got 0s)"), "{error}");
}

#[test]
fn the_largest_request_has_room_among_those_that_have_arrived_in_part() {
    let error = error("limits.max_partial_requests = '127MiB'");
    let message = "2: limits.max_partial_requests: must be at least twice downstream.max_request_size, \
                   which is 64MiB (got 127MiB)";
    assert!(error.contains(message), "{error}");
}
