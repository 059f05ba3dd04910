//! One rule of a value: what protoc-gen-validate has of them, as far as Envoy's API uses it.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use prost_reflect::{DynamicMessage, EnumDescriptor, Kind, ReflectMessage, Value};
use regex::Regex;

/// Maximum length of a value in an error, in characters.
const MAX_SHOWN: usize = 80;

/// What a value must be.
#[derive(Debug)]
pub(super) enum Rule {
    Equal(Value),
    Less(Value),
    AtMost(Value),
    Greater(Value),
    AtLeast(Value),
    In(Vec<Value>),
    NotIn(Vec<Value>),
    /// A value of the enum.
    Defined(EnumDescriptor),
    Longer(u64, Unit),
    Shorter(u64, Unit),
    Prefix(String),
    Suffix(String),
    Pattern(Regex),
    HeaderName,
    HeaderValue,
    /// The same for names and values that are not checked strictly.
    HeaderText,
    Unique,
    /// A rule of no field of Envoy's API, by its name. Passes every value.
    Unsupported(String),
}

/// What is counted in a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Character,
    Byte,
    Item,
    Entry,
}

/// The requirement, as it follows `must`, and the value.
#[derive(Debug)]
pub(super) struct Broken {
    pub(super) requirement: String,
    /// None where the requirement shows it.
    pub(super) got: Option<String>,
}

// === impl Rule ===

impl Rule {
    /// Reads the rule `name` of the group `group` about values of `kind`; none for a rule that is switched off.
    pub(super) fn read(group: &str, name: &str, limit: &Value, kind: &Kind) -> Option<Self> {
        let count = |rule: fn(u64, Unit) -> Self, unit| limit.as_u64().map(|limit| rule(limit, unit));
        let text = || limit.as_str().map(str::to_owned);
        let list = || limit.as_list().map(<[Value]>::to_vec);
        let of_length = if group == "bytes" { Unit::Byte } else { Unit::Character };
        let rule = match (group, name) {
            // They are read together: see `Self::header`.
            ("string", "well_known_regex" | "strict") => return None,
            ("enum", "defined_only") | ("repeated", "unique") if limit.as_bool() != Some(true) => {
                return None;
            }
            ("enum", "defined_only") => kind.as_enum().cloned().map(Self::Defined),
            ("repeated", "unique") => Some(Self::Unique),
            ("string" | "bytes", "min_len") => count(Self::Longer, of_length),
            ("string" | "bytes", "max_len") => count(Self::Shorter, of_length),
            ("string", "min_bytes") => count(Self::Longer, Unit::Byte),
            ("string", "max_bytes") => count(Self::Shorter, Unit::Byte),
            ("repeated", "min_items") => count(Self::Longer, Unit::Item),
            ("repeated", "max_items") => count(Self::Shorter, Unit::Item),
            ("map", "min_pairs") => count(Self::Longer, Unit::Entry),
            ("map", "max_pairs") => count(Self::Shorter, Unit::Entry),
            ("string", "pattern") => limit.as_str().and_then(|text| Regex::new(text).ok()).map(Self::Pattern),
            ("string", "prefix") => text().map(Self::Prefix),
            ("string", "suffix") => text().map(Self::Suffix),
            (_, "const") => Some(Self::Equal(limit.clone())),
            (_, "in") => list().map(Self::In),
            (_, "not_in") => list().map(Self::NotIn),
            (_, "lt") => Some(Self::Less(limit.clone())),
            (_, "lte") => Some(Self::AtMost(limit.clone())),
            (_, "gt") => Some(Self::Greater(limit.clone())),
            (_, "gte") => Some(Self::AtLeast(limit.clone())),
            _ => None,
        };
        rule.or_else(|| Some(Self::Unsupported(format!("{group}.{name}"))))
    }

    /// The rule of a `validate.StringRules` about headers, if it has one.
    pub(super) fn header(stated: &DynamicMessage) -> Option<Self> {
        let regex = stated.get_field_by_name("well_known_regex")?.as_enum_number()?;
        let is_strict = stated.get_field_by_name("strict")?.as_bool()?;
        match (regex, is_strict) {
            (1, true) => Some(Self::HeaderName),
            (2, true) => Some(Self::HeaderValue),
            (1 | 2, false) => Some(Self::HeaderText),
            _ => None,
        }
    }

