//! What waits for the clusters of a client does not do so for ever: the client may never accept them, or nobody may be
//! able to say what their endpoints are.

use std::mem;
use std::sync::{Arc, Weak};
use std::time::Duration;

use hyper::rt::Executor as _;
use tokio::time::sleep;
use weir_database::Subscriber as _;

use super::{Open, Stream};

/// How long it does: twice as long as Envoy itself waits for the endpoints of a cluster, where nothing else is
/// configured.
const PATIENCE: Duration = Duration::from_secs(30);

impl Stream {
    /// Sees to it that what waits does not do so for ever.
    pub(super) fn look_after(self: &Arc<Self>, open: &mut Open) {
        let waits = open.conversation.machine().waits().is_some();
        if waits && !mem::replace(&mut open.waits, true) {
            self.within.execute(not_for_ever(Arc::downgrade(self)));
        }
    }

    /// Which time it is that something waits, if it does. If not, nobody looks after it any longer.
    fn waits(&self) -> Option<u32> {
        let mut state = self.state.lock();
        let open = state.open.as_mut()?;
        let waits = open.conversation.machine().waits();
        open.waits = waits.is_some();
        waits
    }

    /// Has what still waits since this time wait no longer.
    fn go_on(&self, since: u32) {
        let mut state = self.state.lock();
        let Some(open) = &mut state.open else { return };
        if open.conversation.machine().waits() == Some(since) {
            tracing::info!(
                node = %open.conversation.client().id,
                "the clusters of a client are not ready, and what waits for them goes on"
            );
            self.shared.metrics.warming_timeout(self.dialect);
            open.conversation.go_on();
            self.signal.wake();
        }
    }
}

/// Sees to it until nothing waits.
async fn not_for_ever(stream: Weak<Stream>) {
    while let Some(since) = stream.upgrade().and_then(|stream| stream.waits()) {
        sleep(PATIENCE).await;
        let Some(stream) = stream.upgrade() else { return };
        stream.go_on(since);
    }
}
