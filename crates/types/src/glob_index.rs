//! The members of glob collections.

use std::collections::{HashMap, HashSet};

use crate::Name;
use crate::xdstp::glob_of;

/// A set of canonical names, looked up by the glob that they belong to. Names that belong to none are not kept.
#[derive(Clone, Debug, Default)]
pub struct GlobIndex(HashMap<Name, HashSet<Name>>);

impl GlobIndex {
    /// Adds a name.
    pub fn insert(&mut self, name: &Name) {
        if let Some(glob) = glob_of(name) {
            self.0.entry(glob).or_default().insert(name.clone());
        }
    }

    /// Takes a name out.
    pub fn remove(&mut self, name: &Name) {
        let Some(glob) = glob_of(name) else { return };
        let Some(names) = self.0.get_mut(&glob) else { return };
        names.remove(name);
        if names.is_empty() {
            self.0.remove(&glob);
        }
    }

    /// The names that belong to `glob`, in no order.
    pub fn members(&self, glob: &Name) -> impl Iterator<Item = &Name> + use<'_> {
        self.0.get(glob).into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w04_names_are_found_by_their_glob() {
        let names = ["xdstp://a/T/x/1?k=v", "xdstp://a/T/x/2?k=v", "xdstp://a/T/x/3", "x/4"].map(Name::from);
        let mut globs = GlobIndex::default();
        names.iter().for_each(|name| globs.insert(name));
        let members = |globs: &GlobIndex, glob: &str| {
            let mut members: Vec<Name> = globs.members(&glob.into()).cloned().collect();
            members.sort_unstable();
            members
        };
        assert_eq!(members(&globs, "xdstp://a/T/x/*?k=v"), names[..2]);
        assert_eq!(members(&globs, "xdstp://a/T/x/*"), names[2..3]);
        assert!(members(&globs, "*").is_empty());
        names.iter().for_each(|name| globs.remove(name));
        assert!(globs.0.is_empty(), "nothing is left behind");
    }
}
