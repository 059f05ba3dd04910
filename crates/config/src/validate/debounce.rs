//! How bursts of a control plane are recognized.

use super::upstream::Reader;
use crate::file;
use crate::settings::{Acknowledge, Debounce};

impl Reader<'_> {
    pub(super) fn debounce(&mut self, file: &file::Debounce, acknowledge: Acknowledge) -> Debounce {
        let debounce = Debounce { quiet: file.quiet.0.0, max: file.max.0.0 };
        if debounce.quiet.is_zero() {
            self.add("debounce.quiet", "it must be longer than nothing");
        }
        if debounce.max < debounce.quiet {
            let Debounce { quiet, max } = debounce;
            self.add("debounce.max", format!("{max:?} is shorter than debounce.quiet, which is {quiet:?}"));
        }
        if acknowledge != Acknowledge::OnReceipt {
            self.add("debounce", "it applies only with acknowledge = \"on-receipt\"");
        }
        debounce
    }
}
