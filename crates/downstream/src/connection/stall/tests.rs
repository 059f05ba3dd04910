use std::convert::Infallible;
use std::future::{pending, ready};
use std::task::Waker;

use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use http::{Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::duplex;
use tokio::time::{advance, sleep, timeout};

use super::*;
use crate::connection::{self, ConnectionError, Within};
use crate::settings::Settings;

const LIMIT: Duration = Duration::from_secs(60);

fn cx() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

/// A body with one chunk.
fn watch(unread: &Arc<Unread>) -> Watched<Full<Bytes>> {
    Watched::new(Full::new(Bytes::from_static(b"x")), unread)
}

fn chunk(body: &mut Watched<Full<Bytes>>) -> Chunk<Bytes> {
    match Pin::new(body).poll_frame(&mut cx()) {
        Poll::Ready(Some(Ok(frame))) => frame.into_data().ok().unwrap(),
        _ => panic!("there is something to send"),
    }
}

#[tokio::test(start_paused = true)]
async fn the_stream_that_has_waited_for_longest_counts() {
    const STEP: Duration = Duration::from_secs(1);
    let (unread, start) = (Arc::new(Unread::default()), Instant::now());
    assert_eq!(unread.oldest(), None);
    let mut chunks = Vec::new();
    for _ in 0..3 {
        // A body is forgotten when all of it was given.
        chunks.push(chunk(&mut watch(&unread)));
        assert_eq!(unread.oldest(), Some(start), "the turn ends");
        advance(STEP).await;
    }
    for waited in [1, 2] {
        chunks.remove(0);
        assert_eq!(unread.oldest(), Some(start + STEP * waited));
    }
    chunks.clear();
    assert_eq!(unread.oldest(), None);
}

#[tokio::test(start_paused = true)]
async fn a_stream_waits_since_something_of_it_was_taken() {
    let (unread, start) = (Arc::new(Unread::default()), Instant::now());
    let given = || Chunk::new(Bytes::new(), &unread, 7);
    let (first, second) = (given(), given());
    assert_eq!(unread.oldest(), Some(start));
    advance(LIMIT).await;
    let third = given();
    assert_eq!(unread.oldest(), Some(start), "what is given later does not count");
    drop(first);
    assert_eq!(unread.oldest(), Some(start + LIMIT));
    advance(LIMIT).await;
    drop((second, third));
    assert_eq!(unread.oldest(), None);
}

#[test]
fn what_is_taken_within_the_turn_was_never_waited_for() {
    let unread = Arc::new(Unread::default());
    let [first, second, third] = [(); 3].map(|()| chunk(&mut watch(&unread)));
    drop(second);
    drop(third);
    drop(first);
    let streams = unread.0.lock();
    assert!(streams.given.is_empty() && streams.waiting.is_empty(), "{streams:?}");
}

#[test]
fn a_chunk_is_the_bytes_that_it_is_of() {
    let unread = Arc::new(Unread::default());
    assert!(Watched::new(Full::new(Bytes::new()), &unread).is_end_stream(), "the end goes with the headers");
    let mut body = watch(&unread);
    assert!(!body.is_end_stream() && body.size_hint().exact() == Some(1));
    assert_eq!(chunk(&mut body).chunk(), b"x");
    assert!(body.is_end_stream(), "the end goes with the last bytes");

    let bytes = Bytes::from(b"abcdef".repeat(100));
    let mut chunk = Chunk::new(bytes.clone(), &unread, 1);
    let mut slices = [IoSlice::new(&[]); 2];
    assert_eq!((chunk.chunks_vectored(&mut slices), &*slices[0]), (1, &*bytes));
    chunk.advance(6);
    assert_eq!((chunk.remaining(), chunk.chunk()), (594, &bytes[6..]));
    let rest = chunk.copy_to_bytes(594);
    assert!(rest == bytes[6..] && rest.as_ptr() == bytes[6..].as_ptr(), "nothing is copied");
}

#[tokio::test(start_paused = true)]
async fn it_is_too_long_when_nothing_was_taken_for_the_whole_time() {
    let (mut stall, start) = (Stall::new(LIMIT), Instant::now());
    assert!(stall.poll(&mut cx(), Some(start)).is_pending());
    advance(LIMIT / 2).await;
    let later = Instant::now();
    assert!(stall.poll(&mut cx(), Some(later)).is_pending(), "something was taken");
    advance(LIMIT / 2).await;
    assert!(stall.poll(&mut cx(), Some(later)).is_pending());
    advance(LIMIT / 2).await;
    assert!(stall.poll(&mut cx(), None).is_pending(), "everything was taken");
    assert!(stall.poll(&mut cx(), Some(later)).is_ready());
}

fn settings() -> Arc<Settings> {
    let mut settings = Settings::default();
    settings.downstream.stall_timeout = LIMIT.try_into().unwrap();
    Arc::new(settings)
}

/// What a client lets come before it reads, in bytes, where it states nothing else (RFC 9113, section 6.9.2).
const DEFAULT_WINDOW: u32 = 65_535;

/// Larger than that.
const LARGE: usize = 100_000;

/// How long the tests look on.
const LONG: Duration = Duration::from_secs(LIMIT.as_secs() * 20);

type Boxed = BoxBody<Bytes, Infallible>;

/// How the connection of a client ends that is answered with `body`, of which it lets `window` bytes come before it
/// reads any; none if it lasts for long. The client answers pings.
async fn serve<F: Future<Output = ()>>(
    window: u32,
    body: fn() -> Boxed,
    client: impl FnOnce(Incoming) -> F,
) -> Option<Result<(), ConnectionError>> {
    let (ours, theirs) = duplex(4 << 10);
    let service =
        |within: Within| service_fn(move |_| ready(Ok::<_, Infallible>(Response::new(within.watch(body())))));
    let server = connection::serve(ours, settings(), service, pending().boxed(), ready(()).boxed());
    let asks = async {
        let mut http = http2::Builder::new(TokioExecutor::new());
        http.initial_stream_window_size(window).initial_connection_window_size(DEFAULT_WINDOW);
        let (mut sender, http) = http.handshake(TokioIo::new(theirs)).await.unwrap();
        tokio::spawn(http);
        let request = Request::get("http://x/").body(Empty::<Bytes>::new()).unwrap();
        client(sender.send_request(request).await.unwrap().into_body()).await;
    };
    timeout(LONG, async { tokio::join!(server, asks).0 }).await.ok()
}

/// Chunks of these sizes, and no end.
fn chunks(sizes: &'static [usize]) -> Boxed {
    let chunks = stream::iter(sizes).map(|size| Ok(http_body::Frame::data(zeros(*size))));
    BodyExt::boxed(StreamBody::new(chunks.chain(stream::pending())))
}

fn zeros(size: usize) -> Bytes {
    Bytes::from(vec![0; size])
}

#[tokio::test(start_paused = true)]
async fn who_leaves_one_response_unread_is_cut_off_whatever_the_window() {
    let streamed = || chunks(&[LARGE]);
    let whole = || Full::new(zeros(LARGE)).boxed();
    for window in [0, 1, DEFAULT_WINDOW] {
        for body in [streamed, whole] {
            let (start, mut unread) = (Instant::now(), None);
            let leaves = |body| {
                unread = Some(body);
                ready(())
            };
            let served = serve(window, body, leaves).await;
            assert!(matches!(served, Some(Err(ConnectionError::Stalled))), "window {window}: {served:?}");
            let after = start.elapsed();
            assert!((LIMIT..LIMIT * 2).contains(&after), "window {window}: after {after:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn who_takes_each_response_in_time_is_not_cut_off() {
    const CHUNKS: usize = 8;
    let body = || chunks(&[LARGE; CHUNKS]);
    let (start, read) = (Instant::now(), Mutex::new(0));
    let reads = |mut body: Incoming| {
        let read = &read;
        async move {
            while *read.lock() < LARGE * CHUNKS {
                *read.lock() += body.frame().await.unwrap().unwrap().into_data().unwrap().len();
                sleep(LIMIT / 20).await;
            }
            assert!(start.elapsed() > LIMIT * 3, "slowly: {:?}", start.elapsed());
            pending().await
        }
    };
    let served = serve(DEFAULT_WINDOW, body, reads).await;
    assert!(served.is_none(), "{served:?} after {} bytes", read.lock());
    assert_eq!(*read.lock(), LARGE * CHUNKS);
}

#[tokio::test(start_paused = true)]
async fn what_has_been_written_out_is_not_waited_for() {
    for body in [
        || chunks(&[0, 1, 1_000, 40_000, 1_000, 1, 0]),
        || Full::new(zeros(40_000)).boxed(),
        || Full::new(zeros(1)).boxed(),
    ] {
        let holds = |body: Incoming| async move {
            pending::<()>().await;
            drop(body);
        };
        let served = serve(DEFAULT_WINDOW, body, holds).await;
        assert!(served.is_none(), "{served:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_that_the_client_gives_up_is_not_waited_for() {
    for body in [|| chunks(&[LARGE]), || Full::new(zeros(LARGE)).boxed()] {
        for window in [0, 1, DEFAULT_WINDOW] {
            let gives_up = |body: Incoming| async move {
                sleep(LIMIT / 2).await;
                drop(body);
                pending().await
            };
            let served = serve(window, body, gives_up).await;
            assert!(served.is_none(), "window {window}: {served:?}");
        }
    }
}
