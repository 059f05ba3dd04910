//! Validation of resources against the rules that Envoy's API states about its fields (`validate.rules`), also within
//! each `typed_config` of a known type. Envoy rejects a resource that breaks one of them.
//!
//! Reads the rules from the descriptors. Never changes a resource, and passes types without a descriptor.

mod cluster;
mod rule;
mod rules;
#[cfg(test)]
mod tests;

use std::fmt;

use prost_reflect::{DynamicMessage, ReflectMessage, Value};

use crate::json::message_of;
use rules::{FieldRules, MessageRules, Rules};

/// Maximum nesting of messages; deeper ones are not validated.
const MAX_DEPTH: usize = 100;

/// A rule that a resource breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Path of the field from the outermost message: names of fields and keys of maps, and `[0]` for items of lists.
    pub path: Vec<String>,
    /// The rule and the value.
    pub reason: String,
}

/// `endpoints[0].priority: must be at most 128 (got 200)`
impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.path.iter().enumerate() {
            let dot = if i == 0 || step.starts_with('[') { "" } else { "." };
            write!(f, "{dot}{step}")?;
        }
        let colon = if self.path.is_empty() { "" } else { ": " };
        write!(f, "{colon}{}", self.reason)
    }
}

/// The rules that the message in an encoded Any breaks, in the order of the fields.
pub fn violations(any: &[u8]) -> Vec<Violation> {
    let mut walk = Walk { path: Vec::new(), is_secret: false, found: Vec::new() };
    match <prost_types::Any as prost::Message>::decode(any) {
        Ok(any) => walk.any(&any),
        Err(error) => walk.add(format!("must be an encoded google.protobuf.Any ({error})")),
    }
    walk.found
}

/// One pass over a message.
struct Walk {
    path: Vec<String>,
    /// Whether the current field holds a secret, whose value is never shown.
    is_secret: bool,
    found: Vec<Violation>,
}

impl Walk {
    fn add(&mut self, reason: String) {
        self.found.push(Violation { path: self.path.clone(), reason });
    }

    /// Validates with `step` appended to the path.
    fn below(&mut self, step: impl Into<String>, validate: impl FnOnce(&mut Self)) {
        self.path.push(step.into());
        if self.path.len() <= MAX_DEPTH {
            validate(self);
        }
        self.path.pop();
    }

    fn any(&mut self, any: &prost_types::Any) {
        let Some(descriptor) = message_of(&any.type_url) else { return };
        let name = descriptor.full_name().to_owned();
        match DynamicMessage::decode(descriptor, &any.value[..]) {
            // The JSON form of an Any has the fields of its message in the same object.
            Ok(message) if name != ANY => self.message(&message),
            Ok(message) => self.below("value", |walk| walk.message(&message)),
            Err(error) => self.add(format!("must be an encoded {name} ({error})")),
        }
    }

    fn message(&mut self, message: &DynamicMessage) {
        let descriptor = message.descriptor();
        if descriptor.full_name() == ANY {
            if let Ok(any) = message.transcode_to::<prost_types::Any>() {
                self.any(&any);
            }
            return;
        }
        let rules = MessageRules::of(&descriptor);
        for field in &rules.fields {
            let was_secret = self.is_secret;
            self.is_secret |= field.is_secret;
            self.below(field.descriptor.name(), |walk| walk.field(message, field));
            self.is_secret = was_secret;
        }
        for oneof in &rules.required_oneofs {
            if !oneof.fields().any(|field| message.has_field(&field)) {
                let names: Vec<_> = oneof.fields().map(|field| field.name().to_owned()).collect();
                self.add(format!("must have one of {}", names.join(", ")));
            }
        }
        for (step, reason) in cluster::problems(message) {
            self.below(step, |walk| walk.add(reason));
        }
    }

    fn field(&mut self, message: &DynamicMessage, field: &FieldRules) {
        if field.descriptor.supports_presence() && !message.has_field(&field.descriptor) {
            if field.rules.is_required {
                self.add("must be set".to_owned());
            }
            return;
        }
        self.value(&message.get_field(&field.descriptor), &field.rules);
    }

    fn value(&mut self, value: &Value, rules: &Rules) {
        if rules.ignores_empty && rule::is_empty(value) {
            return;
        }
        for rule in &rules.own {
            if let Some(broken) = rule.broken_by(value) {
                let got = broken.got.filter(|_| !self.is_secret);
                let got = got.map_or_else(String::new, |got| format!(" (got {got})"));
                self.add(format!("must {}{got}", broken.requirement));
            }
        }
        match value {
            Value::Message(message) if !rules.skips_message => self.message(message),
            Value::List(items) => {
                for (i, item) in items.iter().enumerate() {
                    self.below(format!("[{i}]"), |walk| walk.value(item, rules.items()));
                }
            }
            Value::Map(map) => {
                let mut entries: Vec<_> = map.iter().collect();
                entries.sort_unstable_by_key(|(key, _)| *key);
                for (key, value) in entries {
                    let key = Value::from(key.clone());
                    self.below(rule::plain(&key), |walk| {
                        walk.value(&key, rules.keys());
                        walk.value(value, rules.values());
                    });
                }
            }
            _ => {}
        }
    }
}

const ANY: &str = "google.protobuf.Any";
