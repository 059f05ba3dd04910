//! What a person is told who made a mistake about the collector.

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
            "5: telemetry.endpoint: \"https://collector\" needs protocol = \"grpc\": over HTTP there is no TLS to a collector",
        ),
        (
            &[HEAD, FILES, "[telemetry]\nsample_ratio = 1.5\n"],
            "5: telemetry.sample_ratio: 1.5 is no share; it is from 0 to 1",
        ),
        (
            &[HEAD, FILES, "[telemetry]\nservice_name = ''\n"],
            "5: telemetry.service_name: \"\" is no name; leave it out for \"weir\"",
        ),
        (
            &[HEAD, FILES, "[telemetry]\nresource_attributes = { '' = 'x' }\n"],
            "5: telemetry.resource_attributes: \"\" is no attribute; name it",
        ),
        (
            &[HEAD, FILES, "[telemetry]\npropagation_deadline = '0s'\n"],
            "5: telemetry.propagation_deadline: 0 is too short; everything would be late",
        ),
    ] {
        assert_eq!(error(parts), wanted);
    }
}
