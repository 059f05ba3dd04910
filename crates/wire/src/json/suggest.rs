//! Suggestions for names that a message, an enum or the API does not have.

use prost_reflect::{EnumDescriptor, Kind, MessageDescriptor};
use weir_types::similar;

use super::{POOL, message_of};

/// Returns the name that was probably meant by the one in `reason`, an error from reading a message of type `type_url`
/// in its JSON form. `path` leads from that message to the place of the error; an item of a list is `[0]`.
pub fn suggestion<'a>(
    type_url: &str,
    path: impl IntoIterator<Item = &'a str>,
    reason: &str,
) -> Option<String> {
    let typed = reason.split('\'').nth(1)?;
    if reason.starts_with("message ") {
        return message(typed);
    }
    if reason.starts_with("unsupported type url ") {
        return message(typed).map(|name| format!("type.googleapis.com/{name}"));
    }
    if !reason.starts_with("unrecognized ") {
        return None;
    }
    let kind =
        path.into_iter().try_fold(Kind::Message(message_of(type_url)?), |kind, step| within(&kind, step))?;
    match kind {
        Kind::Message(of) => field(&of, typed),
        Kind::Enum(of) => value(&of, typed),
        _ => None,
    }
}

/// As [`suggestion`], for an error from reading the text format, which names the message or the enum itself.
pub(crate) fn suggestion_for_text(reason: &str) -> Option<String> {
    let mut quoted = reason.split('\'').skip(1).step_by(2);
    let typed = quoted.next()?;
    match (reason.split(' ').next()?, quoted.next()) {
        ("message", None) => message(typed),
        ("field", Some(of)) => field(&message_of(of)?, typed),
        ("value", Some(of)) => value(&POOL.get_enum_by_name(of)?, typed),
        _ => None,
    }
}

/// The kind of what `step` leads to.
fn within(kind: &Kind, step: &str) -> Option<Kind> {
    if step.starts_with('[') {
        return Some(kind.clone());
    }
    let of = kind.as_message()?;
    if of.is_map_entry() {
        return Some(of.map_entry_value_field().kind());
    }
    let field = of.get_field_by_name(step).or_else(|| of.get_field_by_json_name(step))?;
    Some(field.kind())
}

fn field(of: &MessageDescriptor, typed: &str) -> Option<String> {
    let fields: Vec<_> = of.fields().collect();
    let names = fields.iter().flat_map(|field| [field.name(), field.json_name()]);
    similar(typed, names).map(str::to_owned)
}

fn value(of: &EnumDescriptor, typed: &str) -> Option<String> {
    let values: Vec<_> = of.values().collect();
    similar(typed, values.iter().map(|value| value.name())).map(str::to_owned)
}

/// A message with a similar full name; else the one message with the same last part of its name.
fn message(typed: &str) -> Option<String> {
    let names: Vec<_> = POOL.all_messages().map(|message| message.full_name().to_owned()).collect();
    if let Some(name) = similar(typed, names.iter().map(String::as_str)) {
        return Some(name.to_owned());
    }
    let last = |name: &str| name.rsplit('.').next().map(str::to_owned);
    let mut alike = names.iter().filter(|name| last(name) == last(typed));
    alike.next().filter(|_| alike.next().is_none()).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLUSTER: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";

    #[test]
    fn names_are_looked_for_where_they_were_misspelled() {
        let endpoint = ["load_assignment", "endpoints", "[0]", "lbEndpoints", "[1]"];
        for (path, reason, wanted) in [
            (&[][..], "unrecognized field name 'conect_timeout'", Some("connect_timeout")),
            (&[], "unrecognized field name 'conectTimeout'", Some("connectTimeout")),
            (&["lb_policy"], "unrecognized enum value 'ROUND_ROBBIN'", Some("ROUND_ROBIN")),
            (&endpoint, "unrecognized field name 'endpont'", Some("endpoint")),
            (
                &["load_assignment", "named_endpoints", "a"],
                "unrecognized field name 'adress'",
                Some("address"),
            ),
            (&[], "unrecognized field name 'unlike_all'", None),
            (&["nowhere"], "unrecognized field name 'name'", None),
            (
                &[],
                "message 'envoy.config.cluster.v3.Clutser' not found",
                Some("envoy.config.cluster.v3.Cluster"),
            ),
            (
                &[],
                "message 'envoy.v3.ClusterLoadAssignment' not found",
                Some("envoy.config.endpoint.v3.ClusterLoadAssignment"),
            ),
            (&[], "message 'acme.Widget' not found", None),
            (
                &[],
                "unsupported type url 'envoy.config.cluster.v3.Cluster': missing at least one '/'",
                Some(CLUSTER),
            ),
            (&[], "expected null", None),
        ] {
            assert_eq!(suggestion(CLUSTER, path.iter().copied(), reason).as_deref(), wanted, "{reason}");
        }
    }

    #[test]
    fn the_text_format_has_suggestions_too() {
        for (reason, wanted) in [
            ("field 'nam' not found for message 'envoy.config.cluster.v3.Cluster'", Some("name")),
            (
                "value 'EDSS' was not found for enum 'envoy.config.cluster.v3.Cluster.DiscoveryType'",
                Some("EDS"),
            ),
            (
                "message type 'envoy.config.cluster.v3.Custer' not found",
                Some("envoy.config.cluster.v3.Cluster"),
            ),
            ("expected '}', but found 'x'", None),
        ] {
            assert_eq!(suggestion_for_text(reason).as_deref(), wanted, "{reason}");
        }
    }
}
