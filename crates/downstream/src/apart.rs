//! Work that takes long, beside the tasks that share a thread of the runtime with it.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::{Handle, RuntimeFlavor};

/// How many names are much: subscribing to them, or answering them, takes longer than others should wait for.
const MANY: usize = 2000;
/// How many may work apart at once: each needs a thread, and what it takes of the processors the other tasks have not.
const MOST: usize = 4;

static APART: AtomicUsize = AtomicUsize::new(0);

/// Does `work` with as many `names`. If that takes long, another thread takes over the tasks of this one meanwhile.
pub(crate) fn apart<T>(names: usize, work: impl FnOnce() -> T) -> T {
    let may = || Handle::try_current().is_ok_and(|of| of.runtime_flavor() == RuntimeFlavor::MultiThread);
    match (names >= MANY && may()).then(|| Place::take(&APART)).flatten() {
        Some(_place) => tokio::task::block_in_place(work),
        None => work(),
    }
}

/// A place among those who work apart.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(taken: &'a AtomicUsize) -> Option<Self> {
        let one_more = |taken| (taken < MOST).then_some(taken + 1);
        taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok().map(|_| Self(taken))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d14_few_work_apart_at_once() {
        let taken = AtomicUsize::new(0);
        let places: Vec<_> = (0..MOST).map_while(|_| Place::take(&taken)).collect();
        assert_eq!(places.len(), MOST);
        assert!(Place::take(&taken).is_none());
        drop(places);
        assert!(Place::take(&taken).is_some());
    }
}
