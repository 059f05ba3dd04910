//! What one locator selects, and the history of it that streams still need.
//!
//! A selection is shared by all views that contain its locator. It keeps, per member, when it was selected,
//! when it last changed, and, for those that are gone, when they went: enough to tell any stream what it has
//! missed since its cursor, whatever the number of streams. It never knows who subscribes.

mod failure;
mod member;
mod resolution;
mod terms;
mod uncacheable;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use weir_types::{Absence, Breadth, Commit, Form, Name, ResourceLocator, Variant, VariantKey};

use crate::limits::Charge;
use crate::type_cache::Forms;
use crate::view::ViewId;

pub(crate) use failure::Failure;
pub(crate) use member::{Member, Tombstone};
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
    /// How many members must not be cached.
    uncacheable: usize,
    /// For a name that was asked for again: what those who did have of it, until upstream has spoken.
    former: Vec<Tombstone>,
    /// Whether it has lost one of those, so that whoever subscribes next has to have it fetched.
    lapsed: bool,
    /// How much the locator asks for.
    breadth: Breadth,
    /// The selected variants: for a name the one that answers it, for a collection one per resource name.
    /// The key is the name that was asked for, or for a collection the resource's.
    live: HashMap<Name, Member>,
    /// By resource name, the oldest first. A variant that comes and goes leaves more than one: a stream holds
    /// it if its cursor lies within one of these lives.
    gone: HashMap<Name, Vec<Tombstone>>,
    /// How many tombstones there are.
    tombstone_count: usize,
    /// For a collection: the keys of `live`, by when they were last refreshed.
    recent: BTreeSet<(Commit, Name)>,
    /// What is known of the answer.
    resolution: Resolution,
    /// Whether upstream, asked for just this name, last said that nothing matches: whatever a wildcard brings.
    denied: bool,
    /// For a name: what upstream last said to be wrong with it, while it is.
    failure: Option<Failure>,
    /// Order-independent sums over the live members' names and versions, per [`Form`].
    sums: [u64; 2],
    /// The views that contain the locator.
    pub(crate) views: HashMap<ViewId, Forms>,
    /// How many tombstones there may be before they are pruned again.
    prune_at: usize,
    /// Who was the first to ask for it, and pays for it.
    pub(crate) charge: Option<Arc<Charge>>,
}

const PRUNE_FLOOR: usize = 16;

