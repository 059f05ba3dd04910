//! New streams take turns with their first responses, so that a herd does not keep those that run from being served.
//!
//! A turn lasts until the client has answered its first response, or is gone, or was given time enough. Turns are
//! given in the order in which they were asked for. Time passes also for a stream that does not take its turn: it may
//! have nothing to send any more, or a client that does not read.

use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::future::FutureExt as _;
use tokio::sync::oneshot;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// How long a client may take to answer its first response before another's turn begins.
const PATIENCE: Duration = Duration::from_secs(2);

/// The turns that there are at once.
pub(super) struct Turns(Arc<Semaphore>);

impl Turns {
    pub(super) fn new(at_once: usize) -> Self {
        Self(Arc::new(Semaphore::new(at_once.min(Semaphore::MAX_PERMITS))))
    }

    pub(super) fn next(&self) -> Turn {
        Turn::Ahead(Arc::clone(&self.0))
    }
}

/// A stream's turn.
pub(crate) enum Turn {
    /// There was nothing to send yet.
    Ahead(Arc<Semaphore>),
    /// It waits.
    Waits(Box<Waiting>),
    /// It may be sent its first response now.
    Now(Place),
    /// It was, and has yet to answer.
    Served { _place: Place },
    /// It is a stream that runs.
    Over,
}

/// In the queue, or before its head. Given up when dropped.
pub(crate) struct Place {
    turns: Arc<Semaphore>,
    /// Closed when it was held for long enough.
    held: oneshot::Sender<()>,
}

/// In the queue. Boxed, since most streams are not.
pub(crate) struct Waiting {
    begins: oneshot::Receiver<()>,
    place: Place,
}

impl Turn {
    /// Waits for the turn of a stream that may have something to send. Those that run do not wait.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            match self {
                Self::Ahead(turns) => *self = Self::ask(turns),
                Self::Waits(waiting) => {
                    let begun = ready!(Pin::new(&mut waiting.begins).poll(cx));
                    *self = mem::replace(self, Self::Over).begin(begun.is_ok());
                }
                Self::Now(_) | Self::Served { .. } | Self::Over => return Poll::Ready(()),
            }
        }
    }

    /// Gets in line.
    fn ask(turns: &Arc<Semaphore>) -> Self {
        let mut permit = Box::pin(Arc::clone(turns).acquire_owned());
        let (held, given_up) = oneshot::channel();
        let place = Place { turns: Arc::clone(turns), held };
        match (&mut permit).now_or_never() {
            Some(permit) => {
                tokio::spawn(hold(permit, given_up));
                Self::Now(place)
            }
            None => {
                let (begin, begins) = oneshot::channel();
                tokio::spawn(wait(permit, begin, given_up));
                Self::Waits(Box::new(Waiting { begins, place }))
            }
        }
    }

    /// The turn of who has waited, unless that was over before it was taken.
    fn begin(self, begun: bool) -> Self {
        match self {
            Self::Waits(waiting) if begun && waiting.place.held.is_closed() => {
                Self::Ahead(waiting.place.turns)
            }
            Self::Waits(waiting) => Self::Now(waiting.place),
            other => other,
        }
    }

    /// Whether it was sent something now that it may be. Who has nothing to be sent lets others go first.
    pub(crate) fn used(&mut self, used: bool) {
        *self = match mem::replace(self, Self::Over) {
            Self::Now(place) if used => Self::Served { _place: place },
            Self::Now(place) => Self::Ahead(place.turns),
            other => other,
        };
    }

    /// The client has answered.
    pub(crate) fn end(&mut self) {
        if let Self::Served { .. } = self {
            *self = Self::Over;
        }
    }
}

type Permit = Result<OwnedSemaphorePermit, AcquireError>;

/// Keeps `permit` until it is given up, or its time is over.
async fn hold(permit: Permit, given_up: oneshot::Receiver<()>) {
    _ = timeout(PATIENCE, given_up).await;
    drop(permit);
}

/// Waits for `permit`, and keeps it.
async fn wait(
    permit: impl Future<Output = Permit>,
    begin: oneshot::Sender<()>,
    mut given_up: oneshot::Receiver<()>,
) {
    tokio::select! {
        _ = &mut given_up => {}
        permit = permit => {
            _ = begin.send(());
            hold(permit, given_up).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::time::Instant;

    use super::*;

    async fn taken(turn: &mut Turn) {
        let comes = timeout(Duration::from_secs(60), poll_fn(|cx| turn.poll(cx)));
        comes.await.expect("every turn comes");
        turn.used(true);
    }

    #[tokio::test(start_paused = true)]
    async fn turns_are_given_in_order() {
        let turns = Turns::new(1);
        let mut first = turns.next();
        taken(&mut first).await;
        let (turned, mut order) = tokio::sync::mpsc::unbounded_channel();
        for i in 0..5 {
            let (mut turn, turned) = (turns.next(), turned.clone());
            tokio::spawn(async move {
                taken(&mut turn).await;
                turned.send(i).unwrap();
                turn.end();
            });
            tokio::task::yield_now().await;
        }
        assert!(order.try_recv().is_err(), "nobody is served beside the first");
        let start = Instant::now();
        first.end();
        for i in 0..5 {
            assert_eq!(order.recv().await, Some(i));
        }
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_answer_holds_up_nobody_for_long() {
        let turns = Turns::new(1);
        let (mut silent, mut gone, mut next) = (turns.next(), turns.next(), turns.next());
        taken(&mut silent).await;
        let start = Instant::now();
        taken(&mut gone).await;
        assert_eq!(start.elapsed(), PATIENCE);
        drop(gone);
        taken(&mut next).await;
        assert_eq!(start.elapsed(), PATIENCE);
        silent.end();
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_take_its_turn_holds_up_nobody_for_long_and_may_ask_again() {
        let turns = Turns::new(1);
        let (mut first, mut late, mut next) = (turns.next(), turns.next(), turns.next());
        taken(&mut first).await;
        assert!(poll_fn(|cx| Poll::Ready(late.poll(cx))).await.is_pending());
        let start = Instant::now();
        first.end();
        taken(&mut next).await;
        assert_eq!(start.elapsed(), PATIENCE);
        assert!(poll_fn(|cx| Poll::Ready(late.poll(cx))).await.is_pending(), "it is another's turn");
        next.end();
        taken(&mut late).await;
        assert_eq!(start.elapsed(), PATIENCE);
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_nothing_to_be_sent_lets_others_go_first() {
        let turns = Turns::new(1);
        let (mut cold, mut warm) = (turns.next(), turns.next());
        poll_fn(|cx| cold.poll(cx)).await;
        cold.used(false);
        let start = Instant::now();
        taken(&mut warm).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
        warm.end();
        taken(&mut cold).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
    }
}
