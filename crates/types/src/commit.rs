//! Positions in the history of changes.

/// The number of a commit. Numbers are given in order over all types; zero is before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Commit(pub u64);

impl Commit {
    /// Before everything.
    pub const NONE: Self = Self(0);
}

/// Up to where a stream has been sent the changes of a view. Removals may lag behind additions, since
/// they wait for the additions of other types (make before break).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cursor {
    /// Up to here, removals were sent.
    pub removals: Commit,
    /// Up to here, additions and changes were sent. Never before `removals`.
    pub additions: Commit,
}

impl Cursor {
    /// Whether nothing was sent yet.
    pub fn is_start(&self) -> bool {
        self.additions == Commit::NONE
    }
}

/// The newest commits that concern a view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The newest that added or changed something, or answered a question.
    pub additions: Commit,
    /// The newest that removed something.
    pub removals: Commit,
    /// The newest that first answered something that was asked for. Never after `additions`.
    pub answers: Commit,
}

impl Head {
    /// The newest of both.
    pub fn newest(&self) -> Commit {
        self.additions.max(self.removals)
    }
}
