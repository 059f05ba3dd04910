//! What the file does not have yet: of each row the newest, so that memory is bounded by what there is, not by how
//! often it changes.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use weir_types::{Absence, Batch, DynamicParameters, Name, ResourceLocator, Scope, Variant, VariantKey};

use crate::Partition;

/// The changes that are still to be written.
#[derive(Debug, Default)]
pub(crate) struct Pending(HashMap<Partition, Changes>);

/// The changes of a partition, to be written in the order of the fields.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Locators whose stored resources are deleted, except for these variants.
    pub(crate) forgotten: HashMap<ResourceLocator, HashSet<VariantKey>>,
    pub(crate) variants: HashMap<VariantKey, Change>,
    pub(crate) locators: HashMap<Name, HashMap<DynamicParameters, LocatorRecord>>,
}

/// What becomes of a variant.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// It is this one. Its time to live is over at some time, if it has one.
    Put(Variant, Option<SystemTime>),
    /// It lives on.
    Refreshed(Life),
    /// There is no such variant, which had these other names last.
    Gone(Arc<[Name]>),
}

/// A time to live, and when it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Life {
    pub(crate) ttl: Duration,
    pub(crate) until: SystemTime,
}

/// What is new of a locator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LocatorRecord {
    pub(crate) wanted: Option<bool>,
    /// What is known while nothing matches; of a collection, whether all there is of it was sent.
    pub(crate) answer: Option<Absence>,
}

// === impl Pending ===

impl Pending {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many rows are to be written.
    pub(crate) fn len(&self) -> usize {
        self.0.values().map(|changes| changes.variants.len() + changes.locators.len()).sum()
    }

    pub(crate) fn partitions(&self) -> impl Iterator<Item = (&Partition, &Changes)> {
        self.0.iter()
    }

    /// What upstream has sent.
    pub(crate) fn note(&mut self, partition: Partition, batch: &Batch) {
        let (partition, changes) = self.entry(partition);
        let age = batch.received.map(|at| Instant::now().saturating_duration_since(at)).unwrap_or_default();
        let received = SystemTime::now() - age.min(Duration::from_secs(u64::from(u32::MAX)));
        for key in &batch.removals {
            changes.remove(key.clone());
        }
        for variant in &batch.upserts {
            let until = variant.content().ttl.and_then(|ttl| received.checked_add(ttl));
            changes.put(&partition, variant.clone(), until);
        }
        for heartbeat in &batch.heartbeats {
            let until = received.checked_add(heartbeat.ttl);
            let life = until.map(|until| Life { ttl: heartbeat.ttl, until });
            life.into_iter().for_each(|life| changes.refresh(&heartbeat.key, life));
        }
        for absent in &batch.absent {
            changes.answer(&absent.name, &absent.scope, absent.absence);
        }
        let known = batch.answered.iter().filter(|answered| answered.absence == Absence::Known);
        for answered in known {
            let collection = answered.collection.as_ref();
            collection.into_iter().for_each(|name| changes.answer(name, &answered.scope, Absence::Known));
        }
    }

    /// Somebody wants `locator`, or nobody does any more.
    pub(crate) fn want(&mut self, partition: Partition, locator: &ResourceLocator, wanted: bool) {
        self.entry(partition).1.record(locator).wanted = Some(wanted);
    }

    /// Deletes the stored resources of `locator`, except for `held`.
    pub(crate) fn forget(
        &mut self,
        partition: Partition,
        locator: &ResourceLocator,
        held: HashSet<VariantKey>,
    ) {
        let (partition, changes) = self.entry(partition);
        changes.forget(&partition, locator, held);
    }

    /// Takes in what came later.
    pub(crate) fn absorb(&mut self, later: Self) {
        for (partition, changes) in later.0 {
            match self.0.entry(partition) {
                Entry::Vacant(vacant) => _ = vacant.insert(changes),
                Entry::Occupied(mut occupied) => {
                    let partition = occupied.key().clone();
                    occupied.get_mut().absorb(&partition, changes);
                }
            }
        }
    }

    fn entry(&mut self, partition: Partition) -> (Partition, &mut Changes) {
        (partition.clone(), self.0.entry(partition).or_default())
    }
}

// === impl Change ===

