//! What one locator selects, and what is known of its answer.
//!
//! A selection is shared by all views that contain its locator. Its [`MemberSet`] is enough to compute for any stream what it
//! has missed since its cursor, whatever the number of streams.

mod failure;
mod member;
mod member_set;
mod resolution;
mod terms;
mod uncacheable;

use std::collections::HashMap;
use std::sync::Arc;

use weir_types::{Absence, Breadth, Commit, Name, RefusalReason, ResourceLocator, Variant};

use crate::limits::Charge;
use crate::type_cache::Forms;
use crate::view::ViewId;

pub(crate) use failure::Failure;
pub(crate) use member::{Member, Tombstone};
pub(crate) use member_set::MemberSet;
pub(crate) use resolution::Resolution;

/// What happened to a selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Something is new or different, or a question was answered.
    Added,
    /// Something lives longer than was known.
    Refreshed,
    /// Something went, and nothing took its place.
    Removed,
    /// Another resource took the place of one that went: an alias moved on.
    Moved,
}

/// What one locator selects.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    pub(crate) locator: ResourceLocator,
    /// Zero for the first of its locator, else unique.
    pub(crate) generation: u64,
    /// How much the locator asks for.
    breadth: Breadth,
    /// Why nothing is ever selected for it, if it is that of clients that are refused the locator.
    pub(crate) refusal: Option<RefusalReason>,
    /// What streams are shown.
    pub(crate) members: MemberSet,
    /// What is known of the answer.
    resolution: Resolution,
    /// Whether upstream, asked for just this name, last answered that nothing matches: whatever a wildcard brings.
    absent_by_name: bool,
    /// For a name: the last error that upstream reported for it, while it lasts.
    failure: Option<Failure>,
    /// Uncacheable variants of streams that subscribed to the name again, until upstream answers.
    former: Vec<Tombstone>,
    /// Whether it has lost one of those, so that whoever subscribes next has to have it fetched.
    lapsed: bool,
    /// The views that contain the locator.
    pub(crate) views: HashMap<ViewId, Forms>,
    /// The first subscriber, which pays for it.
    pub(crate) charge: Option<Arc<Charge>>,
}

impl Selection {
    pub(crate) fn new(locator: ResourceLocator, generation: u64) -> Self {
        let breadth = locator.breadth();
        Self {
            locator,
            generation,
            breadth,
            refusal: None,
            members: MemberSet::new(breadth),
            resolution: Resolution::default(),
            absent_by_name: false,
            failure: None,
            former: Vec::new(),
            lapsed: false,
            views: HashMap::new(),
            charge: None,
        }
    }

    /// How much the locator asks for.
    pub(crate) fn breadth(&self) -> Breadth {
        self.breadth
    }

    /// Whether any number of resources may be selected.
    pub(crate) fn is_collection(&self) -> bool {
        self.breadth != Breadth::Name
    }

    /// Whether nothing more has to be awaited: the name is present or known to be absent, the collection was
    /// answered.
    pub(crate) fn is_settled(&self) -> bool {
        self.resolution != Resolution::Pending
    }

    /// What is known of the answer.
    pub(crate) fn resolution(&self) -> Resolution {
        self.resolution
    }

    /// Notes that upstream has answered the collection, or that its silence is taken for an answer until it does.
    pub(crate) fn mark_answered(&mut self, absence: Absence, at: Commit) -> Option<Change> {
        self.resolution.receive_collection(absence, at).then_some(Change::Added)
    }

    /// Whether it is a collection that upstream has not answered in time.
    pub(crate) fn is_unproved(&self) -> bool {
        matches!(self.resolution, Resolution::TimedOut { .. })
    }

    /// Notes whether what is selected is gone, and stays since upstream has not answered for the name.
    pub(crate) fn keep(&mut self, gone: bool) {
        self.resolution.set_undecided(gone);
    }

    /// Whether what is selected is gone.
    pub(crate) fn is_kept(&self) -> bool {
        matches!(self.resolution, Resolution::Undecided { .. })
    }

    /// Lets go what was kept until upstream has answered. Whether there was anything.
    fn let_go(&mut self, at: Commit) -> bool {
        let kept = self.is_kept();
        if kept {
            self.resolution.set_undecided(false);
            self.members.remove(&self.locator.name, at);
        }
        kept
    }

    /// Notes that nothing answers the name. What is there counts, unless it was only kept.
    pub(crate) fn mark_absent(&mut self, absence: Absence, at: Commit) -> Option<Change> {
        let went = self.let_go(at);
        if !self.members.is_empty() || !self.resolution.receive_absence(absence, at) {
            return None;
        }
        let went = self.remove_former(None, at) || went;
        if absence == Absence::Known {
            self.failure = None;
        }
        Some(if went { Change::Removed } else { Change::Added })
    }

    /// Notes whether upstream, asked for just this name, last answered that nothing matches.
    pub(crate) fn set_absent_by_name(&mut self, absent: bool) {
        self.absent_by_name = absent;
    }

    /// Whether upstream, asked for just this name, last answered that nothing matches.
    pub(crate) fn is_absent_by_name(&self) -> bool {
        self.absent_by_name
    }

    /// Makes `variant` what is selected under `slot` (the name asked for, or a resource's for a collection).
    pub(crate) fn select(
        &mut self,
        slot: &Name,
        variant: Option<&Arc<Variant>>,
        at: Commit,
    ) -> Option<Change> {
        if variant.is_some() {
            self.resolution.set_undecided(false);
        }
        let kept = self.is_kept();
        let old = self.members.member(slot).map(|member| &member.variant);
        match (old, variant) {
            (None, None) => None,
            (Some(_), None) if kept => None,
            (Some(old), Some(new)) if old.key() == new.key() => self.members.renew(slot, new, at),
            (old, new) => {
                let moved = old.zip(new).is_some_and(|(old, new)| old.name() != new.name());
                self.members.remove(slot, at);
                if let Some(new) = new {
                    let moved = self.remove_former(Some(new), at) || moved;
                    self.members.insert(slot, new, at);
                    if !self.is_collection() {
                        self.resolution.receive_resource(at);
                    }
                    return Some(if moved { Change::Moved } else { Change::Added });
                }
                if !self.is_collection() {
                    self.mark_absent(Absence::Known, at);
                }
                Some(Change::Removed)
            }
        }
    }
}
