//! Bytes of which many clients have equal ones, held once.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;

/// Below this many, nothing is cleaned up.
const FLOOR: usize = 64;

/// Equal bytes, shared for as long as anyone holds them.
#[derive(Debug, Default)]
pub(crate) struct Interned(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    held: HashSet<Arc<[u8]>>,
    clean_at: usize,
}

impl Interned {
    /// The bytes that everyone holds who came with equal ones.
    pub(crate) fn share(&self, bytes: Arc<[u8]>) -> Arc<[u8]> {
        let mut table = self.0.lock();
        if let Some(held) = table.held.get(&bytes) {
            return Arc::clone(held);
        }
        if table.held.len() >= table.clean_at.max(FLOOR) {
            table.held.retain(|held| Arc::strong_count(held) > 1);
            table.clean_at = 2 * table.held.len();
        }
        table.held.insert(Arc::clone(&bytes));
        bytes
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
        assert!(interned.0.lock().held.len() <= FLOOR + 1);
        assert!(Arc::ptr_eq(&first, &interned.share(Arc::from(*b"a"))), "somebody has it");
    }
}
