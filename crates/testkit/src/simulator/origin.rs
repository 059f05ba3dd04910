//! The control plane: content that changes, served by a server machine over a database of its own.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use bytes::Bytes;
use weir_database::{Database, DemandChange, Settings};
use weir_types::constraints::Expr;
use weir_types::{Absence, Constraints, Content, Kind, Name, Reach, Selector, TypeUrl, Variant, VariantKey};

use super::history::{History, Variants};
use super::proxy::sorted;
use super::{NAMES, types};
use crate::model::{Change, Reference};

/// The source of all content.
pub(super) struct Origin {
    pub(super) database: Database,
    pub(super) history: History,
    reference: Reference,
    revision: u64,
}

fn database() -> Database {
    Database::new(Settings { idle: Duration::from_secs(5), ..Settings::default() })
}

impl Origin {
    pub(super) fn new() -> Self {
        let (history, reference) = Default::default();
        Self { database: database(), history, reference, revision: 0 }
    }

    /// Replaces what there is of some names of a type, in one response: the variants of a name never overlap.
    pub(super) fn change(&mut self, rng: &mut fastrand::Rng) {
        let types = types();
        let type_url = &types[rng.usize(0..types.len())];
        let mut change = Change::new(type_url.clone(), Reach::Local);
        self.revision += 1;
        let revision = self.revision;
        for name in rng.choose_multiple(NAMES, 2) {
            let layout = layout(rng.usize(0..6));
            // Contents return, so that a version does, too.
            change = self.replace(change, name, layout, || if rng.bool() { revision } else { 0 });
        }
        self.publish(&change);
    }

    /// Has something of every name of every type for everybody.
    pub(super) fn fill(&mut self) {
        self.revision += 1;
        let revision = self.revision;
        for (of, type_url) in types().into_iter().enumerate() {
            let mut change = Change::new(type_url, Reach::Local);
            for (name, index) in NAMES.into_iter().zip([5, 2, 3, 5].into_iter().cycle().skip(of)) {
                change = self.replace(change, name, layout(index), || revision);
            }
            self.publish(&change);
        }
    }

    /// The same change that also puts the variants of `layout` in place of what there is of a name, each with a
    /// content that goes by a serial number.
    fn replace(
        &mut self,
        mut change: Change,
        name: &str,
        layout: Vec<Constraints>,
        mut serial: impl FnMut() -> u64,
    ) -> Change {
        let (name, type_url) = (Name::from(name), change.type_url.clone());
        let old = self.history.latest(&type_url, &name).iter();
        for (constraints, _) in old.filter(|(old, _)| !layout.contains(old)) {
            change = change.without(VariantKey::new(name.clone(), constraints.clone()));
        }
        let mut variants = Variants::new();
        for (index, constraints) in layout.into_iter().enumerate() {
            let body = Bytes::from(format!("{name} {}.{index}", serial()));
            change = change.with(
                VariantKey::new(name.clone(), constraints.clone()),
                Content {
                    body: Some(body.clone()),
                    eds_name: (type_url.kind() == Kind::Cluster).then(|| name.clone()),
                    ..Content::default()
                },
            );
            variants.push((constraints, body));
        }
        self.history.note(&type_url, &name, self.revision, variants);
        change
    }

    fn publish(&mut self, change: &Change) {
        self.reference.apply(change);
        self.database.commit(change.batch());
    }

    /// Starts anew with the same content.
    pub(super) fn restart(&mut self) {
        self.database = database();
        for type_url in types() {
            let mut change = Change::new(type_url.clone(), Reach::Local);
            for variant in self.reference.contents(&type_url, Reach::Local) {
                change = change.with(variant.key().clone(), variant.content().clone());
            }
            self.database.commit(change.batch());
        }
    }

    /// Answers what is asked for, as one does who has all there is. Returns whether there was anything.
    pub(super) fn answer(&mut self) -> bool {
        let changes = sorted(self.database.take_demand());
        for change in &changes {
            let DemandChange::Wanted(type_url, locator) = change else { continue };
            let mut answer = Change::new(type_url.clone(), Reach::Local).batch();
            match locator.is_wildcard() {
                true => answer.mark_answered(locator),
                false => answer.mark_absent(locator, Absence::Known),
            }
            self.database.commit(answer);
        }
        !changes.is_empty()
    }

    pub(super) fn sweep(&self, now: Instant) {
        self.database.sweep(now);
    }

    /// What a client with these selectors should have: names and contents.
    pub(super) fn shows(&self, type_url: &TypeUrl, wanted: &BTreeSet<Selector>) -> BTreeSet<(Name, Bytes)> {
        let shown = self.reference.shows(type_url, wanted.iter());
        shown.values().map(|variant| content_of(variant)).collect()
    }
}

fn content_of(variant: &Variant) -> (Name, Bytes) {
    (variant.name().clone(), variant.content().body.clone().unwrap_or_default())
}

/// Constraints that no parameters match twice.
fn layout(index: usize) -> Vec<Constraints> {
    let prod = || Expr::value("env", "prod");
    let v1 = || Expr::value("version", "v1");
    let both = |one, other| Expr::All(vec![one, other]);
    let exprs = match index {
        0 => vec![],
        1 => vec![prod()],
        2 => vec![prod(), Expr::not(prod())],
        3 => vec![both(prod(), v1()), both(prod(), Expr::not(v1())), Expr::not(prod())],
        4 => vec![Expr::value("env", "test"), both(prod(), Expr::not(Expr::exists("version")))],
        _ => vec![Expr::All(vec![])],
    };
    exprs.into_iter().map(Constraints::new).collect()
}
