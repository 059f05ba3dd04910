//! What is subscribed to before any client asks.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use weir_types::authority;
use weir_types::xdstp::canonical;

use super::upstream::Reader;
use crate::file;
use crate::settings::{Parameters, Prefetch};

impl Reader<'_> {
    pub(super) fn prefetch(
        &mut self,
        of: &str,
        files: Option<Vec<file::Prefetch>>,
        parameters: &Parameters,
    ) -> Vec<Prefetch> {
        let mut prefetch = Vec::new();
        for (i, mut file) in files.unwrap_or_default().into_iter().enumerate() {
            let key = format!("prefetch[{i}]");
            self.check_names(&format!("{key}.names"), of, &mut file.names);
            if file.parameter_sets.is_empty() {
                self.add(
                    &format!("{key}.parameter_sets"),
                    "[] has no set; leave the key out for one without parameters",
                );
            }
            let file::Prefetch { type_url, names, parameter_sets } = file;
            prefetch.push(Prefetch { type_url: type_url.0.0, names, parameter_sets });
        }
        if let Parameters::Streams { keys, max_sets, .. } = parameters {
            self.check_sets(&prefetch, keys, *max_sets);
        }
        prefetch
    }

    fn check_names(&mut self, key: &str, of: &str, names: &mut [String]) {
        if names.is_empty() && !of.is_empty() {
            self.add(
                key,
                format!("[] is the wildcard, which has no authority; name resources or globs of {of:?}"),
            );
        }
        for (i, name) in names.iter_mut().enumerate() {
            match canonical(name).map(Cow::into_owned) {
                Ok(spelling) if authority(&spelling) == of => *name = spelling,
                Ok(_) => {
                    let message =
                        format!("{name:?} has the authority {:?}, this upstream has {of:?}", authority(name));
                    self.add(&format!("{key}[{i}]"), message);
                }
                Err(error) => self.add(&format!("{key}[{i}]"), error.to_string()),
            }
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
