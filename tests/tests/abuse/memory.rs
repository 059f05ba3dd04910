//! Whether Weir's memory stays as it is.

use weir_testkit::process::Weir;
use weir_testkit::wait::until;

use crate::serves;

/// By how much memory may grow under any attack, in bytes, beside what is configured: what an allocator keeps, and some
/// connections.
const FLAT: usize = 24 << 20;

/// What Weir had before an attack.
pub struct Memory<'a> {
    weir: &'a Weir,
    before: usize,
}

impl<'a> Memory<'a> {
    /// Of a Weir that has served a client, so that everything is there that it needs for one.
    pub async fn of(weir: &'a Weir) -> Self {
        serves(weir).await;
        Self { weir, before: weir.child().memory() }
    }

    /// By how much it has grown.
    pub fn growth(&self) -> usize {
        self.weir.child().memory().saturating_sub(self.before)
    }

    /// Panics if it has grown by more than an attack may cost, beside `allowed` bytes, and does not shrink again.
    pub async fn assert_within(&self, allowed: usize) {
        until(format!("memory within {FLAT} + {allowed} bytes, not {}", self.growth()), async || {
            (self.growth() <= FLAT + allowed).then_some(())
        })
        .await;
    }

    /// Panics if it has grown by more than an attack may cost.
    pub async fn assert_flat(&self) {
        self.assert_within(0).await;
    }
}
