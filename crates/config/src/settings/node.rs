//! `[node]`

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::metadata::Metadata;
use crate::sections::Section;

/// Who this instance is: sent upstream, and the id to clients as `control_plane.identifier`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Node {
    /// The node id.
    pub id: String,
    /// The node cluster; may be empty.
    pub cluster: String,
    /// Where it runs.
    pub locality: Locality,
    /// More about it.
    pub metadata: BTreeMap<String, Metadata>,
}

/// Where a node runs; unset parts are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default, bound(deserialize = "T: Deserialize<'de> + Default"))]
pub struct Locality<T = String> {
    /// The region.
    pub region: T,
    /// The zone within the region.
    pub zone: T,
    /// The part of the zone.
    pub sub_zone: T,
}

impl Default for Node {
    fn default() -> Self {
        Self {
            id: "weir".to_owned(),
            cluster: String::new(),
            locality: Locality::default(),
            metadata: BTreeMap::new(),
        }
    }
}

impl Section for Node {}
