//! A socket that is written to once in each turn of its connection, and read in rounds.
//!
//! The HTTP/2 library makes a system call for each frame of 16 KiB. Here frames are gathered in a buffer that the
//! connections of a thread share, and leave together. Only what the kernel has no room for stays with the
//! connection.
//!
//! Invariants: bytes leave in the order in which they were written; at most [`GATHERED`] of them are held; while
//! some are left over from an earlier turn, no more are taken, so that a client that does not read holds up the
//! library, and through it the streams. In a round the library is given at most [`ROUND`] bytes, fewer where they open
//! streams, so that the streams take what has come before there is more: its tables of frames would grow, and stay that
//! large. A connection that waits holds no buffer here.

mod linger;

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use super::cut::Cut;

/// The most that is gathered, in bytes.
const GATHERED: usize = 48 << 10;
/// How much is read, and the library is given, before the streams are polled, in bytes.
const ROUND: usize = 8 << 10;
/// What the beginning of a stream costs of a round, in bytes.
const STREAM: usize = 512;
/// How many SETTINGS frames a client may send in one read. Each of them may change the window of every stream, and no
/// client has a use for more than a few.
const SETTINGS_AT_ONCE: usize = 16;
/// For how long nothing more is read of a client that sends more.
const SETTINGS_PAUSE: Duration = Duration::from_secs(1);
/// What a client sends first if it uses HTTP/2 (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

thread_local! {
    static BUFFERS: RefCell<Buffers> = RefCell::default();
}

/// What the connections of a thread share. Each is used by one connection at a time, and is empty in between.
#[derive(Default)]
struct Buffers {
    read: Vec<u8>,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
}

/// The protocol of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Http1,
    Http2,
}

/// The socket, shared by the HTTP library and the connection's task, which take turns.
pub(super) struct Socket<S>(Arc<Mutex<Inner<S>>>);

impl<S> Clone for Socket<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

