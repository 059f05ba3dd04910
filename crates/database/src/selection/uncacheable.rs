//! What must not be cached: a resource that is only for those who are subscribed when it comes.

use std::sync::Arc;

use weir_types::{Commit, Name, Variant};

use super::{Resolution, Selection, Tombstone};

impl Selection {
    /// Whether `variant` may be selected under `slot`. What must not be cached is for those who are subscribed when
    /// it is `brought`; where something else was selected before, they were.
    pub(crate) fn admits(&self, slot: &Name, variant: &Variant, brought: bool) -> bool {
        let present = || !self.views.is_empty() && (brought || self.members.member(slot).is_some());
        !variant.content().do_not_cache || present()
    }

    /// Forgets what is selected under `slot`, now that nobody is subscribed: it must not be cached, or what has taken
    /// its place must not. Whoever subscribes next has to have it fetched.
    pub(crate) fn lapse(&mut self, slot: &Name, at: Commit) {
        self.members.remove(slot, at);
        self.members.prune(|_| false);
        self.resolution = Resolution::Pending;
        self.lapsed = true;
    }

    /// What is selected, as those have it who ask for it again.
    pub(crate) fn held(&self) -> Vec<Tombstone> {
        let held = self.members.live().map(|member| Tombstone {
            variant: Arc::clone(&member.variant),
            born: member.born,
            changed: member.changed,
            died: Commit::NONE,
            inherited: false,
        });
        held.collect()
    }

    /// Notes what those who ask again have of the name: it goes when upstream has answered, unless it comes again.
    pub(crate) fn succeed(&mut self, held: Vec<Tombstone>) {
        for one in held {
            if self.former.iter().all(|other| other.variant.key() != one.variant.key()) {
                self.former.push(one);
            }
        }
    }

    /// Lets go what those had who asked again, now that there is `new`, or nothing. Whether a resource went that has
    /// no successor of its name.
    pub(super) fn remove_former(&mut self, new: Option<&Arc<Variant>>, at: Commit) -> bool {
        let mut went = false;
        for former in std::mem::take(&mut self.former) {
            if new.is_none_or(|new| new.key() != former.variant.key()) {
                went |= new.is_none_or(|new| new.name() != former.variant.name());
                self.members.add_tombstone(Tombstone { died: at, ..former });
            }
        }
        went
    }

    /// Whether something has to be fetched for whoever subscribes now; asked once.
    pub(crate) fn take_lapsed(&mut self) -> bool {
        std::mem::take(&mut self.lapsed)
    }
}
