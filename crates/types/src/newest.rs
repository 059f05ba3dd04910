//! What happened last, for those who look.

use std::collections::VecDeque;

/// The newest [`Newest::KEPT`] of all that was added.
#[derive(Clone, Debug)]
pub struct Newest<T> {
    count: u64,
    kept: VecDeque<T>,
}

impl<T> Default for Newest<T> {
    fn default() -> Self {
        Self { count: 0, kept: VecDeque::new() }
    }
}

impl<T> Newest<T> {
    /// How many are kept.
    pub const KEPT: usize = 256;

    /// Adds what `numbered` makes of a number that counts all that were ever added, from 1. The oldest gives way.
    pub fn add(&mut self, numbered: impl FnOnce(u64) -> T) {
        self.count += 1;
        if self.kept.len() == Self::KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(numbered(self.count));
    }

    /// What is kept, the newest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.kept.iter().rev()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept_and_all_are_counted() {
        let mut newest = Newest::default();
        assert_eq!(newest.iter().next(), None);
        for letter in ["a", "b"] {
            newest.add(|number| (number, letter));
        }
        assert!(newest.iter().eq(&[(2, "b"), (1, "a")]));
        for _ in 0..Newest::<(u64, &str)>::KEPT {
            newest.add(|number| (number, "c"));
        }
        assert_eq!((newest.iter().next(), newest.iter().last()), (Some(&(258, "c")), Some(&(3, "c"))));
        assert_eq!(newest.iter().count(), 256);
    }
}
