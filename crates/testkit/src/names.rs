//! Which names belong to which collection, read off the text of xRFC TP1 and of the protocol.

/// Whether the resource `name` is part of the wildcard or of the glob `collection`.
pub(crate) fn is_part_of(name: &str, collection: &str) -> bool {
    if collection == "*" {
        return true;
    }
    let (path, parameters) = name.split_once('?').unwrap_or((name, ""));
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    let mark = if parameters.is_empty() { "" } else { "?" };
    collection.starts_with("xdstp://") && collection == format!("{directory}/*{mark}{parameters}")
}
