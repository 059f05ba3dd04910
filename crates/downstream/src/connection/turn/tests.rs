use std::future::{pending, poll_fn};

use tokio::io::{DuplexStream, duplex};

use super::*;

/// How long a client may not read.
const LIMIT: Duration = Duration::from_secs(60);

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
        let turns = Turns::new(http.clone(), Socket::new(ours), Within::default(), LIMIT);
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

/// Counts, and begins the next, whose number is one less.
fn begin(within: &Within, left: usize, begun: &Arc<AtomicUsize>) {
    let (inner, counted) = (within.clone(), Arc::clone(begun));
    within.execute(poll_fn(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        if left > 1 {
            begin(&inner, left - 1, &counted);
        }
        Poll::Ready(())
    }));
}

#[tokio::test(start_paused = true)]
async fn what_begins_at_the_end_of_a_turn_is_for_the_next() {
    let mut turned = Turned::new();
    let begun = Arc::new(AtomicUsize::new(0));
    begin(&turned.turns.within.clone(), ROUNDS + 1, &begun);
    assert!(turned.turn().is_pending());
    assert_eq!((begun.load(Ordering::Relaxed), turned.woken()), (ROUNDS, 1));
    assert!(turned.turn().is_pending());
    assert_eq!((begun.load(Ordering::Relaxed), turned.woken()), (ROUNDS + 1, 0));
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
    assert_eq!(*seen.lock(), Some(true), "HTTP is notified before the rest is done");
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

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_cut_off() {
    for stuck in [false, true] {
        let mut turned = Turned::new();
        let body = http_body_util::Full::new(bytes::Bytes::from_static(b"x"));
        let mut body = turned.turns.within.watch(body);
        let mut given = None;
        match stuck {
            // The client's end has room for a hundred bytes.
            true => {
                let mut socket = turned.turns.socket.clone();
                let mut cx = Context::from_waker(Waker::noop());
                assert!(hyper::rt::Write::poll_write(Pin::new(&mut socket), &mut cx, &[0; 101]).is_ready());
            }
            false => {
                given = poll_fn(|cx| http_body::Body::poll_frame(Pin::new(&mut body), cx)).await;
                assert!(given.is_some());
            }
        }
        assert!(turned.turn().is_pending());
        tokio::time::advance(LIMIT - std::time::Duration::from_secs(1)).await;
        assert!(turned.turn().is_pending());
        assert_eq!(turned.woken(), 0);
        tokio::time::advance(std::time::Duration::from_secs(2)).await;
        assert_eq!(turned.woken(), 1, "stuck: {stuck}");
        let mut cx = Context::from_waker(Waker::noop());
        let ended = Pin::new(&mut turned.turns).poll(&mut cx);
        assert!(matches!(ended, Poll::Ready(Err(ConnectionError::Stalled))), "stuck: {stuck}");
        drop(given);
    }
}
