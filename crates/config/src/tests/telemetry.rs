//! Errors about the collector.

use super::errors::{FILES, HEAD, error};

#[test]
fn a_collector() {
    for (parts, wanted) in [
        (
            &[HEAD, FILES, "[telemetry]\nendpoint = 'collector:4317'\n"][..],
            "5: telemetry.endpoint: \"collector:4317\" is not the address of a collector; write it like \"http://127.0.0.1:4318\"",
        ),
        (
            &[HEAD, FILES, "[telemetry]\nendpoint = 'http://me:secret@collector'\n"],
            "5: telemetry.endpoint: a collector's address has no user name or password; \
             OTEL_EXPORTER_OTLP_HEADERS is for those",
        ),
        (
            &[HEAD, FILES, "[telemetry]\nendpoint = 'https://collector'\n"],
            "5: telemetry.endpoint: needs protocol = \"grpc\": TLS to a collector is not supported over HTTP (got \"https://collector\")",
        ),
        (
            &[HEAD, FILES, "[telemetry]\nsample_ratio = 1.5\n"],
            "5: telemetry.sample_ratio: must be from 0 to 1 (got 1.5)",
        ),
        (
            &[HEAD, FILES, "[telemetry]\nservice_name = ''\n"],
            "5: telemetry.service_name: must not be empty (got \"\")",
        ),
        (
            &[HEAD, FILES, "[telemetry]\nresource_attributes = { '' = 'x' }\n"],
            "5: telemetry.resource_attributes: must have names that are not empty (got \"\")",
        ),
        (
            &[HEAD, FILES, "[telemetry]\npropagation_deadline = '0s'\n"],
            "5: telemetry.propagation_deadline: must be greater than zero (got 0s)",
        ),
    ] {
        assert_eq!(error(parts), wanted);
    }
}
