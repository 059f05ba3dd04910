//! The turns of a connection: HTTP and the streams within it, as one task.
//!
//! A change wakes a stream, which hands its frame to the HTTP library, which has something to write; an
//! acknowledgement goes the other way. All of that happens in one turn of one task, and ends with one write.
//! HTTP and the streams have wakers of their own, so that each is polled only if it is due: without them, the task
//! would be woken again by what it does to itself.
//!
//! Invariants: whoever is woken is polled before the task sleeps (a wake during a turn is seen by the turn, or
//! wakes the task); a turn ends after [`ROUNDS`], or the round in which [`LONGEST`] is over, so that no connection
//! keeps a thread for itself.

use std::future::{Future, ready};
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{FuturesUnordered, Stream as _};
use futures_util::task::AtomicWaker;
use hyper::rt::Executor;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

use super::ConnectionError;
use super::socket::Socket;
use super::stall::{Stall, Unread, Watched};

/// How often HTTP and the streams may wake each other in one turn.
const ROUNDS: usize = 16;
/// How long a turn goes on.
const LONGEST: Duration = Duration::from_micros(500);

/// How many streams a client may reset before it has sent anything on them, beyond those on which it has: an Envoy
/// without ADS closes a stream for each cluster that goes, many at a time, but not at once.
const MAX_RESETS: usize = 4096;

/// What a future within a connection has come to.
enum Event {
    /// It is over.
    Ended,
    /// The connection should end: accept no more streams, and close once there are none. What is left to do then.
    Drain(BoxFuture<'static, ()>),
    /// The connection has to end now: the client does nothing but open streams and reset them.
    Resets,
}

/// Runs futures within the task of a connection.
#[derive(Clone, Default)]
pub(crate) struct Within {
    /// Those that were not polled yet.
    new: Arc<Mutex<Vec<BoxFuture<'static, Event>>>>,
    /// How many more streams were reset in silence than were used.
    resets: Arc<AtomicUsize>,
    unread: Arc<Unread>,
}

impl Within {
    /// A stream is over. Those on which the client has sent something make up for those on which it has not.
    pub(crate) fn stream_ended(&self, used: bool) {
        let count = |resets: usize| if used { resets.checked_sub(1) } else { Some(resets + 1) };
        let before = self.resets.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count);
        if !used && before.is_ok_and(|resets| resets == MAX_RESETS) {
            self.new.lock().push(ready(Event::Resets).boxed());
        }
    }

    /// `body`, of which it is noted while the client does not take what was given.
    pub(crate) fn watch<B>(&self, body: B) -> Watched<B> {
        Watched::new(body, &self.unread)
    }

    /// Drains the connection once `drain` is over, and runs `then`.
    pub(super) fn drain_after(&self, drain: BoxFuture<'static, ()>, then: BoxFuture<'static, ()>) {
        self.new.lock().push(drain.map(|()| Event::Drain(then)).boxed());
    }
}

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Within {
    fn execute(&self, future: F) {
        self.new.lock().push(future.map(|()| Event::Ended).boxed());
    }
}

/// A connection of the HTTP library.
pub(super) trait Http: Future<Output = hyper::Result<()>> {
    /// Lets no more streams in, and ends with the last.
    fn drain(self: Pin<&mut Self>);
}

/// A connection's task. It is over when the connection is.
pub(super) struct Turns<H, S> {
    http: Pin<Box<H>>,
    socket: Socket<S>,
    within: Within,
    stall: Stall,
    streams: FuturesUnordered<BoxFuture<'static, Event>>,
    due: Arc<Due>,
    http_waker: Waker,
    streams_waker: Waker,
}

impl<H: Http, S: AsyncRead + AsyncWrite + Unpin> Turns<H, S> {
    pub(super) fn new(http: H, socket: Socket<S>, within: Within, stall_timeout: Duration) -> Self {
        let due = Arc::new(Due { flags: AtomicU8::new(HTTP), task: AtomicWaker::new() });
        Self {
            http: Box::pin(http),
            socket,
            within,
            stall: Stall::new(stall_timeout),
            streams: FuturesUnordered::new(),
            http_waker: Waker::from(Arc::new(Part { due: Arc::clone(&due), flag: HTTP })),
            streams_waker: Waker::from(Arc::new(Part { due: Arc::clone(&due), flag: STREAMS })),
            due,
        }
    }

