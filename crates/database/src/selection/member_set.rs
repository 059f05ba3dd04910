//! What a group of streams is shown of one locator: its members, and those that are gone but that some stream may still
//! hold.
//!
//! Owns when each member was selected, changed and went. Never knows what is known of the locator's answer, nor who
//! subscribes to it.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use weir_types::{Breadth, Commit, Form, Name, Variant, VariantKey};

use super::Change;
use super::member::{Member, Tombstone};

/// How many tombstones there may always be before they are pruned.
const PRUNE_FLOOR: usize = 16;

/// The members of a selection, by slot: for a name the name that was subscribed to, for a collection the resource's.
#[derive(Clone, Debug)]
pub(crate) struct MemberSet {
    live: HashMap<Name, Member>,
    /// By resource name, the oldest first. A variant that comes and goes leaves more than one: a stream holds it if its
    /// cursor lies within one of these lives.
    gone: HashMap<Name, Vec<Tombstone>>,
    /// How many tombstones there are.
    tombstone_count: usize,
    /// How many tombstones there may be before they are pruned again.
    prune_at: usize,
    /// For a collection: the slots of `live`, by when they were last refreshed.
    recent: Option<BTreeSet<(Commit, Name)>>,
    /// Order-independent sums over the live members' names and versions, per [`Form`].
    sums: [u64; 2],
    /// How many live members must not be cached.
    uncacheable: usize,
}

impl MemberSet {
    pub(super) fn new(breadth: Breadth) -> Self {
        Self {
            live: HashMap::new(),
            gone: HashMap::new(),
            tombstone_count: 0,
            prune_at: PRUNE_FLOOR,
            recent: (breadth != Breadth::Name).then(BTreeSet::new),
            sums: [0; 2],
            uncacheable: 0,
        }
    }

    /// Adds a member in a slot that is free.
    pub(super) fn insert(&mut self, slot: &Name, variant: &Arc<Variant>, at: Commit) {
        self.note_change(slot, None, Some(at));
        self.account(variant, u64::wrapping_add);
        self.uncacheable += usize::from(variant.content().do_not_cache);
        self.live.insert(slot.clone(), Member::new(variant, at));
    }

    /// Replaces the content of a member by that of the same variant. Returns what that changes; nothing if there is no
    /// such member.
    pub(super) fn renew(&mut self, slot: &Name, new: &Arc<Variant>, at: Commit) -> Option<Change> {
        let member = self.live.get_mut(slot)?;
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

    /// Has all members sent again, as if they were new.
    pub(super) fn renew_all(&mut self, at: Commit) {
        self.live.values_mut().for_each(|member| member.renew(at, true));
    }

    /// Removes a member, if there is one. A tombstone takes its place.
    pub(super) fn remove(&mut self, slot: &Name, at: Commit) {
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
        if let Some(recent) = &mut self.recent {
            before.map(|at| recent.remove(&(at, slot.clone())));
            recent.extend(now.map(|at| (at, slot.clone())));
        }
    }

    fn account(&mut self, variant: &Variant, with: fn(u64, u64) -> u64) {
        for form in [Form::Plain, Form::Located] {
            let sum = &mut self.sums[form as usize];
            *sum = with(*sum, variant.summand(form));
        }
    }

    /// An order-independent hash of the members, as a client sees them that subscribed in `form`.
    pub(crate) fn sum(&self, form: Form) -> u64 {
        self.sums[form as usize]
    }

    /// [`Self::sum`] of each form.
    pub(crate) fn sums(&self) -> [u64; 2] {
        self.sums
    }

    /// All members.
    pub(crate) fn live(&self) -> impl ExactSizeIterator<Item = &Member> {
        self.live.values()
    }

    /// Whether there is no member.
    pub(crate) fn is_empty(&self) -> bool {
        self.live.is_empty()
    }

    /// The member in `slot`.
    pub(crate) fn member(&self, slot: &Name) -> Option<&Member> {
        self.live.get(slot)
    }

    /// The variant of the resource `name`.
    pub(crate) fn shown(&self, name: &Name) -> Option<&Arc<Variant>> {
        let member = match self.recent {
            Some(_) => self.live.get(name),
            None => self.live.values().next(),
        };
        member.map(|member| &member.variant).filter(|variant| variant.name() == name)
    }

    /// Whether there is a variant of the resource `name`.
    pub(crate) fn shows(&self, name: &Name) -> bool {
        self.shown(name).is_some()
    }

    /// Whether there is just this variant.
    pub(crate) fn has(&self, key: &VariantKey) -> bool {
        self.shown(&key.name).is_some_and(|variant| variant.key() == key)
    }

    /// The members that changed or were refreshed after `after`.
    pub(crate) fn renewed_since(&self, after: Commit) -> Vec<&Member> {
        let Some(recent) = &self.recent else {
            return self.live.values().filter(|member| member.refreshed > after).collect();
        };
        let from = (Commit(after.0 + 1), Name::from(""));
        recent.range(from..).filter_map(|(_, slot)| self.live.get(slot)).collect()
    }

    /// Whether any member must not be cached.
    pub(crate) fn is_uncacheable(&self) -> bool {
        self.uncacheable > 0
    }

    /// The slots of the members that must not be cached.
    pub(crate) fn uncacheable_slots(&self) -> Vec<Name> {
        let uncacheable = self.live.iter().filter(|(_, member)| member.variant.content().do_not_cache);
        uncacheable.map(|(slot, _)| slot.clone()).collect()
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
