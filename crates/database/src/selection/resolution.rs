//! What is known of the answer to a locator.
//!
//! ```text
//!            resource, error (name); whole answer (collection)
//!  Pending ─────────────────────────────────────────────────────> Answered <──┐
//!   │  │                                            resource │ ^      ^       │
//!   │  │ nothing matches (name)                              v │      │       │ whole answer
//!   │  └──────────────────────> Absent <──────────────── Undecided    │       │
//!   │                             └──────────── resource ─────────────┘       │
//!   └───── no answer in time (collection) ───────────────────────────────> TimedOut
//! ```
//!
//! Answered → Undecided: the resource is removed, and upstream has not answered for the locator itself. Answered →
//! Absent: the resource is removed. All → Pending: an uncacheable resource is dropped. Whether a resource is selected is
//! not known here, but to [`Selection`](super::Selection).

use weir_types::{Absence, Commit};

/// What is known of the answer to a locator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Resolution {
    /// Upstream has not answered.
    #[default]
    Pending,
    /// A resource or an error answers the name; the collection was sent as a whole.
    Answered {
        /// When the locator was first resolved since it was pending.
        first: Commit,
    },
    /// Of a name: the resource is removed, and stays selected until upstream has answered for the locator.
    Undecided {
        /// As above.
        first: Commit,
    },
    /// Of a name: nothing matches.
    Absent {
        /// As above.
        first: Commit,
        /// When that became known.
        since: Commit,
        /// When upstream confirmed it. None: only its silence confirms it.
        proved: Option<Commit>,
    },
    /// Of a collection: upstream did not answer in time.
    TimedOut {
        /// As above.
        first: Commit,
    },
}

impl Resolution {
    /// When the locator was first resolved since it was pending.
    pub(crate) fn first(self) -> Option<Commit> {
        match self {
            Self::Pending => None,
            Self::Answered { first }
            | Self::Undecided { first }
            | Self::Absent { first, .. }
            | Self::TimedOut { first } => Some(first),
        }
    }

    /// Whether the locator was first resolved after `commit`.
    pub(crate) fn is_news_after(self, commit: Commit) -> bool {
        self.first().is_some_and(|first| first > commit)
    }

    /// What is known of the absence of what the locator asks for.
    pub(crate) fn absence(self) -> Absence {
        match self {
            Self::Pending | Self::Answered { .. } | Self::Undecided { .. } => Absence::Unknown,
            Self::TimedOut { .. } | Self::Absent { proved: None, .. } => Absence::TimedOut,
            Self::Absent { proved: Some(_), .. } => Absence::Known,
        }
    }

    /// When the absence of a name became known, in whatever way.
    pub(crate) fn absent_since(self) -> Option<Commit> {
        if let Self::Absent { since, .. } = self { Some(since) } else { None }
    }

    /// When upstream confirmed that nothing matches the name.
    pub(crate) fn proved(self) -> Option<Commit> {
        if let Self::Absent { proved, .. } = self { proved } else { None }
    }

    /// Of a name: a resource is selected. What was known of an earlier absence is void.
    pub(super) fn receive_resource(&mut self, at: Commit) {
        *self = Self::Answered { first: self.first().unwrap_or(at) };
    }

    /// An error answers whoever has nothing else.
    pub(super) fn receive_error(&mut self, at: Commit) {
        if *self == Self::Pending {
            *self = Self::Answered { first: at };
        }
    }

    /// Of a collection: upstream has sent all of it, or did not answer in time. Whether that is news.
    pub(super) fn receive_collection(&mut self, absence: Absence, at: Commit) -> bool {
        let news = match *self {
            Self::Pending => true,
            Self::TimedOut { .. } => absence == Absence::Known,
            _ => false,
        };
        if news {
            let timed_out = absence == Absence::TimedOut;
            *self = if timed_out { Self::TimedOut { first: at } } else { Self::Answered { first: at } };
        }
        news
    }

    /// Of a name without a selected resource: nothing matches. Whether that is news.
    pub(super) fn receive_absence(&mut self, absence: Absence, at: Commit) -> bool {
        let news = self.absence() < absence;
        if news {
            let (first, since) = (self.first().unwrap_or(at), self.absent_since().unwrap_or(at));
            let proved = (absence == Absence::Known).then_some(at);
            *self = Self::Absent { first, since, proved };
        }
        news
    }

    /// Of a name with a selected resource: whether that is removed, and upstream has yet to answer for the locator.
    pub(super) fn set_undecided(&mut self, undecided: bool) {
        match *self {
            Self::Answered { first } if undecided => *self = Self::Undecided { first },
            Self::Undecided { first } if !undecided => *self = Self::Answered { first },
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn absent(proved: Option<u64>) -> Resolution {
        Resolution::Absent { first: Commit(1), since: Commit(1), proved: proved.map(Commit) }
    }

    #[test]
    fn i16_an_absence_is_first_timed_out_and_then_proved_but_never_the_other_way() {
        let mut name = Resolution::default();
        for (absence, at, news, then) in [
            (Absence::TimedOut, 1, true, absent(None)),
            (Absence::TimedOut, 2, false, absent(None)),
            (Absence::Known, 3, true, absent(Some(3))),
            (Absence::TimedOut, 4, false, absent(Some(3))),
            (Absence::Known, 5, false, absent(Some(3))),
        ] {
            assert_eq!((name.receive_absence(absence, Commit(at)), name), (news, then), "at {at}");
        }
    }

    #[test]
    fn i16_a_resource_voids_what_was_known_of_an_absence() {
        let mut name = absent(Some(1));
        name.receive_resource(Commit(2));
        assert_eq!((name.proved(), name.absence(), name.first()), (None, Absence::Unknown, Some(Commit(1))));
        name.set_undecided(true);
        assert!(name.receive_absence(Absence::TimedOut, Commit(4)));
        assert_eq!((name.proved(), name.absent_since()), (None, Some(Commit(4))));
    }

    #[test]
    fn i16_a_collection_that_timed_out_may_still_be_answered_but_not_the_other_way() {
        let mut collection = Resolution::default();
        for (absence, at, news, first) in [
            (Absence::TimedOut, 1, true, 1),
            (Absence::TimedOut, 2, false, 1),
            (Absence::Known, 3, true, 3),
            (Absence::TimedOut, 4, false, 3),
        ] {
            let received = collection.receive_collection(absence, Commit(at));
            assert_eq!((received, collection.first()), (news, Some(Commit(first))), "at {at}");
        }
        assert_eq!(collection.absence(), Absence::Unknown);
    }

    #[test]
    fn u03_only_what_is_answered_becomes_undecided() {
        let answered = Resolution::Answered { first: Commit(1) };
        let undecided = Resolution::Undecided { first: Commit(1) };
        for (before, after) in
            [(Resolution::Pending, Resolution::Pending), (answered, undecided), (absent(None), absent(None))]
        {
            let mut resolution = before;
            resolution.set_undecided(true);
            assert_eq!(resolution, after);
            resolution.set_undecided(false);
            assert_eq!(resolution, before);
        }
    }
}
