//! The part of a client that a dynamic parameter is taken from: of its `Node`, or of its certificate.

use std::fmt;
use std::str::FromStr;

/// The part of a client's `Node` that a dynamic parameter is taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeField {
    /// `node.id`.
    Id,
    /// `node.cluster`.
    Cluster,
    /// `node.locality.region`.
    Region,
    /// `node.locality.zone`.
    Zone,
    /// `node.locality.sub_zone`.
    SubZone,
    /// `node.user_agent_name`.
    UserAgentName,
    /// `node.metadata.A.B`: the keys that lead to the value.
    Metadata(Vec<String>),
    /// A name in the client's certificate.
    Identity(IdentityField),
}

/// A name in a client's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityField {
    /// `identity.spiffe`.
    Spiffe,
    /// `identity.uri`.
    Uri,
    /// `identity.dns`.
    Dns,
}

/// No part of a client that parameters can be taken from.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no part of a node or an identity; allowed are node.id, node.cluster, node.locality.region, \
     node.locality.zone, node.locality.sub_zone, node.user_agent_name, node.metadata.KEY, identity.spiffe, \
     identity.uri, identity.dns"
)]
pub struct NoSuchField(String);

/// By the name that the configuration file has for it.
impl FromStr for NodeField {
    type Err = NoSuchField;

    fn from_str(text: &str) -> Result<Self, NoSuchField> {
        Ok(match text {
            "node.id" => Self::Id,
            "node.cluster" => Self::Cluster,
            "node.locality.region" => Self::Region,
            "node.locality.zone" => Self::Zone,
            "node.locality.sub_zone" => Self::SubZone,
            "node.user_agent_name" => Self::UserAgentName,
            "identity.spiffe" => Self::Identity(IdentityField::Spiffe),
            "identity.uri" => Self::Identity(IdentityField::Uri),
            "identity.dns" => Self::Identity(IdentityField::Dns),
            _ => match text.strip_prefix("node.metadata.").map(|path| path.split('.')) {
                Some(path) if path.clone().all(|key| !key.is_empty()) => {
                    Self::Metadata(path.map(str::to_owned).collect())
                }
                _ => return Err(NoSuchField(text.to_owned())),
            },
        })
    }
}

/// That name.
impl fmt::Display for NodeField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id => f.write_str("node.id"),
            Self::Cluster => f.write_str("node.cluster"),
            Self::Region => f.write_str("node.locality.region"),
            Self::Zone => f.write_str("node.locality.zone"),
            Self::SubZone => f.write_str("node.locality.sub_zone"),
            Self::UserAgentName => f.write_str("node.user_agent_name"),
            Self::Metadata(path) => write!(f, "node.metadata.{}", path.join(".")),
            Self::Identity(IdentityField::Spiffe) => f.write_str("identity.spiffe"),
            Self::Identity(IdentityField::Uri) => f.write_str("identity.uri"),
            Self::Identity(IdentityField::Dns) => f.write_str("identity.dns"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p13_a_field_is_read_as_it_is_written() {
        for text in [
            "node.id",
            "node.cluster",
            "node.locality.region",
            "node.locality.zone",
            "node.locality.sub_zone",
            "node.user_agent_name",
            "node.metadata.a.b",
            "identity.spiffe",
            "identity.uri",
            "identity.dns",
        ] {
            assert_eq!(text.parse::<NodeField>().unwrap().to_string(), text);
        }
        for text in ["", "node.name", "node.metadata.", "node.metadata.a..b", "identity.email"] {
            assert_eq!(text.parse::<NodeField>(), Err(NoSuchField(text.to_owned())), "{text:?}");
        }
    }
}
