//! What is subscribed to before any client asks.

use std::collections::{BTreeMap, BTreeSet};

use weir_types::authority;

use super::upstream::Reader;
use crate::settings::{Parameters, Prefetch};

impl Reader<'_> {
    pub(super) fn prefetch(
        &mut self,
        of: &str,
        prefetch: Option<Vec<Prefetch>>,
        parameters: &Parameters,
    ) -> Vec<Prefetch> {
        let prefetch = prefetch.unwrap_or_default();
        for (i, entry) in prefetch.iter().enumerate() {
            let key = format!("prefetch[{i}]");
            self.check_names(&format!("{key}.names"), of, &entry.names);
            if entry.parameter_sets.is_empty() {
                let message = "must have at least one set: leave it out for one without parameters (got [])";
                self.add(&format!("{key}.parameter_sets"), message);
            }
        }
        if let Parameters::Streams { keys, max_sets, .. } = parameters {
            self.check_sets(&prefetch, keys, max_sets.get());
        }
        prefetch
    }

    fn check_names(&mut self, key: &str, of: &str, names: &[String]) {
        if names.is_empty() && !of.is_empty() {
            let message =
                format!("must name resources or globs of {of:?}: [] is the wildcard, which has no authority");
            self.add(key, message);
        }
        for (i, name) in names.iter().enumerate().filter(|(_, name)| authority(name) != of) {
            let message = format!("must have this upstream's authority, which is {of:?} (got {name:?})");
            self.add(&format!("{key}[{i}]"), message);
        }
    }

    /// A parameter that makes no difference to the control plane would be asked for in vain, and so would a set that is
    /// one too many.
    fn check_sets(&mut self, prefetch: &[Prefetch], keys: &[String], max: usize) {
        let mut distinct: BTreeSet<&BTreeMap<String, String>> = BTreeSet::new();
        for (i, entry) in prefetch.iter().enumerate() {
            for (j, set) in entry.parameter_sets.iter().enumerate() {
                for key in set.keys().filter(|key| !keys.contains(key)) {
                    let message = format!("{key:?} is none of parameter_keys, which are {keys:?}");
                    self.add(&format!("prefetch[{i}].parameter_sets[{j}]"), message);
                }
                distinct.insert(set);
            }
        }
        if distinct.len() > max {
            let sets = distinct.len();
            self.add(
                "prefetch",
                format!("{sets} sets of parameters are more than max_parameter_sets, which is {max}"),
            );
        }
    }
}
