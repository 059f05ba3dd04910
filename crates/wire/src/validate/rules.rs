//! The rules of each type of message, read from its descriptor once.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use prost_reflect::{
    DynamicMessage, ExtensionDescriptor, FieldDescriptor, Kind, MessageDescriptor, OneofDescriptor, Value,
};

use super::rule::Rule;
use crate::json::extension_of;
use crate::redact::SENSITIVE;

/// The rules of the types that were validated so far, by full name.
static READ: LazyLock<Mutex<HashMap<String, Arc<MessageRules>>>> = LazyLock::new(Mutex::default);

static EXTENSIONS: LazyLock<Extensions> = LazyLock::new(|| Extensions {
    rules: extension_of("validate.rules"),
    required: extension_of("validate.required"),
    disabled: extension_of("validate.disabled"),
    ignored: extension_of("validate.ignored"),
    sensitive: extension_of(SENSITIVE),
});

/// The options that state rules.
struct Extensions {
    rules: Option<ExtensionDescriptor>,
    required: Option<ExtensionDescriptor>,
    disabled: Option<ExtensionDescriptor>,
    ignored: Option<ExtensionDescriptor>,
    sensitive: Option<ExtensionDescriptor>,
}

/// The rules of a type of message.
#[derive(Debug, Default)]
pub(super) struct MessageRules {
    /// The fields that have rules or hold messages.
    pub(super) fields: Vec<FieldRules>,
    /// The oneofs of which a field must be set.
    pub(super) required_oneofs: Vec<OneofDescriptor>,
}

/// The rules of a field.
#[derive(Debug)]
pub(super) struct FieldRules {
    pub(super) descriptor: FieldDescriptor,
    pub(super) is_secret: bool,
    pub(super) rules: Rules,
}

/// The rules of a value, and of those within it.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// Whether the field must be set.
    pub(super) is_required: bool,
    /// Whether the message in the field is not validated.
    pub(super) skips_message: bool,
    /// Whether an empty value passes.
    pub(super) ignores_empty: bool,
    /// The rules of the value itself.
    pub(super) own: Vec<Rule>,
    items: Option<Box<Self>>,
    keys: Option<Box<Self>>,
    values: Option<Box<Self>>,
}

static NONE: Rules = Rules {
    is_required: false,
    skips_message: false,
    ignores_empty: false,
    own: Vec::new(),
    items: None,
    keys: None,
    values: None,
};

// === impl MessageRules ===

impl MessageRules {
    /// The rules of `descriptor`.
    pub(super) fn of(descriptor: &MessageDescriptor) -> Arc<Self> {
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = read.get(descriptor.full_name()) {
            return Arc::clone(known);
        }
        let rules = Arc::new(Self::read(descriptor));
        read.insert(descriptor.full_name().to_owned(), Arc::clone(&rules));
        rules
    }

    fn read(descriptor: &MessageDescriptor) -> Self {
        let options = descriptor.options();
        let is_off =
            is_set(&options, EXTENSIONS.disabled.as_ref()) || is_set(&options, EXTENSIONS.ignored.as_ref());
        if is_off || descriptor.package_name() == "google.protobuf" {
            return Self::default();
        }
        let fields = descriptor.fields().map(FieldRules::read);
        let required = |oneof: &OneofDescriptor| is_set(&oneof.options(), EXTENSIONS.required.as_ref());
        Self {
            fields: fields.filter(FieldRules::is_of_use).collect(),
            required_oneofs: descriptor.oneofs().filter(required).collect(),
        }
    }
}

// === impl FieldRules ===

impl FieldRules {
    fn read(descriptor: FieldDescriptor) -> Self {
        let options = descriptor.options();
        let stated = EXTENSIONS.rules.as_ref().filter(|rules| options.has_extension(rules));
        let stated = stated.map(|rules| options.get_extension(rules));
        let rules = stated.as_deref().and_then(Value::as_message);
        let mut rules = rules.map(|stated| Rules::read(stated, &descriptor.kind())).unwrap_or_default();
        // Of a oneof one field is set; which one is never required.
        rules.is_required &= descriptor.containing_oneof().is_none();
        Self { is_secret: is_set(&options, EXTENSIONS.sensitive.as_ref()), descriptor, rules }
    }

    fn is_of_use(&self) -> bool {
        let Rules { is_required, own, items, .. } = &self.rules;
        let holds_messages = matches!(self.descriptor.kind(), Kind::Message(_));
        *is_required || !own.is_empty() || items.is_some() || holds_messages
    }
}

// === impl Rules ===

impl Rules {
    pub(super) fn items(&self) -> &Self {
        self.items.as_deref().unwrap_or(&NONE)
    }

    pub(super) fn keys(&self) -> &Self {
        self.keys.as_deref().unwrap_or(&NONE)
    }

    pub(super) fn values(&self) -> &Self {
        self.values.as_deref().unwrap_or(&NONE)
    }

    /// The rules of items, keys and values.
    #[cfg(test)]
    pub(super) fn within(&self) -> impl Iterator<Item = &Self> {
        [&self.items, &self.keys, &self.values].into_iter().flatten().map(|rules| &**rules)
    }

    /// Reads a `validate.FieldRules` about values of `kind`.
    fn read(stated: &DynamicMessage, kind: &Kind) -> Self {
        let mut rules = Self::default();
        for (of_kind, stated) in stated.fields() {
            let Some(stated) = stated.as_message() else { continue };
            for (rule, limit) in stated.fields() {
                rules.add(of_kind.name(), rule.name(), limit, kind);
            }
            rules.own.extend(Rule::header(stated));
        }
        rules
    }

    /// Adds the rule `name` of the group `group`, as in `string.min_len`.
    fn add(&mut self, group: &str, name: &str, limit: &Value, kind: &Kind) {
        let is_on = limit.as_bool() == Some(true);
        let within = |kind: &Kind| limit.as_message().map(|stated| Box::new(Self::read(stated, kind)));
        let entry = |field: fn(&MessageDescriptor) -> FieldDescriptor| {
            kind.as_message().and_then(|entry| within(&field(entry).kind()))
        };
        match (group, name) {
            (_, "required") => self.is_required = is_on,
            ("message", "skip") => self.skips_message = is_on,
            (_, "ignore_empty") => self.ignores_empty = is_on,
            ("repeated", "items") => self.items = within(kind),
            ("map", "keys") => self.keys = entry(MessageDescriptor::map_entry_key_field),
            ("map", "values") => self.values = entry(MessageDescriptor::map_entry_value_field),
            _ => self.own.extend(Rule::read(group, name, limit, kind)),
        }
    }
}

fn is_set(options: &DynamicMessage, extension: Option<&ExtensionDescriptor>) -> bool {
    extension.is_some_and(|extension| options.get_extension(extension).as_bool() == Some(true))
}
