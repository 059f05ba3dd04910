//! When a control plane is told that its responses are accepted.

use super::upstream::Reader;
use crate::file::{self, seconds};
use crate::settings::Acknowledge;
use crate::values::{AcknowledgeMode, NackUpstream};

impl Reader<'_> {
    pub(super) fn acknowledge(&mut self, file: &file::Upstream) -> Acknowledge {
        if file.acknowledge.unwrap_or_default() == AcknowledgeMode::OnReceipt {
            let reports = file.nack_upstream.unwrap_or_default() != NackUpstream::Never;
            for (key, set) in [
                ("acknowledge_share", file.acknowledge_share.is_some()),
                ("acknowledge_deadline", file.acknowledge_deadline.is_some()),
                ("nack_upstream", reports),
            ] {
                if set {
                    self.add(key, "it applies only with acknowledge = \"after-subscribers\"");
                }
            }
            return Acknowledge::OnReceipt;
        }
        let share = file.acknowledge_share.unwrap_or(100);
        self.check_percent("acknowledge_share", share);
        let deadline = file.acknowledge_deadline.unwrap_or_else(seconds::<5>).0.0;
        if deadline.is_zero() {
            self.add("acknowledge_deadline", "it must be longer than nothing");
        }
        let nack = file.nack_upstream.unwrap_or_default();
        if let NackUpstream::Percent(percent) = nack {
            self.check_percent("nack_upstream.percent", percent);
        }
        Acknowledge::AfterSubscribers { share, deadline, nack }
    }

    fn check_percent(&mut self, key: &str, percent: u8) {
        if !(1..=100).contains(&percent) {
            self.add(key, format!("{percent} is no share; it is a number of percent from 1 to 100"));
        }
    }
}
