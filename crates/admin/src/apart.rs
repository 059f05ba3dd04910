//! What takes long, apart from the threads that serve clients.

use tokio::sync::Semaphore;
use tokio::task::JoinError;

/// How much is worked on at once, so that whoever looks takes no more than their share of the processors.
const AT_ONCE: usize = 2;

static TURNS: Semaphore = Semaphore::const_new(AT_ONCE);

/// Does `work` where it holds up nobody.
///
/// # Errors
/// When it panics.
pub(crate) async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    let turn = TURNS.acquire().await;
    tokio::task::spawn_blocking(move || {
        let done = work();
        drop(turn);
        done
    })
    .await
}
