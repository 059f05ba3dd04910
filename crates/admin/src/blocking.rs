//! What takes long, apart from the threads that serve clients.

use std::sync::{Arc, Weak};

use tokio::sync::Semaphore;
use tokio::task::JoinError;

/// How much is worked on at once, so that whoever looks takes no more than their share of the processors.
const AT_ONCE: usize = 2;

static TURNS: Semaphore = Semaphore::const_new(AT_ONCE);

/// The turn of the metrics: it waits for no list, however long that is.
static METRICS: Semaphore = Semaphore::const_new(1);

/// Whoever waits for the answer.
#[derive(Clone, Debug)]
pub(crate) struct Caller(Weak<()>);

impl Caller {
    /// Nobody waits any more: the connection has ended.
    pub(crate) fn is_gone(&self) -> bool {
        self.0.strong_count() == 0
    }
}

/// Does `work` where it holds up nobody.
///
/// # Errors
/// When it panics.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    run_blocking_for(|_| work()).await
}

/// As [`run_blocking`]. Work that may take long ends early when its caller is gone.
///
/// # Errors
/// When it panics.
pub(crate) async fn run_blocking_for<T: Send + 'static>(
    work: impl FnOnce(&Caller) -> T + Send + 'static,
) -> Result<T, JoinError> {
    in_turn(&TURNS, work).await
}

/// As [`run_blocking`], for the metrics.
///
/// # Errors
/// When it panics.
pub(crate) async fn count<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    in_turn(&METRICS, |_| work()).await
}

async fn in_turn<T: Send + 'static>(
    turns: &'static Semaphore,
    work: impl FnOnce(&Caller) -> T + Send + 'static,
) -> Result<T, JoinError> {
    // Dropped with this future.
    let waiting = Arc::new(());
    let caller = Caller(Arc::downgrade(&waiting));
    let turn = turns.acquire().await;
    tokio::task::spawn_blocking(move || {
        let done = work(&caller);
        drop(turn);
        done
    })
    .await
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn work_learns_that_its_caller_is_gone() {
        let ((begun, has_begun), (ended, has_ended)) = (oneshot::channel(), oneshot::channel());
        let work = tokio::spawn(run_blocking_for(move |caller| {
            begun.send(()).unwrap();
            while !caller.is_gone() {
                std::hint::spin_loop();
            }
            ended.send(()).unwrap();
        }));
        has_begun.await.unwrap();
        work.abort();
        has_ended.await.unwrap();
    }

    #[tokio::test]
    async fn the_metrics_do_not_wait_for_others() {
        let _all = TURNS.acquire_many(u32::try_from(AT_ONCE).unwrap()).await.unwrap();
        assert_eq!(count(|| 1).await.unwrap(), 1);
    }
}
