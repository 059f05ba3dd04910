//! The heads of requests, read before the HTTP library does: it takes a bare LF for the end of a line (RFC 9112 allows
//! that), which others on the way may not, so that they see another request than it does.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::{HeaderMap, header};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Begins the line of a field that announces a body.
const BODIES: [&[u8]; 2] = [b"content-length", b"transfer-encoding"];

/// How much of a line it takes to know it.
const ENOUGH: usize = 17;

/// The bytes of a connection. In a head, a bare LF becomes a NUL, which the library rejects wherever it stands.
#[derive(Debug)]
pub(crate) struct Checked<T> {
    bytes: T,
    head: Head,
}

impl<T> Checked<T> {
    pub(crate) fn new(bytes: T) -> Self {
        Self { bytes, head: Head::default() }
    }
}

/// How far a head has been read.
#[derive(Debug, Default)]
struct Head {
    /// The beginning of the line, in lower case.
    line: Vec<u8>,
    after_cr: bool,
    /// A body follows: see [`ends_connection`].
    has_body: bool,
    /// There are no more heads.
    over: bool,
}

impl Head {
    fn check(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            if self.over {
                return;
            }
            match *byte {
                b'\n' if self.after_cr => self.end_line(),
                b'\n' => {
                    *byte = 0;
                    self.over = true;
                }
                b'\r' => self.after_cr = true,
                other => {
                    self.after_cr = false;
                    if self.line.len() < ENOUGH {
                        self.line.push(other.to_ascii_lowercase());
                    }
                }
            }
        }
    }

    fn end_line(&mut self) {
        self.after_cr = false;
        self.has_body |= BODIES.iter().any(|field| self.line.starts_with(field));
        self.over = self.line.is_empty() && self.has_body;
        self.line.clear();
    }
}

/// Whether a request is the last on its connection: what follows its body is not read as a head here.
pub(crate) fn ends_connection(headers: &HeaderMap) -> bool {
    headers.contains_key(header::CONTENT_LENGTH) || headers.contains_key(header::TRANSFER_ENCODING)
}

/// Whether the body is encoded in a way that everybody reads alike.
pub(crate) fn is_plainly_encoded(headers: &HeaderMap) -> bool {
    let mut encodings = headers.get_all(header::TRANSFER_ENCODING).iter();
    match (encodings.next(), encodings.next()) {
        (None, _) => true,
        (Some(only), None) => only.as_bytes().eq_ignore_ascii_case(b"chunked"),
        _ => false,
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Checked<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.bytes).poll_read(context, into))?;
        if let Some(read) = into.filled_mut().get_mut(before..) {
            self.head.check(read);
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Checked<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.bytes).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.bytes).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.bytes).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.bytes).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.bytes.is_write_vectored()
    }
}
