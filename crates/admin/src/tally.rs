//! How many streams stand how: in all, and of each view.

use std::collections::HashMap;
use std::ops::AddAssign;

use serde::Serialize;
use utoipa::ToSchema;

use crate::clients::worst;
use crate::{Condition, Shared};

/// How many streams are looked at before somebody else may run.
const AT_ONCE: usize = 64;

/// How many streams stand how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Counts {
    /// How many have accepted everything that there is for them.
    pub(crate) in_sync: usize,
    /// The number of clients that still have to be sent a change, or to answer for one.
    pub(crate) behind: usize,
    /// How many have rejected something, and accepted nothing since.
    pub(crate) rejecting: usize,
}

impl AddAssign<Condition> for Counts {
    fn add_assign(&mut self, condition: Condition) {
        match condition {
            Condition::InSync => self.in_sync += 1,
            Condition::Behind => self.behind += 1,
            Condition::Rejecting => self.rejecting += 1,
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.in_sync += other.in_sync;
        self.behind += other.behind;
        self.rejecting += other.rejecting;
    }
}

/// Every stream, counted.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Each by the worst of its types.
    pub(crate) streams: Counts,
    /// By the ids of views.
    views: HashMap<u64, Counts>,
}

impl Tally {
    /// Looks at each stream for a moment, and lets others run in between.
    pub(crate) async fn of(instance: &Shared) -> Self {
        let mut tally = Self::default();
        for ids in instance.client_ids().chunks(AT_ONCE) {
            for standing in ids.iter().filter_map(|id| instance.client_standing(*id)) {
                tally.add(&standing);
            }
            tokio::task::yield_now().await;
        }
        tally
    }

    fn add(&mut self, standing: &[(u64, Condition)]) {
        for (view, condition) in standing {
            *self.views.entry(*view).or_default() += *condition;
        }
        self.streams += worst(standing);
    }

    /// The streams of a view.
    pub(crate) fn view(&self, id: u64) -> Counts {
        self.views.get(&id).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_counts_for_each_view_and_once_in_all() {
        let mut tally = Tally::default();
        tally.add(&[(1, Condition::InSync), (2, Condition::Rejecting)]);
        tally.add(&[(1, Condition::InSync), (2, Condition::Behind)]);
        tally.add(&[]);
        let counts = |in_sync, behind, rejecting| Counts { in_sync, behind, rejecting };
        assert_eq!(tally.streams, counts(1, 1, 1));
        assert_eq!((tally.view(1), tally.view(2)), (counts(2, 0, 0), counts(0, 1, 1)));
        assert_eq!(tally.view(3), Counts::default());
    }
}
