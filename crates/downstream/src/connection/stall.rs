//! Clients that do not read: since when, and whether that is for too long.
//!
//! Owns the times only. Two things show that a client does not read: a stream that has something to send and no room
//! for it, since HTTP/2 leaves that to the client; and a socket that takes nothing any more.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::io::IoSlice;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::time::{Instant, Sleep, sleep_until};

/// Tables above this capacity are freed when they become empty.
const FEW: usize = 16;

/// The streams of a connection with something that the client has not taken, and since when.
#[derive(Debug, Default)]
pub(super) struct Unread(Mutex<Streams>);

#[derive(Debug, Default)]
struct Streams {
    next: u64,
    /// The stream of each chunk that was given in this turn. Nearly all of them are taken within the turn, in order.
    given: VecDeque<u64>,
    waiting: HashMap<u64, Waiting>,
}

/// A stream of which nothing is taken.
#[derive(Debug)]
struct Waiting {
    /// How many of its chunks are here.
    chunks: usize,
    /// When the last one was taken, or the first of these was given.
    since: Instant,
}

impl Unread {
    /// Returns the start of the longest current wait. Ends the turn: chunks that were not taken count as unread from
    /// now on.
    pub(super) fn oldest(&self) -> Option<Instant> {
        let Streams { given, waiting, .. } = &mut *self.0.lock();
        if !given.is_empty() {
            let since = Instant::now();
            for id in given.drain(..) {
                waiting.entry(id).or_insert(Waiting { chunks: 0, since }).chunks += 1;
            }
        }
        waiting.values().map(|stream| stream.since).min()
    }
}

impl Streams {
    /// A chunk of the stream was taken: the first of those that are here.
    fn take(&mut self, id: u64) {
        if let Some(stream) = self.waiting.get_mut(&id) {
            stream.chunks -= 1;
            match stream.chunks {
                0 => _ = self.waiting.remove(&id),
                _ => stream.since = Instant::now(),
            }
        } else if let Some(at) = self.given.iter().position(|given| *given == id) {
            self.given.remove(at);
        }
        if self.waiting.is_empty() && self.waiting.capacity() > FEW {
            self.waiting = HashMap::new();
        }
        if self.given.is_empty() && self.given.capacity() > FEW {
            self.given = VecDeque::new();
        }
    }
}

/// A response body that records how long its chunks stay unread.
pub(crate) struct Watched<B> {
    body: B,
    unread: Arc<Unread>,
    /// Names it among the unread.
    id: u64,
}

impl<B> Watched<B> {
    pub(super) fn new(body: B, unread: &Arc<Unread>) -> Self {
        let mut streams = unread.0.lock();
        streams.next += 1;
        Self { body, unread: Arc::clone(unread), id: streams.next }
    }
}

impl<B: Body + Unpin> Body for Watched<B> {
    type Data = Chunk<B::Data>;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, B::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        polled.map_ok(|frame| frame.map_data(|data| Chunk::new(data, &self.unread, self.id)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A part of a body. The HTTP library takes any number of them before there is room, and drops each when all of it was
/// written, or never will be.
pub(crate) struct Chunk<D> {
    data: D,
    unread: Arc<Unread>,
    stream: u64,
}

impl<D> Chunk<D> {
    fn new(data: D, unread: &Arc<Unread>, stream: u64) -> Self {
        unread.0.lock().given.push_back(stream);
        Self { data, unread: Arc::clone(unread), stream }
    }
}

impl<D> Drop for Chunk<D> {
    fn drop(&mut self) {
        self.unread.0.lock().take(self.stream);
    }
}

impl<D: Buf> Buf for Chunk<D> {
    fn remaining(&self) -> usize {
        self.data.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.data.chunk()
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        self.data.chunks_vectored(slices)
    }

    fn advance(&mut self, bytes: usize) {
        self.data.advance(bytes);
    }

    fn copy_to_bytes(&mut self, bytes: usize) -> Bytes {
        self.data.copy_to_bytes(bytes)
    }
}

/// Notices when a client has not read for too long.
pub(super) struct Stall {
    limit: Duration,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Stall {
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, timer: None }
    }

    /// Ready when the client has not read for too long, where it has not since `since`.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, since: Option<Instant>) -> Poll<()> {
        let Some(since) = since else {
            self.timer = None;
            return Poll::Pending;
        };
        let at = since + self.limit;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(at)));
        if timer.deadline() != at {
            timer.as_mut().reset(at);
        }
        timer.as_mut().poll(cx)
    }
}

#[cfg(test)]
mod tests;
