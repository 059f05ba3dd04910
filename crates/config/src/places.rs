//! Where each key of a file stands: from dotted keys to lines, and from byte offsets to dotted keys.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use weir_types::similar;

use crate::Problem;

/// The keys of one file, outer ones before those within.
#[derive(Debug, Default)]
pub(crate) struct Places(Vec<Place>);

#[derive(Debug)]
struct Place {
    key: String,
    /// Of the key itself; of the value for an element of an array.
    name: Range<usize>,
    value: Range<usize>,
}

impl Places {
    pub(crate) fn of(table: &Spanned<DeTable<'_>>) -> Self {
        let mut places = Self::default();
        places.add_table("", table.get_ref());
        places
    }

    fn add_table(&mut self, parent: &str, table: &DeTable<'_>) {
        for (name, value) in table {
            let dot = if parent.is_empty() { "" } else { "." };
            self.add(format!("{parent}{dot}{}", name.get_ref()), name.span(), value);
        }
    }

    fn add(&mut self, key: String, name: Range<usize>, value: &Spanned<DeValue<'_>>) {
        self.0.push(Place { key: key.clone(), name, value: value.span() });
        match value.get_ref() {
            DeValue::Table(table) => self.add_table(&key, table),
            DeValue::Array(array) => {
                for (i, item) in array.iter().enumerate() {
                    self.add(format!("{key}[{i}]"), item.span(), item);
                }
            }
            _ => {}
        }
    }

    /// What is wrong with `key`. A key that the file does not have stands where its table does.
    pub(crate) fn problem(&self, text: &str, key: String, message: String) -> Problem {
        let mut known = key.as_str();
        let offset = loop {
            match self.0.iter().find(|place| place.key == known) {
                Some(place) => break place.name.start,
                None if known.is_empty() => break 0,
                None => known = &known[..known.rfind(['.', '[']).unwrap_or_default()],
            }
        };
        Problem { line: line(text, offset), key, message }
    }

    /// What serde or the TOML parser found.
    pub(crate) fn explain(&self, text: &str, error: &toml::de::Error) -> Problem {
        let span = error.span().unwrap_or_default();
        let within = |place: &&Place| contains(&place.name, &span) || contains(&place.value, &span);
        let key = self.0.iter().rev().find(within).map_or_else(String::new, |place| place.key.clone());
        let key = if error.message() == "duplicate key" { text[span.clone()].trim().to_owned() } else { key };
        let message = error.message().trim().replace('\n', ", ");
        let message = ["unknown", "missing", "duplicate"].iter().fold(message, |message, word| match message
            .strip_prefix(&format!("{word} field "))
        {
            Some(rest) => format!("{word} key {rest}"),
            None => message,
        });
        let message = if is_secret(&key) { without_value(message) } else { message };
        let message = with_suggestion(message);
        let message = WORDS.iter().fold(message, |message, (rust, plain)| message.replace(rust, plain));
        Problem { line: line(text, span.start), key, message }
    }
}

/// Whether `inner` lies within `outer`. The file as a whole has an empty span, which lies within nothing.
pub(crate) fn contains(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    !inner.is_empty() && outer.start <= inner.start && inner.end <= outer.end
}

/// The message for a key that is none of `known`, in the words that serde has for it.
pub(crate) fn unknown_key(key: &str, known: &[&str]) -> String {
    with_suggestion(format!("unknown key `{key}`, expected one of `{}`", known.join("`, `")))
}

/// What is wrong, with what was probably meant.
fn with_suggestion(message: String) -> String {
    if message == "invalid type: map, expected a sequence" {
        return message + ": each is a table of its own, under a heading with double brackets: [[name]]";
    }
    let mut quoted = message.split('`').skip(1).step_by(2);
    let typed = match message.split('`').next() {
        Some("unknown key " | "unknown variant ") => quoted.next(),
        _ => None,
    };
    match typed.and_then(|typed| similar(typed, quoted)) {
        Some(meant) => message.replacen(", expected", &format!("; did you mean `{meant}`? expected"), 1),
        None => message,
    }
}

/// Whether what stands there is shown to nobody.
fn is_secret(key: &str) -> bool {
    key.split('.').any(|part| part == "headers")
}

/// What is wrong with a value, without the value.
fn without_value(message: String) -> String {
    match message.split_once(", expected ") {
        Some((_, wanted)) => format!("expected {wanted}"),
        None => message,
    }
}

/// What serde calls by the names of Rust, and what people call it.
const WORDS: [(&str, &str); 4] = [
    ("expected i64", "expected a whole number"),
    ("expected f64", "expected a number"),
    ("expected a sequence", "expected a list"),
    (" as i128", ""),
];

fn line(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}
