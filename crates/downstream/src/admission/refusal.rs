//! The rejection that a client is sent: what is short, and when to come back.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response};
use prost::Message;
use prost_types::Any;
use tonic::{Code, Status};

/// What gRPC clients with a retry policy wait for before they try again (gRFC A6).
const PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");

/// What there is not enough of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shortage {
    /// Connections.
    Connections,
    /// Connections of one address.
    ConnectionsPerAddress,
    /// Connections in their TLS handshake.
    Handshakes,
    /// Streams.
    Streams,
    /// New streams a second.
    StreamRate,
    /// Streams of one node, of which there are as many as there may be.
    StreamsPerNode(usize),
    /// Streams of load reports.
    LoadStreams,
    /// Room for requests that have arrived in part: so many bytes.
    PartialRequests(usize),
}

impl Shortage {
    /// As a metric label.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::ConnectionsPerAddress => "connections_per_address",
            Self::Handshakes => "handshakes",
            Self::Streams => "streams",
            Self::StreamRate => "stream_rate",
            Self::StreamsPerNode(_) => "streams_per_node",
            Self::LoadStreams => "load_streams",
            Self::PartialRequests(_) => "partial_requests",
        }
    }
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connections => "there are too many connections (limits.max_connections)",
            Self::ConnectionsPerAddress => {
                "there are too many connections of one address (limits.max_connections_per_address)"
            }
            Self::Handshakes => "there are too many TLS handshakes (limits.max_handshakes)",
            Self::Streams => "there are too many streams (limits.max_streams)",
            Self::StreamRate => "there are too many new streams (admission.new_streams_per_second)",
            Self::LoadStreams => "there are too many streams of load reports (limits.max_load_streams)",
            Self::PartialRequests(bytes) => {
                return write!(
                    f,
                    "there is no room left for so large a request among the {bytes} bytes for requests that have \
                     arrived in part (limits.max_partial_requests)"
                );
            }
            Self::StreamsPerNode(most) => {
                return write!(
                    f,
                    "this node has {most} streams, and may have no more (limits.max_streams_per_node)"
                );
            }
        })
    }
}

/// Why somebody is not let in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refusal {
    pub(crate) shortage: Shortage,
    /// When to come back.
    pub(crate) retry_after: Duration,
}

/// `google.rpc.Status`, with the details that `discovery::Status` has no use for.
#[derive(Clone, PartialEq, prost::Message)]
struct Details {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

/// `google.rpc.RetryInfo`.
#[derive(Clone, PartialEq, prost::Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    retry_delay: Option<prost_types::Duration>,
}

impl Refusal {
    /// As a gRPC status: RESOURCE_EXHAUSTED, with `google.rpc.RetryInfo` in the details.
    pub(crate) fn status(self) -> Status {
        let (code, message) = (Code::ResourceExhausted, self.shortage.to_string());
        let retry_delay = prost_types::Duration::try_from(self.retry_after).ok();
        let retry = Any {
            type_url: "type.googleapis.com/google.rpc.RetryInfo".to_owned(),
            value: RetryInfo { retry_delay }.encode_to_vec(),
        };
        let details = Details { code: code as i32, message: message.clone(), details: vec![retry] };
        Status::with_details(code, message, Bytes::from(details.encode_to_vec()))
    }

    /// The answer to a gRPC request: the status, without anything before it, so that the client may try again.
    pub(crate) fn into_grpc<B: Default>(self) -> Response<B> {
        let mut response = self.status().into_http::<B>();
        response.headers_mut().insert(PUSHBACK, HeaderValue::from(self.retry_after.as_millis() as u64));
        response
    }

    /// The seconds of `Retry-After` in HTTP.
    pub(crate) fn seconds(self) -> u64 {
        self.retry_after.as_secs() + u64::from(self.retry_after.subsec_nanos() > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_sent_when_to_come_back() {
        let refusal = Refusal { shortage: Shortage::Streams, retry_after: Duration::from_millis(1500) };
        let status = refusal.status();
        assert_eq!(status.code(), Code::ResourceExhausted);
        let details = Details::decode(status.details()).unwrap();
        assert_eq!((details.code, details.message.as_str()), (8, status.message()));
        let retry = RetryInfo::decode(&details.details[0].value[..]).unwrap().retry_delay.unwrap();
        assert_eq!((retry.seconds, retry.nanos), (1, 500_000_000));
        let answer = refusal.into_grpc::<String>();
        assert_eq!(answer.headers()["grpc-retry-pushback-ms"], "1500");
        assert_eq!(answer.headers()["grpc-status"], "8");
        assert_eq!(refusal.seconds(), 2, "no earlier than that");
    }
}
