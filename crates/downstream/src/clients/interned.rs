//! Bytes of which many clients have equal ones, held once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dashmap::DashMap;

/// Below this many, nothing is cleaned up.
const FLOOR: usize = 64;

/// Equal bytes, shared for as long as anyone holds them.
#[derive(Debug, Default)]
pub(crate) struct Interned {
    held: DashMap<Arc<[u8]>, ()>,
    clean_at: AtomicUsize,
}

impl Interned {
    /// The bytes that everyone holds who came with equal ones.
    pub(crate) fn share(&self, bytes: Arc<[u8]>) -> Arc<[u8]> {
        if let Some(held) = self.held.get(&bytes) {
            return Arc::clone(held.key());
        }
        if self.held.len() >= self.clean_at.load(Ordering::Relaxed).max(FLOOR) {
            self.held.retain(|held, ()| Arc::strong_count(held) > 1);
            self.clean_at.store(2 * self.held.len(), Ordering::Relaxed);
        }
        // Another client may have come with equal bytes meanwhile.
        Arc::clone(self.held.entry(bytes).or_insert(()).key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d03_equal_bytes_are_held_once_and_only_while_somebody_has_them() {
        let interned = Interned::default();
        let first = interned.share(Arc::from(*b"a"));
        assert!(Arc::ptr_eq(&first, &interned.share(Arc::from(*b"a"))));
        for i in 0..1000_u32 {
            assert_eq!(*interned.share(Arc::from(i.to_le_bytes())), i.to_le_bytes());
        }
        assert!(interned.held.len() <= FLOOR + 1);
        assert!(Arc::ptr_eq(&first, &interned.share(Arc::from(*b"a"))), "somebody has it");
    }
}
