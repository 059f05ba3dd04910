//! What is told to a collector.

use crate::file;
use crate::findings::Findings;
use crate::settings::Telemetry;
use crate::values::CollectorProtocol;

pub(super) fn validate(file: file::Telemetry, findings: &mut Findings) -> Telemetry {
    let ratio = file.sample_ratio;
    if !(0.0..=1.0).contains(&ratio) {
        findings.add("telemetry.sample_ratio", format!("{ratio} is no share; it is from 0 to 1"));
    }
    if file.service_name.is_empty() {
        findings.add("telemetry.service_name", "\"\" is no name; leave it out for \"weir\"");
    }
    if file.resource_attributes.contains_key("") {
        findings.add("telemetry.resource_attributes", "\"\" is no attribute; name it");
    }
    let deadline = file.propagation_deadline.0.0;
    if deadline.is_zero() {
        findings.add("telemetry.propagation_deadline", "0 is too short; everything would be late");
    }
    let endpoint = file.endpoint.map(|endpoint| endpoint.0.0);
    let encrypted = endpoint.as_ref().filter(|endpoint| endpoint.starts_with("https:"));
    if let Some(endpoint) = encrypted
        && file.protocol == CollectorProtocol::HttpProtobuf
    {
        let message =
            format!("{endpoint:?} needs protocol = \"grpc\": over HTTP there is no TLS to a collector");
        findings.add("telemetry.endpoint", message);
    }
    Telemetry {
        endpoint,
        protocol: file.protocol,
        traces: file.traces,
        metrics: file.metrics,
        sample_ratio: ratio,
        service_name: file.service_name,
        resource_attributes: file.resource_attributes,
        propagation_deadline: deadline,
    }
}
