//! New streams take turns with their first responses, so that a herd does not keep those that run from being served.
//!
//! A turn lasts until the client has answered its first response, or is gone, or was given time enough. Turns are
//! given in the order in which they were asked for.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
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
    /// There was nothing to say yet.
    Ahead(Arc<Semaphore>),
    /// It waits.
    Waits(BoxFuture<'static, Option<OwnedSemaphorePermit>>),
    /// It may be sent its first response now.
    Now(OwnedSemaphorePermit),
    /// It was, and has yet to answer.
    Served { _turn: Served },
    /// It is a stream that runs.
    Over,
}

/// Ends a turn when dropped.
pub(crate) struct Served {
    _over: oneshot::Sender<()>,
}

impl Turn {
    /// Waits for the turn of a stream that may have something to say. Those that run do not wait.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Self::Ahead(turns) = self {
            let turns = Arc::clone(turns);
            *self = match Arc::clone(&turns).try_acquire_owned() {
                Ok(permit) => Self::Now(permit),
                Err(_) => Self::Waits(Box::pin(async { turns.acquire_owned().await.ok() })),
            };
        }
        if let Self::Waits(turn) = self {
            match turn.as_mut().poll(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(permit) => *self = permit.map_or(Self::Over, Self::Now),
            }
        }
        Poll::Ready(())
    }

    /// Whether it was sent something now that it may be. Who has nothing to be sent lets others go first.
    pub(crate) fn used(&mut self, used: bool) {
        if let Self::Now(_) = self
            && let Self::Now(permit) = std::mem::replace(self, Self::Over)
        {
            *self = if used {
                Self::Served { _turn: serve(permit) }
            } else {
                Self::Ahead(Arc::clone(permit.semaphore()))
            };
        }
    }

    /// The client has answered.
    pub(crate) fn end(&mut self) {
        if let Self::Served { .. } = self {
            *self = Self::Over;
        }
    }
}

/// Keeps `permit` until the turn is over, or its time.
fn serve(permit: OwnedSemaphorePermit) -> Served {
    let (over, is_over) = oneshot::channel();
    tokio::spawn(async move {
        _ = timeout(PATIENCE, is_over).await;
        drop(permit);
    });
    Served { _over: over }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::time::Instant;

    use super::*;

    async fn taken(turn: &mut Turn) {
        poll_fn(|cx| turn.poll(cx)).await;
        turn.used(true);
    }

    #[tokio::test(start_paused = true)]
    async fn turns_are_given_in_order() {
        let turns = Turns::new(1);
        let mut first = turns.next();
        taken(&mut first).await;
        let (told, mut order) = tokio::sync::mpsc::unbounded_channel();
        for i in 0..5 {
            let (mut turn, told) = (turns.next(), told.clone());
            tokio::spawn(async move {
                taken(&mut turn).await;
                told.send(i).unwrap();
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
