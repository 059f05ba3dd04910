//! HTTP/2 by hand (RFC 9113), since no library sends what attackers do.

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use weir_testkit::process::Weir;

pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Frame types and flags of HTTP/2 (RFC 9113, section 6).
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const CONTINUATION: u8 = 9;
pub const END_HEADERS: u8 = 4;

/// A message, whole or in part.
pub const DATA: u8 = 0;

pub async fn connect(weir: &Weir) -> TcpStream {
    TcpStream::connect(weir.address()).await.expect("Weir listens")
}

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// A header block, no name and no value of which is known to the other side (RFC 7541, section 6.2.2).
pub fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            assert!(text.len() < 127, "longer ones take more than a byte");
            block.push(text.len() as u8);
            block.extend(text.as_bytes());
        }
    }
    block
}

/// What opens a stream.
pub fn request() -> Vec<u8> {
    block(&[
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"),
        (":authority", "x"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ])
}

/// A client that has sent the preface of HTTP/2.
pub async fn connect_http2(weir: &Weir) -> TcpStream {
    connect_with(weir, &[]).await
}

/// As [`connect_http2`], with these settings.
pub async fn connect_with(weir: &Weir, settings: &[u8]) -> TcpStream {
    let mut attacker = connect(weir).await;
    attacker.write_all(&[PREFACE, &frame(SETTINGS, 0, 0, settings)].concat()).await.expect("write");
    attacker
}