    /// The requirement that `value` does not meet; none where it does.
    pub(super) fn broken_by(&self, value: &Value) -> Option<Broken> {
        let value = &unwrapped(value);
        let met = match self {
            Self::Equal(wanted) => value == wanted,
            Self::Less(limit) => compare(value, limit).is_some_and(Ordering::is_lt),
            Self::AtMost(limit) => compare(value, limit).is_some_and(Ordering::is_le),
            Self::Greater(limit) => compare(value, limit).is_some_and(Ordering::is_gt),
            Self::AtLeast(limit) => compare(value, limit).is_some_and(Ordering::is_ge),
            Self::In(list) => list.iter().any(|one| is_same(value, one)),
            Self::NotIn(list) => !list.iter().any(|one| is_same(value, one)),
            Self::Defined(of) => value.as_enum_number().is_some_and(|number| of.get_value(number).is_some()),
            Self::Longer(limit, unit) => unit.count(value) >= *limit,
            Self::Shorter(limit, unit) => unit.count(value) <= *limit,
            Self::Prefix(prefix) => text(value).starts_with(prefix),
            Self::Suffix(suffix) => text(value).ends_with(suffix),
            Self::Pattern(regex) => regex.is_match(text(value)),
            Self::HeaderName => is_header_name(text(value)),
            Self::HeaderValue => !text(value).chars().any(|c| c != '\t' && c.is_ascii_control()),
            Self::HeaderText => !text(value).contains(['\0', '\n', '\r']),
            Self::Unique => repeated(value).is_none(),
            Self::Unsupported(_) => true,
        };
        (!met).then(|| Broken { requirement: self.requirement(), got: self.got(value) })
    }

    fn requirement(&self) -> String {
        match self {
            Self::Equal(wanted) => format!("be {}", shown(wanted)),
            Self::Less(limit) => format!("be less than {}", shown(limit)),
            Self::AtMost(limit) => format!("be at most {}", shown(limit)),
            Self::Greater(limit) => format!("be greater than {}", shown(limit)),
            Self::AtLeast(limit) => format!("be at least {}", shown(limit)),
            Self::In(list) => format!("be one of {}", list.iter().map(shown).collect::<Vec<_>>().join(", ")),
            Self::NotIn(list) => {
                format!("be none of {}", list.iter().map(shown).collect::<Vec<_>>().join(", "))
            }
            Self::Defined(of) => format!("be a value of {}", of.full_name()),
            Self::Longer(1, _) => "not be empty".to_owned(),
            Self::Longer(limit, unit) => format!("have at least {}", unit.counted(*limit)),
            Self::Shorter(limit, unit) => format!("have at most {}", unit.counted(*limit)),
            Self::Prefix(prefix) => format!("start with {prefix:?}"),
            Self::Suffix(suffix) => format!("end with {suffix:?}"),
            Self::Pattern(regex) => format!("match {regex}"),
            Self::HeaderName => "be an HTTP header name".to_owned(),
            Self::HeaderValue => "be an HTTP header value".to_owned(),
            Self::HeaderText => "have no NUL, CR or LF".to_owned(),
            Self::Unique => "have no item twice".to_owned(),
            Self::Unsupported(name) => name.clone(),
        }
    }

    fn got(&self, value: &Value) -> Option<String> {
        match self {
            Self::Longer(1, _) => None,
            Self::Longer(_, unit) | Self::Shorter(_, unit) => Some(unit.count(value).to_string()),
            Self::Unique => repeated(value).map(shown),
            _ => Some(shown(value)),
        }
    }
}

// === impl Unit ===

impl Unit {
    fn count(self, value: &Value) -> u64 {
        let count = match value {
            Value::String(text) if self == Self::Byte => text.len(),
            Value::String(text) => text.chars().count(),
            Value::Bytes(bytes) => bytes.len(),
            Value::List(list) => list.len(),
            Value::Map(map) => map.len(),
            _ => 0,
        };
        count as u64
    }

