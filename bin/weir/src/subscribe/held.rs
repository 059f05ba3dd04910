//! What the client holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_types::xdstp::glob_of;
use weir_types::{Absence, Batch, Form, Name, Variant, VariantKey};

/// Everything that came, and what is known to be missing.
#[derive(Debug)]
pub(crate) struct Held {
    /// Each name that was asked for, and how its absence is known.
    wanted: BTreeMap<Name, Absence>,
    variants: BTreeMap<VariantKey, Arc<Variant>>,
}

/// Something that is different now.
#[derive(Debug)]
pub(crate) enum Change {
    Added(Arc<Variant>),
    Changed(Arc<Variant>),
    Removed(Arc<Variant>),
    Missing(Name, Absence),
}

impl Held {
    /// Nothing yet of `names`.
    pub(crate) fn new(names: &[String]) -> Self {
        let wanted = names.iter().map(|name| (Name::from(name.as_str()), Absence::Unknown));
        Self { wanted: wanted.collect(), variants: BTreeMap::new() }
    }

    /// Applies what came.
    pub(crate) fn apply(&mut self, batch: Batch) -> Vec<Change> {
        let mut changes = Vec::new();
        for key in &batch.removals {
            changes.extend(self.variants.remove(key).map(Change::Removed));
        }
        for variant in batch.upserts.into_iter().map(Arc::new) {
            match self.variants.insert(variant.key().clone(), Arc::clone(&variant)) {
                None => changes.push(Change::Added(variant)),
                Some(old) if is_equal(&old, &variant) => {}
                Some(_) => changes.push(Change::Changed(variant)),
            }
        }
        for absent in batch.absent {
            if let Some(known) = self.wanted.get_mut(&absent.name)
                && *known != absent.absence
            {
                *known = absent.absence;
                changes.push(Change::Missing(absent.name, absent.absence));
            }
        }
        let variants = &self.variants;
        let found = self.wanted.iter_mut().filter(|(name, _)| is_held(variants, name));
        found.for_each(|(_, absence)| *absence = Absence::Unknown);
        changes
    }

    /// What there is, by name.
    pub(crate) fn variants(&self) -> impl Iterator<Item = &Arc<Variant>> {
        self.variants.values()
    }

    /// What was named and is not there, and how that is known.
    pub(crate) fn missing(&self) -> impl Iterator<Item = (&Name, Absence)> {
        let missing = self.wanted.iter().filter(|(name, _)| !is_held(&self.variants, name));
        missing.map(|(name, absence)| (name, *absence))
    }

    /// Whether something that was named is not there.
    pub(crate) fn is_missing_some(&self) -> bool {
        self.missing().next().is_some()
    }
}

fn is_equal(left: &Variant, right: &Variant) -> bool {
    left.version(Form::Located) == right.version(Form::Located)
        && left.content().upstream_version == right.content().upstream_version
}

/// Whether there is something under this name or alias, or in this glob.
fn is_held(variants: &BTreeMap<VariantKey, Arc<Variant>>, name: &Name) -> bool {
    variants.values().any(|variant| {
        variant.name() == name
            || variant.content().aliases.contains(name)
            || glob_of(variant.name()).is_some_and(|glob| *glob == **name)
    })
}

#[cfg(test)]
mod tests {
    use weir_types::{Constraints, Content, DynamicParameters, Reach, ResourceLocator, TypeUrl};

    use super::*;

    fn batch() -> Batch {
        Batch::new(TypeUrl::new("a/b"), Reach::Named)
    }

    fn with(name: &str, version: &str, aliases: &[&str]) -> Batch {
        let aliases = aliases.iter().map(|alias| Name::from(*alias)).collect();
        let content = Content { upstream_version: version.into(), aliases, ..Content::default() };
        let variant = Variant::new(VariantKey::new(name, Constraints::unconstrained()), content);
        Batch { upserts: vec![variant], ..batch() }
    }

    fn without(name: &str) -> Batch {
        let mut batch = batch();
        batch.removals.push(VariantKey::new(name, Constraints::unconstrained()));
        batch.mark_absent(&ResourceLocator::new(name, DynamicParameters::empty()), Absence::Known);
        batch
    }

    fn apply(held: &mut Held, batch: Batch) -> Vec<&'static str> {
        let changes = held.apply(batch);
        changes
            .iter()
            .map(|change| match change {
                Change::Added(_) => "added",
                Change::Changed(_) => "changed",
                Change::Removed(_) => "removed",
                Change::Missing(..) => "missing",
            })
            .collect()
    }

    #[test]
    fn what_comes_and_goes() {
        let mut held = Held::new(&["a".to_owned()]);
        assert!(held.is_missing_some());
        assert_eq!(apply(&mut held, without("a")), ["missing"]);
        assert_eq!(apply(&mut held, with("a", "1", &[])), ["added"]);
        assert!(!held.is_missing_some());
        assert_eq!(apply(&mut held, with("a", "1", &[])), [""; 0]);
        assert_eq!(apply(&mut held, with("a", "2", &[])), ["changed"]);
        assert_eq!(apply(&mut held, without("a")), ["removed", "missing"]);
        assert!(held.is_missing_some());
    }

    #[test]
    fn w04_a_glob_is_there_if_anything_belongs_to_it() {
        let mut held = Held::new(&["xdstp://auth/T/dir/*".to_owned()]);
        held.apply(with("xdstp://auth/T/other/a", "1", &[]));
        assert!(held.is_missing_some());
        held.apply(with("xdstp://auth/T/dir/a", "1", &[]));
        assert!(!held.is_missing_some());
    }

    #[test]
    fn i09_an_alias_is_found() {
        let mut held = Held::new(&["r/a.test".to_owned()]);
        held.apply(with("r/vh", "1", &["r/a.test"]));
        assert!(!held.is_missing_some());
    }
}
