//! The control plane: content that changes, served by a server machine over a database of its own.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use weir_database::{Database, DemandChange, Settings};
use weir_types::constraints::Expr;
use weir_types::{
    Absence, Constraints, Content, Kind, Name, Provenance, ResourceLocator, Selector, TypeUrl, Variant,
    VariantKey,
};

use super::excuse::Excuse;
use super::history::{History, Variants};
use super::proxy::sorted;
use super::ttl::{Fate, TtlSchedule};
use super::{NAMES, types};
use crate::model::{Change, Reference};

/// The source of all content.
pub(super) struct Origin {
    pub(super) database: Database,
    pub(super) history: History,
    reference: Reference,
    revision: u64,
    lives: TtlSchedule,
    /// Questions that are answered later: when.
    questions: Vec<(Instant, TypeUrl, ResourceLocator)>,
}

fn database() -> Database {
    Database::new(Settings { idle: Duration::from_secs(5), ..Settings::default() })
}

impl Origin {
    pub(super) fn new() -> Self {
        let (history, reference, lives) = Default::default();
        Self { database: database(), history, reference, revision: 0, lives, questions: Vec::new() }
    }

    /// One of whose content some may have to be refreshed.
    pub(super) fn mortal(rng: &mut fastrand::Rng) -> Self {
        Self { lives: TtlSchedule::new(rng), ..Self::new() }
    }

    /// Whether anything can have a time to live.
    pub(super) fn is_mortal(&self) -> bool {
        self.lives.are_counted()
    }

    /// Replaces what there is of some names of a type, in one response: the variants of a name never overlap. Gives
    /// what may be gone without having been removed.
    pub(super) fn change(&mut self, now: Instant, rng: &mut fastrand::Rng) -> Vec<Excuse> {
        let types = types();
        let type_url = &types[rng.usize(0..types.len())];
        let mut change = Change::new(type_url.clone(), Provenance::Local);
        self.revision += 1;
        let revision = self.revision;
        change.received = Some(now);
        for name in rng.choose_multiple(NAMES, 2) {
            let layout = layout(rng.usize(0..6));
            // Contents return, so that a version does, too.
            change = self.replace(change, name, layout, || if rng.bool() { revision } else { 0 });
        }
        for (key, content) in &mut change.upserts {
            content.ttl = self.lives.begin(type_url, key, now, rng);
        }
        change.removals.iter().for_each(|key| self.lives.end(type_url, key));
        self.publish(&change);
        let mortal = change.upserts.iter().filter(|(_, content)| content.ttl.is_some());
        mortal.map(|(key, _)| (type_url.clone(), Some(key.name.clone()))).collect()
    }

    /// Lets time pass, and vouches for what is to live on.
    pub(super) fn tick(&mut self, now: Instant, fate: Fate, rng: &mut fastrand::Rng) {
        self.sweep(now);
        self.reference.sweep(now, Duration::ZERO);
        self.revision += 1;
        types().iter().for_each(|type_url| self.note(type_url));
        let reference = &self.reference;
        let content = |type_url: &TypeUrl, key: &VariantKey| {
            let all = reference.contents(type_url, Provenance::Local);
            let held = all.into_iter().find(|variant| variant.key() == key).expect("it is not removed");
            let alive = reference.alive(type_url, Provenance::Local, &key.name);
            (held.content().clone(), alive.iter().any(|variant| variant.key() == key))
        };
        for change in self.lives.vouch(now, fate, content, rng) {
            self.publish(&change);
        }
    }

    /// Has something of every name of every type for everybody.
    pub(super) fn fill(&mut self) {
        self.revision += 1;
        let revision = self.revision;
        for (of, type_url) in types().into_iter().enumerate() {
            let mut change = Change::new(type_url, Provenance::Local);
            for (name, index) in NAMES.into_iter().zip([5, 2, 3, 5].into_iter().cycle().skip(of)) {
                change = self.replace(change, name, layout(index), || revision);
            }
            self.publish(&change);
        }
    }

    /// Notes what there is now of every name of a type.
    fn note(&mut self, type_url: &TypeUrl) {
        for name in NAMES.map(Name::from) {
            let alive = self.reference.alive(type_url, Provenance::Local, &name).into_iter();
            let content = |variant: Arc<Variant>| (variant.key().constraints.clone(), content_of(&variant).1);
            let variants: Variants = alive.map(content).collect();
            if variants != self.history.latest(type_url, &name) {
                self.history.note(type_url, &name, self.revision, variants);
            }
        }
    }

    /// The same change that also puts the variants of `layout` in place of what there is of a name, each with a
    /// content that goes by a serial number.
    fn replace(
        &self,
        mut change: Change,
        name: &str,
        layout: Vec<Constraints>,
        mut serial: impl FnMut() -> u64,
    ) -> Change {
        let (name, type_url) = (Name::from(name), change.type_url.clone());
        let old = self.reference.contents(&type_url, Provenance::Local).into_iter();
        let old = old.map(|variant| variant.key().clone()).filter(|key| key.name == name);
        for key in old.filter(|key| !layout.contains(&key.constraints)) {
            change = change.without(key);
        }
        for (index, constraints) in layout.into_iter().enumerate() {
            let body = Bytes::from(format!("{name} {}.{index}", serial()));
            change = change.with(
                VariantKey::new(name.clone(), constraints),
                Content {
                    body: Some(body),
                    eds_name: (type_url.kind() == Kind::Cluster).then(|| name.clone()),
                    ..Content::default()
                },
            );
        }
        change
    }

    fn publish(&mut self, change: &Change) {
        self.reference.apply(change);
        self.note(&change.type_url);
        self.database.commit(change.batch());
    }

    /// Starts anew with the same content, but for what has expired.
    pub(super) fn restart(&mut self) {
        self.database = database();
        self.questions.clear();
        for type_url in types() {
            let alive = |name| self.reference.alive(&type_url, Provenance::Local, name);
            let alive: Vec<_> = NAMES.map(Name::from).iter().flat_map(alive).collect();
            let mut change = Change::new(type_url.clone(), Provenance::Local);
            for variant in self.reference.contents(&type_url, Provenance::Local) {
                if !alive.iter().any(|alive| alive.key() == variant.key()) {
                    self.lives.end(&type_url, variant.key());
                    change = change.without(variant.key().clone());
                }
            }
            self.reference.apply(&change);
            let mut batch = Change::new(type_url, Provenance::Local).batch();
            batch.upserts = alive.iter().map(|variant| Variant::clone(variant)).collect();
            self.database.commit(batch);
        }
    }

    /// Answers what is asked for, as one does who has all there is and may hesitate for some time. Returns whether
    /// there was anything.
    pub(super) fn answer(&mut self, now: Instant, mut hesitates: impl FnMut() -> Duration) -> bool {
        for change in sorted(self.database.take_demand()) {
            if let DemandChange::Wanted(type_url, locator) = change {
                self.questions.push((now + hesitates(), type_url, locator));
            }
        }
        let due: Vec<_> = self.questions.extract_if(.., |(at, ..)| *at <= now).collect();
        for (_, type_url, locator) in &due {
            let mut answer = Change::new(type_url.clone(), Provenance::Local).batch();
            match locator.is_wildcard() {
                true => answer.mark_answered(locator),
                false => answer.mark_absent(locator, Absence::Known),
            }
            self.database.commit(answer);
        }
        !due.is_empty()
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
