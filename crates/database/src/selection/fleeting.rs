//! What must not be cached: a resource that is only for those who are subscribed when it comes.

use weir_types::{Absence, Commit, Name, Variant};

use super::Selection;

impl Selection {
    /// Whether something is selected that must not be cached, so that nobody may join.
    pub(crate) fn is_fleeting(&self) -> bool {
        self.fleeting > 0
    }

    /// Whether `variant` may be selected under `slot`. What must not be cached is for those who are subscribed when
    /// it is `brought`; where something else was selected before, they were.
    pub(crate) fn admits(&self, slot: &Name, variant: &Variant, brought: bool) -> bool {
        let present = || !self.views.is_empty() && (brought || self.live.contains_key(slot));
        !variant.content().do_not_cache || present()
    }

    /// Forgets what is selected under `slot`, now that nobody is subscribed: it must not be cached, or what has taken
    /// its place must not. Whoever subscribes next has to have it fetched.
    pub(crate) fn lapse(&mut self, slot: &Name, at: Commit) {
        self.bury(slot, at);
        self.prune(|_| false);
        self.absence = Absence::Unknown;
        (self.missed, self.proved, self.settled) = (None, None, None);
        self.lapsed = true;
    }

    /// Where what must not be cached is selected.
    pub(crate) fn fleeting_slots(&self) -> Vec<Name> {
        let fleeting = self.live.iter().filter(|(_, member)| member.variant.content().do_not_cache);
        fleeting.map(|(slot, _)| slot.clone()).collect()
    }

    /// Whether something has to be fetched for whoever subscribes now; asked once.
    pub(crate) fn take_lapsed(&mut self) -> bool {
        std::mem::take(&mut self.lapsed)
    }
}
