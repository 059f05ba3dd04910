//! The turns of a connection: HTTP and the streams within it, as one task.
//!
//! A change wakes a stream, which hands its frame to the HTTP library, which has something to write; an
//! acknowledgement goes the other way. All of that happens in one turn of one task, and ends with one write.
//! HTTP and the streams have wakers of their own, so that each is polled only if it is due: without them, the task
//! would be woken again by what it does to itself.
//!
//! Invariants: whoever is woken is polled before the task sleeps (a wake during a turn is seen by the turn, or
//! wakes the task); a turn ends after [`ROUNDS`], so that no connection keeps a thread for itself.

use std::future::{Future, ready};
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{FuturesUnordered, Stream as _};
use futures_util::task::AtomicWaker;
use hyper::rt::Executor;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};

use super::ConnectionError;
use super::socket::Socket;

/// How often HTTP and the streams may wake each other in one turn.
const ROUNDS: usize = 16;

/// How many streams a client may reset before it has said anything on them, beyond those on which it has: an Envoy
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
pub(crate) struct Within(Arc<Mutex<Vec<BoxFuture<'static, Event>>>>, Arc<AtomicUsize>);

impl Within {
    /// A stream is over. Those on which the client has said something make up for those on which it has not.
    pub(crate) fn stream_ended(&self, said_something: bool) {
        let count = |resets: usize| if said_something { resets.checked_sub(1) } else { Some(resets + 1) };
        let before = self.1.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count);
        if !said_something && before.is_ok_and(|resets| resets == MAX_RESETS) {
            self.0.lock().push(ready(Event::Resets).boxed());
        }
    }

    /// Drains the connection once `drain` is over, and runs `then`.
    pub(super) fn drain_after(&self, drain: BoxFuture<'static, ()>, then: BoxFuture<'static, ()>) {
        self.0.lock().push(drain.map(|()| Event::Drain(then)).boxed());
    }
}

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Within {
    fn execute(&self, future: F) {
        self.0.lock().push(future.map(|()| Event::Ended).boxed());
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
    streams: FuturesUnordered<BoxFuture<'static, Event>>,
    due: Arc<Due>,
    http_waker: Waker,
    streams_waker: Waker,
}

impl<H: Http, S: AsyncRead + AsyncWrite + Unpin> Turns<H, S> {
    pub(super) fn new(http: H, socket: Socket<S>, within: Within) -> Self {
        let due = Arc::new(Due { flags: AtomicU8::new(HTTP), task: AtomicWaker::new() });
        Self {
            http: Box::pin(http),
            socket,
            within,
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

    fn admit(&mut self) {
        let new = mem::take(&mut *self.within.0.lock());
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
        for _ in 0..ROUNDS {
            this.admit();
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
        }
        // Where there is no room, HTTP waits for it.
        this.socket.end_turn(&mut Context::from_waker(&this.http_waker))?;
        this.due.end_turn();
        Poll::Pending
    }
}

impl<H, S> Drop for Turns<H, S> {
    /// Futures that were never polled hold what they are held by.
    fn drop(&mut self) {
        let unpolled = mem::take(&mut *self.within.0.lock());
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
mod tests {
    use std::future::{pending, poll_fn};

    use tokio::io::{DuplexStream, duplex};

    use super::*;

    /// Counts how often the task is woken.
    #[derive(Default)]
    struct Task(AtomicUsize);

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// HTTP that does nothing but count, and ends when it is drained.
    #[derive(Clone, Default)]
    struct Idle(Arc<Mutex<Polled>>);

    #[derive(Default)]
    struct Polled {
        times: usize,
        drained: bool,
        waker: Option<Waker>,
    }

    impl Future for Idle {
        type Output = hyper::Result<()>;

        fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
            let mut polled = self.0.lock();
            polled.times += 1;
            polled.waker = Some(cx.waker().clone());
            if polled.drained { Poll::Ready(Ok(())) } else { Poll::Pending }
        }
    }

    impl Http for Idle {
        fn drain(self: Pin<&mut Self>) {
            self.0.lock().drained = true;
        }
    }

    /// A connection that a test turns.
    struct Turned {
        turns: Turns<Idle, DuplexStream>,
        http: Idle,
        task: Arc<Task>,
        _client: DuplexStream,
    }

    impl Turned {
        fn new() -> Self {
            let (ours, client) = duplex(100);
            let http = Idle::default();
            let turns = Turns::new(http.clone(), Socket::new(ours), Within::default());
            Self { turns, http, task: Arc::default(), _client: client }
        }

        fn turn(&mut self) -> Poll<()> {
            let waker = Waker::from(Arc::clone(&self.task));
            Pin::new(&mut self.turns).poll(&mut Context::from_waker(&waker)).map(|ended| ended.unwrap())
        }

        fn woken(&self) -> usize {
            self.task.0.swap(0, Ordering::Relaxed)
        }
    }

    #[test]
    fn only_what_is_woken_is_polled() {
        let mut turned = Turned::new();
        let polled = Arc::new(Mutex::new((0, None)));
        let seen = Arc::clone(&polled);
        turned.turns.within.execute(poll_fn(move |cx| {
            let mut seen = seen.lock();
            *seen = (seen.0 + 1, Some(cx.waker().clone()));
            Poll::Pending
        }));
        assert!(turned.turn().is_pending());
        assert_eq!((turned.http.0.lock().times, polled.lock().0), (1, 1));

        let stream = polled.lock().1.clone().unwrap();
        stream.wake_by_ref();
        stream.wake_by_ref();
        assert_eq!(turned.woken(), 1, "the task is woken once");
        assert!(turned.turn().is_pending());
        assert_eq!((turned.http.0.lock().times, polled.lock().0), (1, 2));

        turned.http.0.lock().waker.clone().unwrap().wake();
        assert_eq!(turned.woken(), 1);
        assert!(turned.turn().is_pending());
        assert_eq!((turned.http.0.lock().times, polled.lock().0), (2, 2));
        assert_eq!(turned.woken(), 0);
    }

    #[test]
    fn what_is_woken_in_a_turn_is_polled_in_it() {
        let mut turned = Turned::new();
        assert!(turned.turn().is_pending());
        let http = turned.http.0.lock().waker.clone().unwrap();
        turned.turns.within.execute(poll_fn(move |_| {
            http.wake_by_ref();
            Poll::Ready(())
        }));
        assert!(turned.turn().is_pending());
        assert_eq!(turned.http.0.lock().times, 2);
        assert_eq!(turned.woken(), 0, "the task has nothing left to do");
    }

    #[test]
    fn a_turn_ends_and_what_is_still_due_is_for_the_next() {
        let mut turned = Turned::new();
        let times = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&times);
        turned.turns.within.execute(poll_fn(move |cx| {
            counted.fetch_add(1, Ordering::Relaxed);
            cx.waker().wake_by_ref();
            Poll::Pending
        }));
        assert!(turned.turn().is_pending());
        let once = times.load(Ordering::Relaxed);
        assert_eq!(turned.woken(), 1);
        assert!(turned.turn().is_pending());
        assert!(times.load(Ordering::Relaxed) > once);
    }

    #[test]
    fn a_connection_is_drained_when_it_should_end() {
        let mut turned = Turned::new();
        turned.turns.within.execute(pending());
        assert!(turned.turn().is_pending());
        let (http, seen) = (turned.http.clone(), Arc::new(Mutex::new(None)));
        let see = Arc::clone(&seen);
        let then = async move { *see.lock() = Some(http.0.lock().drained) };
        turned.turns.within.drain_after(ready(()).boxed(), then.boxed());
        assert!(turned.turn().is_ready());
        assert_eq!(*seen.lock(), Some(true), "HTTP is told before the rest is done");
    }

    #[test]
    fn a_client_that_only_resets_streams_is_cut_off() {
        let mut turned = Turned::new();
        let within = turned.turns.within.clone();
        (0..MAX_RESETS).for_each(|_| within.stream_ended(false));
        within.stream_ended(true);
        within.stream_ended(false);
        assert!(turned.turn().is_pending());
        within.stream_ended(false);
        let mut cx = Context::from_waker(Waker::noop());
        let ended = Pin::new(&mut turned.turns).poll(&mut cx);
        assert!(matches!(ended, Poll::Ready(Err(ConnectionError::Resets))));
    }

    #[test]
    fn futures_that_were_never_polled_do_not_keep_themselves() {
        let turned = Turned::new();
        let (within, kept) = (turned.turns.within.clone(), Arc::new(()));
        let (held, held_by) = (Arc::clone(&kept), within.clone());
        within.execute(async move {
            pending::<()>().await;
            drop((held, held_by));
        });
        drop(turned);
        assert_eq!(Arc::strong_count(&kept), 1);
    }
}
