//! The control plane: content that changes, served by a server machine over a database of its own.

use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_database::{Database, DemandChange, Settings};
use weir_types::constraints::Expr;
use weir_types::{
    Absence, Constraints, Content, Kind, Name, Reach, Scope, Selector, TypeUrl, Variant,
    VariantKey,
};

use super::{NAMES, types};
use crate::model::{Change, Reference};

/// The source of all content.
pub struct Origin {
    pub(super) database: Database,
    reference: Reference,
    /// Which variants there are of each name.
    layouts: BTreeMap<(TypeUrl, Name), Vec<Constraints>>,
    revision: u64,
}

impl Origin {
    pub(super) fn new() -> Self {
        let database = Database::new(Settings { idle: Duration::from_secs(5), ..Settings::default() });
        Self { database, reference: Reference::default(), layouts: BTreeMap::new(), revision: 0 }
    }

    /// Replaces what there is of some names of a type, in one response: the variants of a name never overlap.
    pub(super) fn change(&mut self, rng: &mut fastrand::Rng) {
        let types = types();
        let type_url = &types[rng.usize(0..types.len())];
        let mut change = Change::new(type_url.clone(), Reach::Local);
        for name in rng.choose_multiple(NAMES, 2) {
            let new = layout(rng.usize(0..6));
            let old = self.layouts.insert((type_url.clone(), name.into()), new.clone()).unwrap_or_default();
            for constraints in old.into_iter().filter(|old| !new.contains(old)) {
                change = change.without(VariantKey::new(name, constraints));
            }
            for constraints in new {
                self.revision += 1;
                // Contents return, so that a version may, too.
                let body = if rng.bool() { format!("{name} {}", self.revision) } else { name.to_owned() };
                let content = Content {
                    body: Some(Bytes::from(body)),
                    eds_name: (type_url.kind() == Kind::Cluster).then(|| name.into()),
                    ..Content::default()
                };
                change = change.with(VariantKey::new(name, constraints), content);
            }
        }
        self.reference.apply(&change);
        self.database.commit(change.batch());
    }

    /// Answers what is asked for, as one does who has all there is.
    pub(super) fn answer(&mut self) -> bool {
        let changes = self.database.take_demand();
        for change in &changes {
            let DemandChange::Wanted(type_url, locator) = change else { continue };
            let mut answer = Change::new(type_url.clone(), Reach::Local).batch();
            match locator.is_wildcard() {
                true => answer.answered.push(Scope::Exactly(locator.parameters.clone())),
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
        shown.values().map(|variant: &Arc<Variant>| content_of(variant)).collect()
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
