//! Where in the metadata of a node something stands.

use prost_types::value::Kind;
use prost_types::{Struct, Value};

/// What stands at a path.
pub(crate) fn at<'a>(metadata: &'a Struct, path: &[String]) -> Option<&'a Value> {
    let (last, parents) = path.split_last()?;
    let mut fields = &metadata.fields;
    for parent in parents {
        match &fields.get(parent)?.kind {
            Some(Kind::StructValue(inner)) => fields = &inner.fields,
            _ => return None,
        }
    }
    fields.get(last)
}