    fn counted(self, count: u64) -> String {
        let word = match (self, count) {
            (Self::Character, 1) => "character",
            (Self::Character, _) => "characters",
            (Self::Byte, 1) => "byte",
            (Self::Byte, _) => "bytes",
            (Self::Item, 1) => "item",
            (Self::Item, _) => "items",
            (Self::Entry, 1) => "entry",
            (Self::Entry, _) => "entries",
        };
        format!("{count} {word}")
    }
}

/// Whether a value is the default of its type.
pub(super) fn is_empty(value: &Value) -> bool {
    match unwrapped(value) {
        Value::Bool(value) => !value,
        Value::I32(value) | Value::EnumNumber(value) => value == 0,
        Value::I64(value) => value == 0,
        Value::U32(value) => value == 0,
        Value::U64(value) => value == 0,
        Value::F32(value) => value == 0.0,
        Value::F64(value) => value == 0.0,
        Value::Message(_) => false,
        other => Unit::Byte.count(&other) == 0,
    }
}

/// A scalar as it stands in a path.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => shown(other),
    }
}

/// A value as it stands in an error.
fn shown(value: &Value) -> String {
    match value {
        Value::Bool(value) => value.to_string(),
        Value::I32(value) | Value::EnumNumber(value) => value.to_string(),
        Value::I64(value) => value.to_string(),
        Value::U32(value) => value.to_string(),
        Value::U64(value) => value.to_string(),
        Value::F32(value) => value.to_string(),
        Value::F64(value) => value.to_string(),
        Value::String(text) if text.chars().count() > MAX_SHOWN => {
            format!("{:?}…", text.chars().take(MAX_SHOWN).collect::<String>())
        }
        Value::String(text) => format!("{text:?}"),
        Value::Message(message) => match seconds(message) {
            Some((seconds, nanos)) => format!("{}s", seconds as f64 + f64::from(nanos) / 1e9),
            None => message.descriptor().full_name().to_owned(),
        },
        other => format!("{} bytes", Unit::Byte.count(other)),
    }
}

/// The value in a wrapper such as `google.protobuf.UInt32Value`; any other value as it is.
fn unwrapped(value: &Value) -> Value {
    match value {
        Value::Message(message) if message.descriptor().full_name().ends_with("Value") => {
            message.get_field_by_name("value").map_or_else(|| value.clone(), |inner| inner.into_owned())
        }
        other => other.clone(),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::I32(left), Value::I32(right)) => left.partial_cmp(right),
        (Value::I64(left), Value::I64(right)) => left.partial_cmp(right),
        (Value::U32(left), Value::U32(right)) => left.partial_cmp(right),
        (Value::U64(left), Value::U64(right)) => left.partial_cmp(right),
        (Value::F32(left), Value::F32(right)) => left.partial_cmp(right),
        (Value::F64(left), Value::F64(right)) => left.partial_cmp(right),
        (Value::Message(left), Value::Message(right)) => seconds(left)?.partial_cmp(&seconds(right)?),
        _ => None,
    }
}

/// Whether they are equal; an enum is compared with the numbers of its rules.
fn is_same(value: &Value, listed: &Value) -> bool {
    match (value, listed) {
        (Value::EnumNumber(value), Value::I32(listed)) => value == listed,
        _ => value == listed,
    }
}

/// The seconds and nanoseconds of a duration or a timestamp.
fn seconds(message: &DynamicMessage) -> Option<(i64, i32)> {
    let seconds = message.get_field_by_name("seconds")?.as_i64()?;
    Some((seconds, message.get_field_by_name("nanos")?.as_i32()?))
}

/// A pseudo-header or a token of RFC 7230.
fn is_header_name(text: &str) -> bool {
    let name = text.strip_prefix(':').unwrap_or(text);
    let is_good = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+,-.^_|~`".contains(c);
    !name.is_empty() && name.chars().all(is_good)
}

/// The first item that an earlier one equals.
fn repeated(list: &Value) -> Option<&Value> {
    let mut seen = BTreeMap::new();
    list.as_list()?.iter().find(|item| seen.insert(shown_whole(item), ()).is_some())
}

/// Equal for equal items only: unlike [`shown`], of any length.
fn shown_whole(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => format!("{other:?}"),
    }
}
