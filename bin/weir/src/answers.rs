//! Identifies the server at an address that a command could not use, so that the error names the port that is meant.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use weir_tls::Client;

use crate::operate::admin::Address;

/// Time limit for identifying a server.
const PATIENCE: Duration = Duration::from_secs(2);

/// Maximum length of an answer that is read.
const MAX_ANSWER: u64 = 64 << 10;

/// The connection preface of HTTP/2, with an empty SETTINGS frame.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// Length of the header of a frame, and the type of SETTINGS in it.
const FRAME_HEADER: u64 = 9;
const SETTINGS: u8 = 4;

/// Whether the admin interface of a Weir is at `address`.
pub(crate) async fn is_admin(address: &Address, tls: Option<&Client>) -> bool {
    let request =
        format!("GET /ready HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", address.authority());
    let answer = exchange(address, tls, request.as_bytes(), MAX_ANSWER).await;
    let answer = String::from_utf8_lossy(&answer);
    answer.starts_with("HTTP/1.1 ") && answer.contains("\"ready\":")
}

/// Whether a server of HTTP/2 is at `address`, as for gRPC.
pub(crate) async fn is_http2(address: &Address, tls: Option<&Client>) -> bool {
    let answer = exchange(address, tls, PREFACE, FRAME_HEADER).await;
    answer.len() as u64 == FRAME_HEADER && answer.get(3) == Some(&SETTINGS)
}

/// Sends `request` and returns up to `limit` bytes of the answer; nothing if there is none in time.
async fn exchange(address: &Address, tls: Option<&Client>, request: &[u8], limit: u64) -> Vec<u8> {
    let connected = async {
        let stream = TcpStream::connect(address.authority()).await.ok()?;
        match tls {
            None => answer(stream, request, limit).await,
            Some(tls) => answer(tls.connect(address.host(), stream).await.ok()?, request, limit).await,
        }
    };
    timeout(PATIENCE, connected).await.ok().flatten().unwrap_or_default()
}

async fn answer(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    request: &[u8],
    limit: u64,
) -> Option<Vec<u8>> {
    stream.write_all(request).await.ok()?;
    let mut answer = Vec::new();
    // A peer that closes without notice has answered all the same.
    _ = stream.take(limit).read_to_end(&mut answer).await;
    Some(answer)
}
