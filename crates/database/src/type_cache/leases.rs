//! Times to live: what upstream has to vouch for again and again.
//!
//! A variant whose time is over is gone for everybody, but its body is kept: upstream believes that it is
//! held, and a heartbeat that comes after all brings none. Then it is as if it had just been sent.

use std::sync::Arc;
use std::time::Instant;

use weir_types::{Heartbeat, Provenance};

use super::transaction::Transaction;

impl Transaction<'_> {
    /// Lets a variant live on that upstream vouches for. One that is not held stays unknown.
    pub(super) fn refresh(
        &mut self,
        Heartbeat { key, ttl }: &Heartbeat,
        provenance: Provenance,
        at: Option<Instant>,
    ) {
        let held = self.cache.variants.of(&key.name).and_then(|all| all.of(provenance).get(&key.constraints));
        let Some((held, at)) = held.zip(at) else { return };
        let refreshed = Arc::new(held.refreshed(at, *ttl));
        if self.is_wanted(&refreshed, provenance) {
            self.store(refreshed, provenance);
        } else {
            self.take(key, provenance);
        }
    }

    /// Ends what upstream has not vouched for in time. Returns how much that was.
    pub(super) fn expire(&mut self, now: Instant) -> usize {
        let mut expired = 0;
        while let Some(key) = self.cache.variants.expire(now, &mut self.changed) {
            tracing::info!(
                type_url = %self.cache.type_url, name = %key.name, constraints = %key.constraints,
                "resource expired: not refreshed within its time to live"
            );
            expired += 1;
        }
        expired
    }
}