impl Selection {
    pub(crate) fn new(locator: ResourceLocator, generation: u64) -> Self {
        Self {
            breadth: locator.breadth(),
            locator,
            generation,
            uncacheable: 0,
            former: Vec::new(),
            lapsed: false,
            live: HashMap::new(),
            gone: HashMap::new(),
            tombstone_count: 0,
            recent: BTreeSet::new(),
            resolution: Resolution::default(),
            denied: false,
            failure: None,
            sums: [0; 2],
            views: HashMap::new(),
            prune_at: PRUNE_FLOOR,
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

    /// Notes whether what is selected is gone, and stays since upstream has not spoken of the name.
    pub(crate) fn keep(&mut self, gone: bool) {
        self.resolution.set_undecided(gone);
    }

    /// Whether what is selected is gone.
    pub(crate) fn is_kept(&self) -> bool {
        matches!(self.resolution, Resolution::Undecided { .. })
    }

    /// Lets go what was kept until upstream has spoken. Whether there was anything.
    fn let_go(&mut self, at: Commit) -> bool {
        let kept = self.is_kept();
        if kept {
            self.resolution.set_undecided(false);
            let slot = self.locator.name.clone();
            self.remove_member(&slot, at);
        }
        kept
    }

    /// Notes that nothing answers the name. What is there speaks for itself, unless it was only kept.
    pub(crate) fn mark_absent(&mut self, absence: Absence, at: Commit) -> Option<Change> {
        let went = self.let_go(at);
        if !self.live.is_empty() || !self.resolution.receive_absence(absence, at) {
            return None;
        }
        let went = self.remove_former(None, at) || went;
        if absence == Absence::Known {
            self.failure = None;
        }
        Some(if went { Change::Removed } else { Change::Added })
    }

    /// Notes what upstream said when it was asked for just this name.
    pub(crate) fn hear(&mut self, denied: bool) {
        self.denied = denied;
    }

    /// Whether it last said that there is nothing.
    pub(crate) fn is_denied(&self) -> bool {
        self.denied
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
        match (self.live.get_mut(slot), variant) {
            (None, None) => None,
            (Some(_), None) if kept => None,
            (Some(member), Some(new)) if member.variant.key() == new.key() => {
                let change = renewal(&member.variant, new);
                let old = std::mem::replace(&mut member.variant, Arc::clone(new));
                self.uncacheable += usize::from(new.content().do_not_cache);
                self.uncacheable -= usize::from(old.content().do_not_cache);
                let change = change?;
                let before = member.refreshed;
                member.renew(at, change == Change::Added);
                self.note_change(slot, Some(before), Some(at));
                self.account(&old, u64::wrapping_sub);
                self.account(new, u64::wrapping_add);
                Some(change)
            }
            (old, new) => {
                let moved = old.zip(new).is_some_and(|(old, new)| old.variant.name() != new.name());
                self.remove_member(slot, at);
                if let Some(new) = new {
                    let moved = self.remove_former(Some(new), at) || moved;
                    self.insert_member(slot, new, at);
                    return Some(if moved { Change::Moved } else { Change::Added });
                }
                if !self.is_collection() {
                    self.mark_absent(Absence::Known, at);
                }
                Some(Change::Removed)
            }
        }
    }

    fn insert_member(&mut self, slot: &Name, variant: &Arc<Variant>, at: Commit) {
        self.note_change(slot, None, Some(at));
        self.account(variant, u64::wrapping_add);
        self.uncacheable += usize::from(variant.content().do_not_cache);
        self.live.insert(slot.clone(), Member::new(variant, at));
        if !self.is_collection() {
            self.resolution.receive_resource(at);
        }
    }

    fn remove_member(&mut self, slot: &Name, at: Commit) {
        let Some(member) = self.live.remove(slot) else { return };
        self.uncacheable -= usize::from(member.variant.content().do_not_cache);
        self.note_change(slot, Some(member.refreshed), None);
        self.account(&member.variant, u64::wrapping_sub);
        self.add_tombstone(member.into_tombstone(at));
    }

    /// Notes that something is gone that some stream may still hold.
    pub(crate) fn add_tombstone(&mut self, gone: Tombstone) {
        self.tombstone_count += 1;
        self.gone.entry(gone.variant.name().clone()).or_default().push(gone);
    }

    fn note_change(&mut self, slot: &Name, before: Option<Commit>, now: Option<Commit>) {
        if self.is_collection() {
            before.map(|at| self.recent.remove(&(at, slot.clone())));
            self.recent.extend(now.map(|at| (at, slot.clone())));
        }
    }

    fn account(&mut self, variant: &Variant, with: fn(u64, u64) -> u64) {
        for form in [Form::Plain, Form::Located] {
            let sum = &mut self.sums[form as usize];
            *sum = with(*sum, variant.summand(form));
        }
    }

    /// An order-independent hash of what is selected, as a client sees it that asked in `form`.
    pub(crate) fn sum(&self, form: Form) -> u64 {
        self.sums[form as usize]
    }

    /// [`Self::sum`] of each form.
    pub(crate) fn sums(&self) -> [u64; 2] {
        self.sums
    }

    /// Everything that is selected.
    pub(crate) fn live(&self) -> impl ExactSizeIterator<Item = &Member> {
        self.live.values()
    }

    /// Whether a variant of the resource `name` is selected.
    pub(crate) fn shows(&self, name: &Name) -> bool {
        self.shown(name).is_some()
    }

    /// What is selected of the resource `name`.
    pub(crate) fn member(&self, name: &Name) -> Option<&Member> {
        self.live.get(name)
    }

    /// The variant of the resource `name` that is selected.
    pub(crate) fn shown(&self, name: &Name) -> Option<&Arc<Variant>> {
        let slot = if self.is_collection() { name } else { &self.locator.name };
        self.live.get(slot).map(|member| &member.variant).filter(|variant| variant.name() == name)
    }

    /// The members that changed or were refreshed after `after`.
    pub(crate) fn renewed_since(&self, after: Commit) -> Vec<&Member> {
        if !self.is_collection() {
            return self.live.values().filter(|member| member.refreshed > after).collect();
        }
        let from = (Commit(after.0 + 1), Name::from(""));
        self.recent.range(from..).filter_map(|(_, slot)| self.live.get(slot)).collect()
    }

    /// Whether just this variant is selected.
    pub(crate) fn has(&self, key: &VariantKey) -> bool {
        let slot = if self.is_collection() { &key.name } else { &self.locator.name };
        self.live.get(slot).is_some_and(|member| member.variant.key() == key)
    }

    /// The tombstones; of one resource, the oldest first.
    pub(crate) fn gone(&self) -> impl Iterator<Item = &Tombstone> {
        self.gone.values().flatten()
    }

    /// The tombstones of the resource `name`, the oldest first.
    pub(crate) fn gone_of(&self, name: &Name) -> &[Tombstone] {
        self.gone.get(name).map_or(&[], Vec::as_slice)
    }

    /// How many tombstones there are.
    pub(crate) fn tombstone_count(&self) -> usize {
        self.tombstone_count
    }

    /// Whether it is worth to look for tombstones that nobody needs.
    pub(crate) fn wants_pruning(&self) -> bool {
        self.tombstone_count > self.prune_at
    }

    /// Drops the tombstones for which `needed` is false.
    pub(crate) fn prune(&mut self, needed: impl Fn(&Tombstone) -> bool) {
        self.gone.retain(|_, tombstones| {
            tombstones.retain(&needed);
            !tombstones.is_empty()
        });
        self.tombstone_count = self.gone.values().map(Vec::len).sum();
        self.prune_at = PRUNE_FLOOR.max(2 * self.tombstone_count);
    }
}

/// What it comes to that `new` takes the place of `old`, which is the same variant.
fn renewal(old: &Variant, new: &Variant) -> Option<Change> {
    let (was, is) = (old.lease(), new.lease());
    // Refreshed too late, clients may have dropped it already.
    let late = was.zip(is).is_some_and(|(was, is)| was.is_over(is.since()));
    if late || old.version(Form::Located) != new.version(Form::Located) {
        return Some(Change::Added);
    }
    (is.is_some() && is != was).then_some(Change::Refreshed)
}
