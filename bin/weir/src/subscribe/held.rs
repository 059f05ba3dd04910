//! What the client holds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weir_types::xdstp::glob_of;
use weir_types::{Absence, Batch, Form, Name, Variant, VariantKey};

/// Everything that came, and what is known to be missing.
#[derive(Debug)]
pub(crate) struct Held {
    /// Each name that was asked for.
    wanted: BTreeMap<Name, Wanted>,
    variants: BTreeMap<VariantKey, Arc<Variant>>,
}

/// What is known of a name that was asked for.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    /// How many variants there are under it: as a name, an alias, or a glob that they belong to.
    found: usize,
    /// How its absence is known.
    absence: Absence,
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
    pub(crate) fn new(names: &[Name]) -> Self {
        let nothing = Wanted { found: 0, absence: Absence::Unknown };
        let wanted = names.iter().map(|name| (name.clone(), nothing));
        Self { wanted: wanted.collect(), variants: BTreeMap::new() }
    }

    /// Applies what came.
    pub(crate) fn apply(&mut self, batch: Batch) -> Vec<Change> {
        let mut changes = Vec::new();
        for key in &batch.removals {
            changes.extend(self.variants.remove(key).map(|variant| {
                self.count(&variant, |found| found - 1);
                Change::Removed(variant)
            }));
        }
        for variant in batch.upserts.into_iter().map(Arc::new) {
            let old = self.variants.insert(variant.key().clone(), Arc::clone(&variant));
            self.count(&variant, |found| found + 1);
            if let Some(old) = &old {
                self.count(old, |found| found - 1);
            }
            match old {
                None => changes.push(Change::Added(variant)),
                Some(old) if is_equal(&old, &variant) => {}
                Some(_) => changes.push(Change::Changed(variant)),
            }
        }
        for absent in batch.absent {
            if let Some(known) = self.wanted.get_mut(&absent.name)
                && known.absence != absent.absence
            {
                known.absence = absent.absence;
                changes.push(Change::Missing(absent.name, absent.absence));
            }
        }
        let found = self.wanted.values_mut().filter(|wanted| wanted.found > 0);
        found.for_each(|wanted| wanted.absence = Absence::Unknown);
        changes
    }

    /// Counts a variant under every name that was asked for and that it answers to.
    fn count(&mut self, variant: &Variant, step: impl Fn(usize) -> usize) {
        let glob = glob_of(variant.name());
        let own = [variant.name()].into_iter().chain(variant.content().aliases.iter()).chain(&glob);
        for name in own.collect::<BTreeSet<_>>() {
            if let Some(wanted) = self.wanted.get_mut(name) {
                wanted.found = step(wanted.found);
            }
        }
    }

    /// What there is, by name.
    pub(crate) fn variants(&self) -> impl ExactSizeIterator<Item = &Arc<Variant>> {
        self.variants.values()
    }

    /// What was named and is not there, and how that is known.
    pub(crate) fn missing(&self) -> impl Iterator<Item = (&Name, Absence)> {
        let missing = self.wanted.iter().filter(|(_, wanted)| wanted.found == 0);
        missing.map(|(name, wanted)| (name, wanted.absence))
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

#[cfg(test)]
mod tests {
    use weir_types::{Constraints, Content, DynamicParameters, Provenance, ResourceLocator, TypeUrl};

    use super::*;

    fn batch() -> Batch {
        Batch::new(TypeUrl::new("a/b"), Provenance::Named)
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
        let mut held = Held::new(&["a".into()]);
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
        let mut held = Held::new(&["xdstp://auth/T/dir/*".into()]);
        held.apply(with("xdstp://auth/T/other/a", "1", &[]));
        assert!(held.is_missing_some());
        held.apply(with("xdstp://auth/T/dir/a", "1", &[]));
        assert!(!held.is_missing_some());
    }

    #[test]
    fn i09_an_alias_is_found() {
        let mut held = Held::new(&["r/a.test".into()]);
        held.apply(with("r/vh", "1", &["r/a.test"]));
        assert!(!held.is_missing_some());
    }

    #[test]
    fn a_name_is_there_while_anything_answers_to_it() {
        let mut held = Held::new(&["r/a.test".into(), "r/vh".into()]);
        held.apply(with("r/vh", "1", &["r/a.test", "r/vh"]));
        held.apply(with("r/other", "1", &["r/a.test"]));
        let missing = |held: &Held| held.missing().map(|(name, _)| name.to_string()).collect::<Vec<_>>();
        assert_eq!(missing(&held), [""; 0]);
        held.apply(with("r/vh", "2", &[]));
        assert_eq!(missing(&held), [""; 0], "another one has the alias");
        held.apply(without("r/other"));
        assert_eq!(missing(&held), ["r/a.test"]);
        held.apply(without("r/vh"));
        assert_eq!(missing(&held), ["r/a.test", "r/vh"]);
    }
}
