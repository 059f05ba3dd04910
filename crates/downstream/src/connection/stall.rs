//! Clients that do not read: since when, and whether that is for too long.
//!
//! Owns the times only. Two things tell that a client does not read: a stream that has something to send and no room
//! for it, since HTTP/2 leaves that to the client; and a socket that takes nothing any more.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::time::{Instant, Sleep, sleep_until};

/// For how many streams there is room on a connection that waits.
const FEW: usize = 16;

/// The streams of a connection with something that the client has not taken, and since when.
#[derive(Debug, Default)]
pub(super) struct Unread(Mutex<Streams>);

#[derive(Debug, Default)]
struct Streams {
    next: u64,
    /// Those that were given something in this turn. Nearly all of it is taken within the turn.
    given: Vec<u64>,
    since: HashMap<u64, Instant>,
}

impl Unread {
    /// Since when the one waits that has waited for longest: it was given something in an earlier turn, or in this
    /// one, which ends now.
    pub(super) fn oldest(&self) -> Option<Instant> {
        let streams = &mut *self.0.lock();
        if !streams.given.is_empty() {
            let now = Instant::now();
            streams.since.extend(streams.given.drain(..).map(|id| (id, now)));
        }
        streams.since.values().min().copied()
    }
}

impl Streams {
    fn take(&mut self, id: u64) {
        if self.given.last() == Some(&id) {
            self.given.pop();
        } else if self.since.remove(&id).is_none() {
            self.given.retain(|given| *given != id);
        }
        if self.since.is_empty() && self.since.capacity() > FEW {
            self.since = HashMap::new();
        }
        if self.given.is_empty() && self.given.capacity() > FEW {
            self.given = Vec::new();
        }
    }
}

/// A body of which it is noted while the client does not take what was given.
pub(crate) struct Watched<B> {
    body: B,
    unread: Arc<Unread>,
    /// Names it among the unread.
    id: u64,
    waits: bool,
}

impl<B> Watched<B> {
    pub(super) fn new(body: B, unread: &Arc<Unread>) -> Self {
        let mut streams = unread.0.lock();
        streams.next += 1;
        Self { body, unread: Arc::clone(unread), id: streams.next, waits: false }
    }

    fn waits(&mut self, waits: bool) {
        if std::mem::replace(&mut self.waits, waits) == waits {
            return;
        }
        let mut streams = self.unread.0.lock();
        match waits {
            true => streams.given.push(self.id),
            false => streams.take(self.id),
        }
    }
}

/// The HTTP library asks for more when there is room, so that what was given before has been taken. After bytes it has to
/// ask for the end too, so that it does not forget a body whose bytes are still here.
impl<B: Body + Unpin> Body for Watched<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        self.waits(false);
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        self.waits(matches!(&polled, Poll::Ready(Some(Ok(frame))) if frame.is_data()));
        polled
    }

    fn is_end_stream(&self) -> bool {
        !self.waits && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B> Drop for Watched<B> {
    fn drop(&mut self) {
        self.waits(false);
    }
}

/// Tells when a client has not read for too long.
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
mod tests {
    use std::task::Waker;

    use bytes::Bytes;
    use http_body_util::Full;
    use tokio::time::advance;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    fn cx() -> Context<'static> {
        Context::from_waker(Waker::noop())
    }

    fn poll(body: &mut Watched<Full<Bytes>>) -> bool {
        matches!(Pin::new(body).poll_frame(&mut cx()), Poll::Ready(Some(_)))
    }

    #[tokio::test(start_paused = true)]
    async fn the_stream_that_has_waited_for_longest_counts() {
        let unread = Arc::new(Unread::default());
        let nothing = Watched::new(Full::new(Bytes::new()), &unread);
        assert!(nothing.is_end_stream(), "a status by itself goes with the headers");
        let mut bodies = [(); 3].map(|()| Watched::new(Full::new(Bytes::from_static(b"x")), &unread));
        assert_eq!(unread.oldest(), None);
        let start = Instant::now();
        for body in &mut bodies {
            assert!(poll(body), "there is something to send");
            assert!(!body.is_end_stream(), "it is asked again");
            assert_eq!(unread.oldest(), Some(start), "the turn ends");
            advance(Duration::from_secs(1)).await;
        }
        assert_eq!(unread.oldest(), Some(start));
        let [mut first, second, third] = bodies;
        assert!(!poll(&mut first), "that is all");
        assert_eq!(unread.oldest(), Some(start + Duration::from_secs(1)));
        drop(second);
        assert_eq!(unread.oldest(), Some(start + Duration::from_secs(2)));
        drop((first, third));
        assert_eq!(unread.oldest(), None);
    }

    #[test]
    fn what_is_taken_within_the_turn_was_never_waited_for() {
        let unread = Arc::new(Unread::default());
        let mut bodies = [(); 3].map(|()| Watched::new(Full::new(Bytes::from_static(b"x")), &unread));
        bodies.iter_mut().for_each(|body| assert!(poll(body)));
        let [first, second, mut third] = bodies;
        drop(second);
        assert!(!poll(&mut third));
        drop(first);
        let streams = unread.0.lock();
        assert!(streams.given.is_empty() && streams.since.is_empty(), "{streams:?}");
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
}