    fn poll_http(&mut self) -> Poll<hyper::Result<()>> {
        self.socket.begin_round();
        self.http.as_mut().poll(&mut Context::from_waker(&self.http_waker))
    }

    fn poll_streams(&mut self) -> Result<(), ConnectionError> {
        let mut cx = Context::from_waker(&self.streams_waker);
        while let Poll::Ready(Some(event)) = Pin::new(&mut self.streams).poll_next(&mut cx) {
            match event {
                Event::Ended => {}
                Event::Drain(then) => {
                    self.within.execute(then);
                    self.http.as_mut().drain();
                    self.due.set(HTTP);
                }
                Event::Resets => return Err(ConnectionError::Resets),
            }
        }
        Ok(())
    }

    /// Ready when the client has not read for too long.
    fn poll_stall(&mut self) -> Poll<()> {
        let since = [self.socket.stuck_since(), self.within.unread.oldest()].into_iter().flatten().min();
        self.stall.poll(&mut Context::from_waker(&self.http_waker), since)
    }

    fn admit(&mut self) {
        let new = mem::take(&mut *self.within.new.lock());
        if !new.is_empty() {
            self.streams.extend(new);
            self.due.set(STREAMS);
        }
    }
}

impl<H: Http, S: AsyncRead + AsyncWrite + Unpin> Future for Turns<H, S> {
    type Output = Result<(), ConnectionError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        this.due.begin_turn(cx.waker());
        this.admit();
        let began = Instant::now();
        for round in 0..ROUNDS {
            if round > 0 && began.elapsed() >= LONGEST {
                break;
            }
            let due = this.due.take();
            if due == 0 {
                break;
            }
            if due & STREAMS != 0 {
                this.poll_streams()?;
            }
            if due & HTTP != 0
                && let Poll::Ready(ended) = this.poll_http()
            {
                // The last words, if there is room for them.
                _ = this.socket.end_turn(cx);
                return Poll::Ready(Ok(ended?));
            }
            // Also after the last round: what has begun is due.
            this.admit();
        }
        // Where there is no room, HTTP waits for it.
        this.socket.end_turn(&mut Context::from_waker(&this.http_waker))?;
        if this.poll_stall().is_ready() {
            return Poll::Ready(Err(ConnectionError::Stalled));
        }
        this.due.end_turn();
        Poll::Pending
    }
}

impl<H, S> Drop for Turns<H, S> {
    /// Futures that were never polled hold what they are held by.
    fn drop(&mut self) {
        let unpolled = mem::take(&mut *self.within.new.lock());
        drop(unpolled);
    }
}

const HTTP: u8 = 1;
const STREAMS: u8 = 2;
/// During a turn nobody has to wake the task.
const TURN: u8 = 4;

/// What has to be polled.
struct Due {
    flags: AtomicU8,
    task: AtomicWaker,
}

impl Due {
    fn begin_turn(&self, task: &Waker) {
        self.task.register(task);
        self.flags.fetch_or(TURN, Ordering::AcqRel);
    }

    fn set(&self, part: u8) {
        self.flags.fetch_or(part, Ordering::AcqRel);
    }

    /// What is due, and now no longer is.
    fn take(&self) -> u8 {
        self.flags.swap(TURN, Ordering::AcqRel) & !TURN
    }

    fn end_turn(&self) {
        if self.flags.fetch_and(!TURN, Ordering::AcqRel) != TURN {
            self.task.wake();
        }
    }

    fn wake(&self, part: u8) {
        // Who was first has woken the task.
        if self.flags.fetch_or(part, Ordering::AcqRel) == 0 {
            self.task.wake();
        }
    }
}

/// A waker of a part of the connection.
struct Part {
    due: Arc<Due>,
    flag: u8,
}

impl Wake for Part {
    fn wake(self: Arc<Self>) {
        self.due.wake(self.flag);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.due.wake(self.flag);
    }
}

#[cfg(test)]
mod tests;
