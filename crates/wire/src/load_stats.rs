//! The load reporting service (LRS), as far as messages pass through: its paths, and the node of a report.

use bytes::Bytes;
use prost::{DecodeError, Message as _};
use weir_types::ApiVersion;

/// The path of the method by the name of v3.
const V3: &str = "/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats";
/// The path of the method by the name of v2. The messages are the same.
const V2: &str = "/envoy.service.load_stats.v2.LoadReportingService/StreamLoadStats";

/// The path of the method in that generation of the API.
pub fn path_of(version: ApiVersion) -> &'static str {
    match version {
        ApiVersion::V3 => V3,
        ApiVersion::V2 => V2,
    }
}

/// Whether a request to `path` opens a stream of load reports.
pub fn is_at(path: &str) -> bool {
    [V3, V2].contains(&path)
}

/// `LoadStatsRequest`, of which only the node is read.
#[derive(Clone, PartialEq, prost::Message)]
struct Report {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    node: Vec<Bytes>,
}

/// The encoded node of a `LoadStatsRequest`, empty if it has none. A node that comes in parts is one, as every decoder
/// has it.
///
/// # Errors
/// When the report is not a message.
pub fn node_of(report: Bytes) -> Result<Bytes, DecodeError> {
    let Report { mut node } = Report::decode(report)?;
    Ok(match node.len() {
        0 | 1 => node.pop().unwrap_or_default(),
        _ => node.concat().into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::Node;

    /// The same bytes as a message of Envoy's API.
    fn report(nodes: &[Node]) -> Bytes {
        let node = nodes.iter().map(|node| node.encode_to_vec().into()).collect();
        let mut report = Report { node }.encode_to_vec();
        // `cluster_stats`
        report.extend([0x12, 3, 0x0a, 1, b'c']);
        report.into()
    }

    #[test]
    fn q01_the_node_is_what_the_control_plane_takes_it_for() {
        let of = |id: &str, cluster: &str| Node { id: id.into(), cluster: cluster.into(), ..Node::default() };
        for (nodes, wanted) in [
            (&[][..], of("", "")),
            (&[of("a", "b")][..], of("a", "b")),
            (&[of("a", "b"), of("", "c")][..], of("a", "c")),
            (&[of("a", ""), of("b", "")][..], of("b", "")),
        ] {
            assert_eq!(Node::decode(node_of(report(nodes)).unwrap()).unwrap(), wanted);
        }
        assert!(node_of(Bytes::from_static(&[0x0a, 9, 0])).is_err());
    }

    #[test]
    fn q01_the_method_is_as_envoy_defines_it() {
        let descriptors = include_bytes!(concat!(env!("OUT_DIR"), "/envoy-types.bin"));
        let pool = prost_reflect::DescriptorPool::decode(&descriptors[..]).unwrap();
        let (service, method) = V3[1..].split_once('/').unwrap();
        let service = pool.get_service_by_name(service).unwrap();
        let method = service.methods().find(|defined| defined.name() == method).unwrap();
        assert!(method.is_client_streaming() && method.is_server_streaming());
        assert_eq!(method.input().get_field(1).unwrap().name(), "node");
        assert!(is_at(path_of(ApiVersion::V2)) && is_at(path_of(ApiVersion::V3)) && !is_at("/x"));
    }
}
