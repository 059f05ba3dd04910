//! Which removals are withheld until they are confirmed.

use super::upstream::Reader;
use crate::file;
use crate::settings::ShrinkGuard;

impl Reader<'_> {
    pub(super) fn shrink_guard(&mut self, file: &file::ShrinkGuard) -> ShrinkGuard {
        let guard = ShrinkGuard {
            percent: file.percent,
            minimum: file.minimum,
            confirm_after: file.confirm_after.0.0,
        };
        if !(1..=99).contains(&guard.percent) {
            let message =
                format!("{} is out of range; it is a number of percent from 1 to 99", guard.percent);
            self.add("shrink_guard.percent", message);
        }
        if guard.minimum == 0 {
            self.add("shrink_guard.minimum", "0 is too small; the least is 1");
        }
        if guard.confirm_after.is_zero() {
            self.add("shrink_guard.confirm_after", "it must be longer than nothing");
        }
        guard
    }
}
