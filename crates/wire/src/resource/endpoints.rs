//! What Weir reads of the bodies of clusters and assignments, without decoding them.
//!
//! Owns which endpoints an EDS cluster waits for, and whether an assignment has any. Never reads what endpoints are.

use weir_types::{Kind, Name, TypeUrl};

use crate::scan::fields;

/// The name of the ClusterLoadAssignment that an EDS cluster waits for: `eds_cluster_config.service_name`, or
/// else the cluster's own name. None for other clusters, other types, and what cannot be read.
pub(super) fn eds_name(type_url: &TypeUrl, value: &[u8]) -> Option<Name> {
    const EDS: u64 = 3;
    if type_url.kind() != Kind::Cluster {
        return None;
    }
    let (mut name, mut service_name, mut discovery_type) = ("", "", None);
    for field in fields(value) {
        let field = field.ok()?;
        match field.number {
            1 => name = field.text().ok()?,
            2 => discovery_type = Some(field.varint().ok()?),
            3 => service_name = eds_service_name(field.bytes().ok()?)?,
            38 => discovery_type = None,
            _ => {}
        }
    }
    let wanted = if service_name.is_empty() { name } else { service_name };
    (discovery_type == Some(EDS) && !wanted.is_empty()).then(|| wanted.into())
}

fn eds_service_name(config: &[u8]) -> Option<&str> {
    let mut name = "";
    for field in fields(config) {
        let field = field.ok()?;
        if field.number == 2 {
            name = field.text().ok()?;
        }
    }
    Some(name)
}

/// Whether a ClusterLoadAssignment has endpoints, or a locality whose endpoints come by themselves (LEDS), in whatever health
/// and of whatever weight. None for other types, and for what cannot be read.
pub(super) fn has_endpoints(type_url: &TypeUrl, value: &[u8]) -> Option<bool> {
    if type_url.kind() != Kind::ClusterLoadAssignment {
        return None;
    }
    for field in fields(value) {
        let field = field.ok()?;
        if field.number == 2 && is_inhabited(field.bytes().ok()?)? {
            return Some(true);
        }
    }
    Some(false)
}

/// Whether a locality has endpoints.
fn is_inhabited(locality: &[u8]) -> Option<bool> {
    for field in fields(locality) {
        let field = field.ok()?;
        match field.number {
            2 | 8 => return Some(true),
            7 if !field.bytes().ok()?.is_empty() => return Some(true),
            _ => {}
        }
    }
    Some(false)
}
