//! What breaks a rule, by the key that it is about.

use std::collections::BTreeMap;

/// Something that breaks a rule.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) key: String,
    pub(crate) message: String,
}

/// What was found in one section, or between sections.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// The key of the section, with a dot; empty between sections.
    prefix: String,
    found: Vec<Finding>,
}

impl Findings {
    /// Findings of the section at `key`.
    pub(crate) fn of_section(key: &str) -> Self {
        Self { prefix: format!("{key}."), found: Vec::new() }
    }

    /// Reports `key`, of the section; the section itself where it is empty.
    pub(crate) fn add(&mut self, key: impl AsRef<str>, message: impl Into<String>) {
        let key = format!("{}{}", self.prefix, key.as_ref());
        let key = key.trim_end_matches('.').to_owned();
        self.found.push(Finding { key, message: message.into() });
    }

    pub(crate) fn extend(&mut self, others: Self) {
        self.found.extend(others.found);
    }

    pub(crate) fn into_vec(self) -> Vec<Finding> {
        self.found
    }

    /// Reports two of the same, where all must differ.
    pub(crate) fn add_duplicates<T: Ord + Copy>(
        &mut self,
        items: impl IntoIterator<Item = (String, T)>,
        message: impl Fn(T, &str) -> String,
    ) {
        let mut first: BTreeMap<T, String> = BTreeMap::new();
        for (key, item) in items {
            match first.get(&item) {
                Some(other) => self.add(key, message(item, other)),
                None => _ = first.insert(item, key),
            }
        }
    }
}
