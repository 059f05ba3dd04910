//! Single values: what is out of bounds is reported with the key, the rule and the value.

use super::errors::{FILES, HEAD, PLANE, error};

#[test]
fn values_out_of_bounds_are_reported_with_their_bounds() {
    for (parts, wanted) in [
        (&[HEAD, "limits.max_names = 0\n", FILES][..], "2: limits.max_names: must be at least 1 (got 0)"),
        (
            &[HEAD, "limits.max_streams_per_connection = 5000000000\n", FILES],
            "2: limits.max_streams_per_connection: must be at most 4294967295 (got 5000000000)",
        ),
        (
            &[HEAD, "limits.max_names = 'many'\n", FILES],
            "2: limits.max_names: invalid type: string \"many\", expected a whole number",
        ),
        (
            &[HEAD, "limits.max_node_size = '0MiB'\n", FILES],
            "2: limits.max_node_size: must be at least 1B (got 0B)",
        ),
        (
            &[HEAD, "downstream.stall_timeout = '0m'\n", FILES],
            "2: downstream.stall_timeout: must be greater than zero (got 0s)",
        ),
        (
            &[HEAD, "telemetry.sample_ratio = 2\n", FILES],
            "2: telemetry.sample_ratio: must be from 0 to 1 (got 2)",
        ),
        (
            &[HEAD, PLANE, "shrink_guard.percent = 300\n"],
            "4: upstream[0].shrink_guard.percent: must be a percentage from 1 to 99 (got 300)",
        ),
        (
            &[HEAD, PLANE, "tls.server_name = ''\n"],
            "4: upstream[0].tls.server_name: must not be empty (got \"\")",
        ),
    ] {
        let error = error(parts);
        assert!(error.starts_with(wanted), "{error}");
    }
}
