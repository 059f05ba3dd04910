//! What breaks a rule, by the key that it is about.

use std::collections::BTreeMap;

/// Something that breaks a rule.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) key: String,
    pub(crate) message: String,
}

/// What was found so far.
#[derive(Debug, Default)]
pub(crate) struct Findings(pub(crate) Vec<Finding>);

impl Findings {
    pub(crate) fn add(&mut self, key: impl Into<String>, message: impl Into<String>) {
        self.0.push(Finding { key: key.into(), message: message.into() });
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

    pub(crate) fn add_zero(&mut self, key: &str, value: usize) {
        if value == 0 {
            self.add(key, "0 is too small; the least is 1");
        }
    }
}
