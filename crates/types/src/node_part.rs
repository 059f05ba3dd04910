//! The parts of a client's `Node` that can be forwarded to a control plane.

use std::fmt;
use std::str::FromStr;

use crate::similar;

/// A part of a client's `Node` that is forwarded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodePart {
    /// `node.id`.
    Id,
    /// `node.cluster`.
    Cluster,
    /// `node.locality`.
    Locality,
    /// `node.user_agent_name`, `node.user_agent_version` and the client features that are not about the transport.
    UserAgent,
    /// The entry of `node.metadata` at this path; all of it where the path is empty.
    Metadata(Vec<String>),
}

/// Words that stand for a part.
const WORDS: [&str; 5] = ["id", "cluster", "locality", "user_agent", "metadata"];

/// A text that is no part of a node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no part of a node that can be forwarded;{} allowed are id, cluster, locality, user_agent, \
    metadata, metadata.KEY", .meant.map(|word| format!(" did you mean {word}?")).unwrap_or_default())]
pub struct NoSuchPart {
    text: String,
    meant: Option<&'static str>,
}

impl NodePart {
    /// Whether `self` has all of `other` in it.
    pub fn contains(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Metadata(path), Self::Metadata(inner)) => inner.starts_with(path),
            _ => self == other,
        }
    }
}

/// By the name that the configuration file has for it.
impl FromStr for NodePart {
    type Err = NoSuchPart;

    fn from_str(text: &str) -> Result<Self, NoSuchPart> {
        Ok(match text {
            "id" => Self::Id,
            "cluster" => Self::Cluster,
            "locality" => Self::Locality,
            "user_agent" => Self::UserAgent,
            "metadata" => Self::Metadata(Vec::new()),
            _ => match text.strip_prefix("metadata.").map(|path| path.split('.')) {
                Some(path) if path.clone().all(|key| !key.is_empty()) => {
                    Self::Metadata(path.map(str::to_owned).collect())
                }
                _ => {
                    let word = text.strip_prefix("node.").unwrap_or(text);
                    let word = word.split_once('.').map_or(word, |(first, _)| first);
                    return Err(NoSuchPart { text: text.to_owned(), meant: similar(word, WORDS) });
                }
            },
        })
    }
}

/// That name.
impl fmt::Display for NodePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id => f.write_str("id"),
            Self::Cluster => f.write_str("cluster"),
            Self::Locality => f.write_str("locality"),
            Self::UserAgent => f.write_str("user_agent"),
            Self::Metadata(path) => {
                path.iter().try_fold(f.write_str("metadata")?, |(), key| write!(f, ".{key}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p19_a_part_is_read_as_it_is_written() {
        for text in ["id", "cluster", "locality", "user_agent", "metadata", "metadata.a.b"] {
            assert_eq!(text.parse::<NodePart>().unwrap().to_string(), text);
        }
        for (text, meant) in [
            ("clusters", Some("cluster")),
            ("node.id", Some("id")),
            ("metdata.a", Some("metadata")),
            ("metadata.", Some("metadata")),
            ("metadata.a..b", Some("metadata")),
            ("extensions", None),
        ] {
            assert_eq!(text.parse::<NodePart>().unwrap_err().meant, meant, "{text:?}");
        }
        let [all, part, other]: [NodePart; 3] =
            ["metadata", "metadata.a", "metadata.b"].map(|text| text.parse().unwrap());
        assert!(
            all.contains(&part) && part.contains(&part) && !part.contains(&all) && !part.contains(&other)
        );
    }
}