struct Inner<S> {
    stream: S,
    /// For HTTP/2.
    cut: Option<Cut>,
    /// What was read; the library has taken some of it.
    incoming: Vec<u8>,
    taken: usize,
    /// What each byte of it costs of a round: more where streams begin in it.
    weight: usize,
    /// How much the library was given in this round.
    given: usize,
    outgoing: Vec<u8>,
    /// Whether the kernel had no room for all of `outgoing` in an earlier turn.
    held_up: bool,
    /// Since when it has had room for nothing.
    stuck: Option<Instant>,
    /// Until when nothing is read.
    pause: Option<Pin<Box<Sleep>>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Socket<S> {
    pub(super) fn new(stream: S) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            stream,
            cut: None,
            incoming: Vec::new(),
            taken: 0,
            weight: 1,
            given: 0,
            outgoing: Vec::new(),
            held_up: false,
            stuck: None,
            pause: None,
        })))
    }

    /// The protocol of the client, once it has sent enough to show it.
    pub(super) async fn protocol(&self) -> io::Result<Protocol> {
        std::future::poll_fn(|cx| self.0.lock().poll_protocol(cx)).await
    }

    /// Since when the client has taken nothing of what is to be written; none where nothing is, or it takes it.
    pub(super) fn stuck_since(&self) -> Option<Instant> {
        self.0.lock().stuck
    }

    /// Begins a round, in which the library is polled.
    pub(super) fn begin_round(&self) {
        self.0.lock().given = 0;
    }

    /// Ends a turn: writes what was gathered, as far as there is room.
    ///
    /// # Errors
    /// When the client cannot be written to any more.
    pub(super) fn end_turn(&self, cx: &mut Context<'_>) -> io::Result<()> {
        let mut inner = self.0.lock();
        inner.keep_incoming();
        match inner.poll_release(cx) {
            Poll::Ready(released) => released,
            Poll::Pending => Ok(()),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Inner<S> {
    fn poll_protocol(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Protocol>> {
        loop {
            let compared = self.incoming.len().min(PREFACE.len());
            if self.incoming[..compared] != PREFACE[..compared] {
                return Poll::Ready(Ok(Protocol::Http1));
            }
            if compared == PREFACE.len() {
                let (mut cut, mut incoming) = (Cut::after(PREFACE.len()), Vec::new());
                cut.pass(&self.incoming, &mut incoming);
                (self.cut, self.incoming) = (Some(cut), incoming);
                return Poll::Ready(Ok(Protocol::Http2));
            }
            let mut bytes = [0; 512];
            let mut buffer = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer))?;
            if buffer.filled().is_empty() {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
            self.incoming.extend_from_slice(buffer.filled());
        }
    }

    /// Reads until there is something for the library, or the end.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(pause) = &mut self.pause {
            ready!(pause.as_mut().poll(cx));
            self.pause = None;
        }
        BUFFERS.with_borrow_mut(|buffers| {
            self.incoming = std::mem::take(&mut buffers.incoming);
            buffers.read.resize(ROUND, 0);
            // A part of a frame's header is held back; to give the library nothing would mean the end.
            while self.incoming.is_empty() {
                // The rest would have to be kept for the next round.
                let mut read = ReadBuf::new(&mut buffers.read[self.given..]);
                ready!(Pin::new(&mut self.stream).poll_read(cx, &mut read))?;
                self.weight = 1;
                match &mut self.cut {
                    _ if read.filled().is_empty() => break,
                    Some(cut) => {
                        cut.pass(read.filled(), &mut self.incoming);
                        let begun = cut.take_begun();
                        self.weight += (begun.headers * STREAM).div_ceil(read.filled().len());
                        if begun.settings > SETTINGS_AT_ONCE {
                            self.pause = Some(Box::pin(sleep(SETTINGS_PAUSE)));
                        }
                    }
                    None => self.incoming.extend_from_slice(read.filled()),
                }
            }
            Poll::Ready(Ok(()))
        })
    }

    fn poll_take(&mut self, cx: &mut Context<'_>, buffer: &mut ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        if self.given >= ROUND {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.taken == self.incoming.len() {
            self.keep_incoming();
            let filled = self.poll_fill(cx);
            if self.incoming.is_empty() {
                self.keep_incoming();
            }
            ready!(filled)?;
        }
        let rest = &self.incoming[self.taken..];
        let room = (ROUND - self.given).div_ceil(self.weight);
        let now = &rest[..rest.len().min(buffer.remaining()).min(room)];
        buffer.put_slice(now);
        self.taken += now.len();
        self.given += now.len() * self.weight;
        Poll::Ready(Ok(()))
    }

    /// Keeps no more than what the library has yet to take.
    fn keep_incoming(&mut self) {
        if self.taken == 0 && self.incoming.len() == self.incoming.capacity() {
            return;
        }
        let rest = self.incoming[self.taken..].to_vec();
        let buffer = std::mem::replace(&mut self.incoming, rest);
        self.taken = 0;
        BUFFERS.with_borrow_mut(|buffers| give_back(&mut buffers.incoming, buffer));
    }

    fn poll_gather(&mut self, cx: &mut Context<'_>, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        if self.held_up || self.outgoing.len() >= GATHERED {
            ready!(self.poll_release(cx))?;
        }
        if self.outgoing.capacity() == 0 {
            self.outgoing = BUFFERS.with_borrow_mut(|buffers| std::mem::take(&mut buffers.outgoing));
        }
        let before = self.outgoing.len();
        for slice in slices {
            let room = GATHERED - self.outgoing.len();
            self.outgoing.extend_from_slice(&slice[..slice.len().min(room)]);
        }
        Poll::Ready(Ok(self.outgoing.len() - before))
    }

    /// Writes what was gathered. What there is no room for is kept.
    fn poll_release(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.outgoing.is_empty() && !self.held_up {
            return Poll::Ready(Ok(()));
        }
        let mut sent = 0;
        let released = self.poll_send(cx, &mut sent);
        let held_up = std::mem::replace(&mut self.held_up, released.is_pending());
        if sent > 0 {
            self.stuck = None;
        }
        self.stuck = released.is_pending().then(|| self.stuck.unwrap_or_else(Instant::now));
        if sent > 0 || !held_up {
            let rest = self.outgoing[sent..].to_vec();
            let buffer = std::mem::replace(&mut self.outgoing, rest);
            BUFFERS.with_borrow_mut(|buffers| give_back(&mut buffers.outgoing, buffer));
        }
        released
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, sent: &mut usize) -> Poll<io::Result<()>> {
        let mut stream = Pin::new(&mut self.stream);
        while *sent < self.outgoing.len() {
            match ready!(stream.as_mut().poll_write(cx, &self.outgoing[*sent..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                more => *sent += more,
            }
        }
        stream.poll_flush(cx)
    }
}

fn give_back(shared: &mut Vec<u8>, mut buffer: Vec<u8>) {
    if buffer.capacity() > shared.capacity() {
        buffer.clear();
        *shared = buffer;
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Read for Socket<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        self.0.lock().poll_take(cx, &mut buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Write for Socket<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.lock().poll_gather(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.0.lock().poll_gather(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// What was gathered leaves at the end of the turn.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut inner = self.0.lock();
        ready!(inner.poll_release(cx))?;
        Pin::new(&mut inner.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests;
