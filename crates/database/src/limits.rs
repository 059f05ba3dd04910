//! How much may be asked of an upstream: at once, and by the second, by all clients and by each.
//!
//! Owns the limits, and the buckets and counts that they are kept with. Time is an argument, and only as fine as that.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};
use weir_types::{DynamicParameters, Selector};

/// How many seconds' worth may be asked for at once, after a rest.
pub(crate) const BURST: u32 = 10;

/// How much of what an upstream has may be asked for; without a limit where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DemandLimits {
    /// Distinct locators at once.
    pub subscriptions: Option<usize>,
    /// Locators a second that nobody has asked for before.
    pub new_subscriptions: Option<u32>,
    /// Parameter sets a second that nobody has asked for before, where each of them costs an upstream stream.
    pub new_parameter_sets: Option<u32>,
}

/// How much each client may be the first to ask for; without a limit where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientLimits {
    /// Locators at once, counted for as long as anybody wants them.
    pub names: Option<usize>,
    /// Parameter sets at once, where each of them costs an upstream stream.
    pub parameter_sets: Option<usize>,
    /// Locators a second.
    pub new_names: Option<u32>,
    /// Parameter sets a second.
    pub new_parameter_sets: Option<u32>,
}

/// Of so much at most it is stated one by one why it is refused. One more, and there is more to come.
pub const MOST_REFUSED: usize = 100;

/// What of a subscription is not accepted: never nothing, and at most one more than [`MOST_REFUSED`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.first().map(|(_, refusal)| refusal.to_string()).unwrap_or_default())]
pub struct Refused(pub Vec<(Selector, Refusal)>);

/// Why a subscription is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A client is the first to ask for as much as it may be.
    #[error("{what} would be one more than the {max} ({limit}) that one client may be the first to ask for")]
    TooManyOfClient {
        /// What is asked for.
        what: String,
        /// The limit, as the configuration calls it.
        limit: &'static str,
        /// What it is.
        max: usize,
    },
    /// Each distinct parameter set costs an upstream stream, and there are as many as are allowed.
    #[error(
        "parameters {parameters} would be one more than the {max} distinct parameter sets \
         (max_parameter_sets) that are served at once"
    )]
    TooManyParameterSets {
        /// The parameters that are one too many, projected on the upstream's keys.
        parameters: DynamicParameters,
        /// The limit.
        max: usize,
    },
    /// Control planes take two streams with one node id for one client.
    #[error(
        "parameters {parameters} would share the node id {id:?} with {holder}, which is in use; give clients ids of their own, \
         or allow it (upstream.node.unique_id = false)"
    )]
    SharedNodeId {
        /// The id.
        id: String,
        /// The parameters that come later, projected on the upstream's keys.
        parameters: DynamicParameters,
        /// Those that have the id.
        holder: DynamicParameters,
    },
    /// Upstream is asked for as much as is allowed.
    #[error(
        "{name:?} would be one more than the {max} subscriptions (max_subscriptions) that the upstream of authority \
         {authority:?} is asked for at once"
    )]
    TooManySubscriptions {
        /// The name that is one too many; its beginning, if it is long.
        name: String,
        /// Whose upstream it is.
        authority: String,
        /// The limit.
        max: usize,
    },
    /// New things are asked for too fast.
    #[error(
        "{what} would be more than {per_second} a second ({limit}) after a burst of {BURST} seconds; what was asked for \
         before it is kept, so come again"
    )]
    TooFast {
        /// What is asked for.
        what: String,
        /// The limit, as the configuration calls it.
        limit: &'static str,
        /// What it is.
        per_second: u32,
    },
}

impl Refusal {
    /// Which limit it is, as the configuration calls it.
    pub fn limit(&self) -> &'static str {
        match self {
            Self::TooManyParameterSets { .. } => "max_parameter_sets",
            Self::SharedNodeId { .. } => "node.unique_id",
            Self::TooManySubscriptions { .. } => "max_subscriptions",
            Self::TooManyOfClient { limit, .. } | Self::TooFast { limit, .. } => limit,
        }
    }
}

/// What one client has asked for that nobody had asked for before. Shared by all of its streams.
#[derive(Debug, Default)]
pub struct Quota(Mutex<Used>);

/// What is used of a quota.
#[derive(Debug, Default)]
pub(crate) struct Used {
    names: Account,
    parameter_sets: Account,
}

/// What is used of a quota for one kind of item.
#[derive(Debug, Default)]
pub(crate) struct Account {
    /// Of late.
    pub(crate) new: Bucket,
    /// And still wanted by somebody.
    pub(crate) wanted: usize,
}

impl Quota {
    pub(crate) fn used(&self) -> MutexGuard<'_, Used> {
        self.0.lock()
    }
}

/// What a quota is charged with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Item {
    Name,
    ParameterSet,
}

impl Used {
    pub(crate) fn account(&mut self, item: Item) -> &mut Account {
        match item {
            Item::Name => &mut self.names,
            Item::ParameterSet => &mut self.parameter_sets,
        }
    }
}

/// Counts in a quota for as long as it lives; as new, too, for as long as that lasts.
#[derive(Debug)]
pub(crate) struct Charge(Arc<Quota>, Item);

impl Charge {
    pub(crate) fn new(quota: &Arc<Quota>, item: Item) -> Self {
        let mut used = quota.used();
        let account = used.account(item);
        account.wanted += 1;
        account.new.put();
        Self(Arc::clone(quota), item)
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.0.used().account(self.1).wanted -= 1;
    }
}

/// Runs full by what is put in, and empties with time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bucket {
    level: f64,
    at: Option<Instant>,
}

impl Bucket {
    /// Whether one more goes in, at so many a second.
    pub(crate) fn has_room(&mut self, per_second: u32, now: Option<Instant>) -> bool {
        if let (Some(before), Some(now)) = (self.at, now) {
            let passed = now.saturating_duration_since(before).as_secs_f64();
            self.level = (self.level - passed * f64::from(per_second)).max(0.0);
        }
        self.at = now.or(self.at);
        self.level + 1.0 <= f64::from(per_second) * f64::from(BURST)
    }

    pub(crate) fn put(&mut self) {
        self.level += 1.0;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn u12_a_bucket_holds_a_burst_and_empties_with_time() {
        let (mut bucket, start) = (Bucket::default(), Instant::now());
        let mut fits = |at: Option<Instant>| {
            let mut count = 0;
            while bucket.has_room(3, at) {
                bucket.put();
                count += 1;
            }
            count
        };
        assert_eq!(fits(None), 30, "time has not begun");
        assert_eq!(fits(Some(start)), 0);
        for (seconds, count) in [(1, 3), (1, 0), (3, 6), (100, 30), (50, 0)] {
            assert_eq!(fits(Some(start + Duration::from_secs(seconds))), count, "{seconds}");
        }
    }
}
