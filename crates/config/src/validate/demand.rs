//! How much clients can have a control plane asked for.

use super::upstream::Reader;
use crate::file;
use crate::settings::Demand;

/// How many subscriptions a control plane is asked for at most, if nothing else is said.
const MAX_SUBSCRIPTIONS: usize = 1_000_000;

impl Reader<'_> {
    pub(super) fn demand(&mut self, file: &file::Upstream) -> Demand {
        let demand = Demand {
            max_subscriptions: file.max_subscriptions.unwrap_or(MAX_SUBSCRIPTIONS),
            new_subscriptions_per_second: file.new_subscriptions_per_second,
            new_parameter_sets_per_second: file.new_parameter_sets_per_second,
        };
        for (key, zero) in [
            ("max_subscriptions", demand.max_subscriptions == 0),
            ("new_subscriptions_per_second", demand.new_subscriptions_per_second == Some(0)),
            ("new_parameter_sets_per_second", demand.new_parameter_sets_per_second == Some(0)),
        ] {
            if zero {
                self.add(key, "0 is too small; the least is 1");
            }
        }
        demand
    }
}