impl Change {
    fn aliases(&self) -> Arc<[Name]> {
        match self {
            Self::Put(variant, _) => Arc::clone(&variant.content().aliases),
            Self::Refreshed(_) => Arc::default(),
            Self::Gone(aliases) => Arc::clone(aliases),
        }
    }
}

// === impl Changes ===

impl Changes {
    fn put(&mut self, partition: &Partition, variant: Variant, until: Option<SystemTime>) {
        if !self.locators.is_empty() {
            for name in [variant.name()].into_iter().chain(&*variant.content().aliases) {
                for (parameters, record) in self.locators.get_mut(name).into_iter().flatten() {
                    if partition.matches(variant.key(), parameters) {
                        record.answer = Some(Absence::Unknown);
                    }
                }
            }
        }
        self.variants.insert(variant.key().clone(), Change::Put(variant, until));
    }

    fn remove(&mut self, key: VariantKey) {
        let change = self.variants.entry(key).or_insert_with(|| Change::Gone(Arc::default()));
        *change = Change::Gone(change.aliases());
    }

    fn refresh(&mut self, key: &VariantKey, life: Life) {
        match self.variants.entry(key.clone()) {
            Entry::Vacant(vacant) => _ = vacant.insert(Change::Refreshed(life)),
            Entry::Occupied(mut occupied) => match occupied.get_mut() {
                Change::Put(variant, until) => {
                    *variant = variant.refreshed(Instant::now(), life.ttl);
                    *until = Some(life.until);
                }
                Change::Refreshed(before) => *before = life,
                Change::Gone(_) => {}
            },
        }
    }

    fn answer(&mut self, name: &Name, scope: &Scope, absence: Absence) {
        // Sources that serve all parameter sets at once, files, have no partition.
        let (Scope::Exactly(parameters) | Scope::Projected { parameters, .. }) = scope else { return };
        self.record(&ResourceLocator::new(name.clone(), parameters.clone())).answer = Some(absence);
    }

    fn forget(&mut self, partition: &Partition, locator: &ResourceLocator, held: HashSet<VariantKey>) {
        for (key, change) in &mut self.variants {
            let aliases = change.aliases();
            if partition.reaches(locator, key, &aliases) && !held.contains(key) {
                *change = Change::Gone(aliases);
            }
        }
        self.record(locator).answer = Some(Absence::Unknown);
        match self.forgotten.entry(locator.clone()) {
            Entry::Vacant(vacant) => _ = vacant.insert(held),
            Entry::Occupied(mut occupied) => occupied.get_mut().retain(|key| held.contains(key)),
        }
    }

    fn record(&mut self, locator: &ResourceLocator) -> &mut LocatorRecord {
        self.locators.entry(locator.name.clone()).or_default().entry(locator.parameters.clone()).or_default()
    }

