//! The nonces of responses, which streams that make the same step share.

use std::fmt;

use weir_types::Commit;

/// The nonce of a response: the commit that it brings the client to, and how many responses at that commit
/// the type subscription had before. Unique per stream and type, and equal on all streams that make the same
/// step, so that they can share the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Nonce {
    /// The commit that the response brings the client to.
    pub commit: Commit,
    /// Counts the responses at that commit.
    pub part: u32,
}

impl Nonce {
    /// The nonce of a response that goes up to `to` and comes after `previous`.
    pub fn next(previous: Option<Self>, to: Commit) -> Self {
        let part = previous.filter(|nonce| nonce.commit == to).map_or(0, |nonce| nonce.part + 1);
        Self { commit: to, part }
    }

    /// The nonce of the next part of a step, of which this is the nonce of another one.
    pub fn following(self) -> Self {
        Self { commit: self.commit, part: self.part + 1 }
    }

    /// Reads what [`Display`](fmt::Display) writes.
    pub fn parse(text: &str) -> Option<Self> {
        let (commit, part) = text.split_once('-')?;
        let commit = Commit(u64::from_str_radix(commit, 16).ok()?);
        Some(Self { commit, part: u32::from_str_radix(part, 16).ok()? })
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{:x}", self.commit.0, self.part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d05_nonces_count_the_responses_at_a_commit() {
        let previous = Nonce::next(None, Commit(10));
        assert_eq!(previous.to_string(), "a-0");
        assert_eq!(Nonce::next(Some(previous), Commit(10)).to_string(), "a-1");
        assert_eq!(Nonce::next(Some(previous), Commit(11)).to_string(), "b-0");
    }
}
