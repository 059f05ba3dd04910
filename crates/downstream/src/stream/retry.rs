//! What was refused is asked for again, for as long as the client wants it.

use std::sync::Weak;
use std::time::Duration;

use tokio::time::sleep;
use weir_database::Subscriber as _;

use super::Stream;

/// The longest between two attempts, and the half of it.
const LONGEST: Duration = Duration::from_secs(60);

impl Stream {
    /// Asks for what was refused. Whether anything still is.
    fn retry(&self) -> bool {
        let mut state = self.state.lock();
        let Some(open) = &mut state.open else { return false };
        open.conversation.retry();
        open.retries = open.conversation.refused() > 0;
        if open.conversation.is_due() {
            self.signal.wake();
        }
        open.retries
    }
}

/// Asks until nothing is refused any more or the stream is over: first after `admission.retry_after`, then less and less
/// often; each stream at times of its own.
pub(super) async fn from_time_to_time(stream: Weak<Stream>) {
    let Some(mut wait) = stream.upgrade().map(|stream| stream.shared.settings().admission.retry_after) else {
        return;
    };
    loop {
        sleep(wait.mul_f64(1.0 + fastrand::f64())).await;
        wait = (wait * 2).min(LONGEST);
        let Some(stream) = stream.upgrade() else { return };
        if !stream.retry() {
            return;
        }
    }
}
