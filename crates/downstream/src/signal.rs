//! How a stream learns of changes.

use std::sync::{Arc, OnceLock};
use std::task::Context;

use futures_util::task::AtomicWaker;
use weir_database::{Quota, ViewListener};

use crate::node::Client;
use crate::peer::Peer;

/// Who is woken by changes: whoever polls last.
pub(crate) struct Signal {
    waker: AtomicWaker,
    /// That of the client.
    quota: Arc<Quota>,
    client: OnceLock<Arc<Client>>,
}

impl Signal {
    pub(crate) fn of(peer: &Peer) -> Self {
        Self { waker: AtomicWaker::new(), quota: Arc::clone(&peer.quota), client: OnceLock::new() }
    }

    pub(crate) fn register(&self, cx: &Context<'_>) {
        self.waker.register(cx.waker());
    }

    /// Makes known whose stream it is.
    pub(crate) fn belongs_to(&self, client: &Arc<Client>) {
        _ = self.client.set(Arc::clone(client));
    }
}

impl ViewListener for Signal {
    fn wake(&self) {
        self.waker.wake();
    }

    fn quota(&self) -> Option<&Arc<Quota>> {
        Some(&self.quota)
    }

    fn name(&self) -> Arc<str> {
        self.client.get().map_or_else(Arc::default, |client| client.id.as_str().into())
    }
}
