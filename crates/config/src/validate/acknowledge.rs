//! When a control plane is told that its responses are accepted.

use super::upstream::Reader;
use crate::file;
use crate::settings::Acknowledge;
use crate::values::{AcknowledgeMode, NackUpstream, Percent, PositiveDuration};

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
                    self.add(key, "applies only with acknowledge = \"after-subscribers\"");
                }
            }
            return Acknowledge::OnReceipt;
        }
        Acknowledge::AfterSubscribers {
            share: file.acknowledge_share.unwrap_or(Percent::of::<100>()),
            deadline: file.acknowledge_deadline.unwrap_or(PositiveDuration::seconds::<5>()),
            nack: file.nack_upstream.unwrap_or_default(),
        }
    }
}