    fn absorb(&mut self, partition: &Partition, later: Self) {
        for (locator, held) in later.forgotten {
            self.forget(partition, &locator, held);
        }
        for (key, change) in later.variants {
            match change {
                Change::Put(variant, until) => self.put(partition, variant, until),
                Change::Refreshed(life) => self.refresh(&key, life),
                gone @ Change::Gone(_) => _ = self.variants.insert(key, gone),
            }
        }
        for (name, sets) in later.locators {
            for (parameters, later) in sets {
                let record = self.record(&ResourceLocator::new(name.clone(), parameters));
                record.wanted = later.wanted.or(record.wanted);
                record.answer = later.answer.or(record.answer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_types::constraints::Expr;
    use weir_types::{Constraints, Content, Provenance, TypeUrl};

    use super::*;
    use crate::Origin;

    fn partition() -> Partition {
        let origin = Origin { authority: String::new(), keys: None, parameters: DynamicParameters::empty() };
        Partition { origin: Arc::new(origin), type_url: TypeUrl::new("cds"), provenance: Provenance::Named }
    }

    fn variant(name: &str, env: Option<&str>, aliases: &[&str]) -> Variant {
        let constraints = env.map(|env| Constraints::new(Expr::value("env", env)));
        let constraints = constraints.unwrap_or_else(Constraints::unconstrained);
        let aliases = aliases.iter().map(|alias| (*alias).into()).collect();
        Variant::new(VariantKey::new(name, constraints), Content { aliases, ..Content::default() })
    }

    fn locator(name: &str, env: &str) -> ResourceLocator {
        ResourceLocator::new(name, [("env", env)].into_iter().collect())
    }

    fn batch(change: impl FnOnce(&mut Batch)) -> Batch {
        let mut batch = Batch::new(TypeUrl::new("cds"), Provenance::Named);
        change(&mut batch);
        batch
    }

    fn only(pending: &Pending) -> &Changes {
        pending.0.values().next().expect("a partition")
    }

    #[test]
    fn a_variant_that_comes_ends_the_absence_of_those_that_it_matches() {
        let mut pending = Pending::default();
        pending.note(
            partition(),
            &batch(|batch| {
                for locator in [locator("a", "prod"), locator("a", "test"), locator("alias", "prod")] {
                    batch.mark_absent(&locator, Absence::Known);
                }
            }),
        );
        pending.note(partition(), &batch(|batch| batch.upserts.push(variant("a", Some("prod"), &["alias"]))));
        let answers = |name: &str| {
            let mut record: Vec<_> = only(&pending).locators[&Name::from(name)].iter().collect();
            record.sort_by_key(|(parameters, _)| parameters.to_string());
            record.into_iter().map(|(_, record)| record.answer).collect::<Vec<_>>()
        };
        assert_eq!(answers("a"), [Some(Absence::Unknown), Some(Absence::Known)]);
        assert_eq!(answers("alias"), [Some(Absence::Unknown)]);
    }

    #[test]
    fn t02_a_heartbeat_of_what_is_not_written_yet_changes_its_life_only() {
        let (minute, hour) = (Duration::from_secs(60), Duration::from_secs(3600));
        let mut pending = Pending::default();
        let content = Content { ttl: Some(minute), ..Content::default() };
        let mortal = Variant::new(VariantKey::new("a", Constraints::unconstrained()), content);
        let key = mortal.key().clone();
        pending.note(partition(), &batch(|batch| batch.upserts.push(mortal)));
        let beat = weir_types::Heartbeat { key: key.clone(), ttl: hour };
        pending.note(partition(), &batch(|batch| batch.heartbeats.push(beat)));
        let Change::Put(variant, Some(until)) = &only(&pending).variants[&key] else { panic!("it is put") };
        assert_eq!(variant.content().ttl, Some(hour));
        assert!(*until > SystemTime::now() + minute);
    }

    #[test]
    fn what_a_forgotten_locator_reaches_is_gone_unless_it_is_held_or_comes_again() {
        let variants = [
            variant("a", Some("prod"), &[]),
            variant("a", None, &[]),
            variant("a", Some("test"), &[]),
            variant("b", None, &["a"]),
            variant("c", None, &[]),
        ];
        let [gone, held, other, aliased, unrelated] = variants.clone().map(|variant| variant.key().clone());
        let mut pending = Pending::default();
        pending.note(partition(), &batch(|batch| batch.upserts.extend(variants)));
        let mut later = Pending::default();
        later.forget(partition(), &locator("a", "prod"), [held.clone()].into());
        later.forget(partition(), &locator("a", "prod"), [held.clone(), aliased.clone()].into());
        pending.absorb(later);
        let is_gone = |pending: &Pending, key| matches!(only(pending).variants[key], Change::Gone(_));
        let all = [&gone, &held.clone(), &other, &aliased, &unrelated];
        assert_eq!(all.map(|key| is_gone(&pending, key)), [true, false, false, true, false]);
        assert_eq!(only(&pending).forgotten[&locator("a", "prod")], [held].into());
        pending.note(partition(), &batch(|batch| batch.upserts.push(variant("a", Some("prod"), &[]))));
        assert!(!is_gone(&pending, &gone));
    }

    #[test]
    fn what_comes_later_counts() {
        let [mut early, mut late] = [Pending::default(), Pending::default()];
        early.want(partition(), &locator("a", "prod"), true);
        early.note(partition(), &batch(|batch| batch.mark_absent(&locator("a", "prod"), Absence::Known)));
        late.want(partition(), &locator("a", "prod"), false);
        early.absorb(late);
        let record = only(&early).locators[&Name::from("a")].values().next().copied();
        assert_eq!(record, Some(LocatorRecord { wanted: Some(false), answer: Some(Absence::Known) }));
        assert_eq!(early.len(), 1);
    }
}
