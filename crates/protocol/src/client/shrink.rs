//! Removals that are too many to be believed at first sight: a control plane that has just been restarted may have
//! nothing yet, and report that.
//!
//! Owns which removals of a stream are withheld, and until when. They are believed once a second response states the
//! same, when their time is over, or when an operator confirms it. What has them withheld is an acceptable response all
//! the same: it is acknowledged, and everything else in it is applied. Never withholds what makes room for another
//! variant of the same name.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::time::{Duration, Instant};

use weir_types::{Batch, Name, TypeUrl, VariantKey};

use super::responses::ResponseApplication;
use super::upstream_cache::UpstreamVariant;
use super::{Connection, UpstreamSession};

/// How many names are listed.
const MAX_NAMES: usize = 5;

/// How much may go at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShrinkGuard {
    /// Removals are withheld that are more than so many percent of what the stream holds of a type,
    pub percent: u8,
    /// and at least so many.
    pub minimum: usize,
    /// How long they are withheld, while connected, if nobody confirms them.
    pub confirm_after: Duration,
}

impl ShrinkGuard {
    pub(super) fn withholds(self, removed: usize, of: usize) -> bool {
        removed >= self.minimum.max(1) && removed.saturating_mul(100) > of.saturating_mul(self.percent.into())
    }
}

/// What became of removals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// They wait to be confirmed.
    Withheld,
    /// A second response has confirmed it.
    Repeated,
    /// Their time was over.
    Overdue,
    /// An operator has confirmed them.
    Confirmed,
    /// The server has the resources after all.
    TakenBack,
}

impl Outcome {
    /// In one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Withheld => "withheld",
            Self::Repeated => "repeated",
            Self::Overdue => "overdue",
            Self::Confirmed => "confirmed",
            Self::TakenBack => "taken_back",
        }
    }
}

/// What became of some removals of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shrink {
    /// The type.
    pub type_url: TypeUrl,
    /// What became of them.
    pub outcome: Outcome,
    /// How many they are.
    pub count: usize,
    /// Of how many that the stream held.
    pub of: usize,
    /// The first of their names.
    pub names: Vec<Name>,
    /// How many removals of the type are withheld now.
    pub withheld: usize,
}

/// The removals of one type that are withheld.
#[derive(Debug, Default)]
pub(super) struct Withheld {
    keys: BTreeSet<VariantKey>,
    /// Unknown until the stream has received something.
    until: Option<Instant>,
}

impl Withheld {
    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Notes that a variant is of no interest any more.
    pub(super) fn forget(&mut self, key: &VariantKey) {
        self.keys.remove(key);
    }

    /// Their time begins anew with the next stream.
    pub(super) fn close(&mut self) {
        self.until = None;
    }
}

impl ResponseApplication<'_> {
    /// Withholds what the response has removed, if that is too much, of what was held before.
    pub(super) fn guard(&mut self, before: usize, now: Instant, reports: &mut VecDeque<Shrink>) {
        let dropped = std::mem::take(&mut self.dropped);
        let Some(guard) = self.settings.shrink_guard else { return };
        let sent: HashSet<&Name> = self.batch.upserts.iter().map(|variant| variant.name()).collect();
        let back = self.batch.upserts.iter().map(|variant| variant.key());
        let back = back.chain(self.batch.heartbeats.iter().map(|heartbeat| &heartbeat.key));
        let keys = &mut self.upstream_type.withheld.keys;
        let back: Vec<VariantKey> = back.filter_map(|key| keys.take(key)).collect();
        let dropped = dropped.into_iter().filter(|(key, _)| !sent.contains(&key.name));
        let (repeated, fresh): (Vec<_>, Vec<_>) = dropped.partition(|(key, _)| keys.remove(key));
        let repeated: Vec<VariantKey> = repeated.into_iter().map(|(key, _)| key).collect();
        let of = before.saturating_sub(repeated.len());
        let withheld = if guard.withholds(fresh.len(), of) { self.put_back(fresh) } else { Vec::new() };
        let waiting = &mut self.upstream_type.withheld;
        if !withheld.is_empty() {
            waiting.until = None;
        }
        waiting.until = (!waiting.is_empty()).then(|| waiting.until.unwrap_or(now + guard.confirm_after));
        let outcomes =
            [(Outcome::TakenBack, back), (Outcome::Repeated, repeated), (Outcome::Withheld, withheld)];
        for (outcome, keys) in outcomes {
            reports.extend(Shrink::new(&self.batch.type_url, outcome, keys, before, waiting));
        }
    }

    /// Holds again what was removed.
    fn put_back(&mut self, dropped: Vec<(VariantKey, UpstreamVariant)>) -> Vec<VariantKey> {
        let keys: BTreeSet<VariantKey> = dropped.iter().map(|(key, _)| key.clone()).collect();
        self.batch.removals.retain(|key| !keys.contains(key));
        for (key, held) in dropped {
            self.upstream_type.cache.put(&key.name, held);
        }
        self.upstream_type.withheld.keys.extend(keys.iter().cloned());
        keys.into_iter().collect()
    }
}

impl Shrink {
    fn new(
        type_url: &TypeUrl,
        outcome: Outcome,
        keys: Vec<VariantKey>,
        of: usize,
        withheld: &Withheld,
    ) -> Option<Self> {
        let count = keys.len();
        let names = keys.into_iter().take(MAX_NAMES).map(|key| key.name).collect();
        let (type_url, withheld) = (type_url.clone(), withheld.keys.len());
        (count > 0).then_some(Self { type_url, outcome, count, of, names, withheld })
    }
}

impl UpstreamSession {
    /// What became of removals since this was asked last.
    pub fn poll_shrink(&mut self) -> Option<Shrink> {
        self.shrinks.pop_front()
    }

    /// Believes the withheld removals of a type, since an operator does. None where there are none.
    pub fn confirm_removals(&mut self, type_url: &TypeUrl) -> Option<Batch> {
        self.believe(type_url, Outcome::Confirmed)
    }

    /// When withheld removals will be believed.
    pub(super) fn next_belief(&self) -> Option<Instant> {
        let until = self.types.values().filter_map(|upstream_type| upstream_type.withheld.until);
        until.min().filter(|_| self.connection != Connection::Away)
    }

    /// Believes the withheld removals whose time is over.
    pub(super) fn believe_overdue(&mut self, now: Instant) -> Vec<Batch> {
        let overdue = self.types.iter();
        let overdue = overdue
            .filter(|(_, upstream_type)| upstream_type.withheld.until.is_some_and(|until| until <= now));
        let overdue: Vec<TypeUrl> = overdue.map(|(type_url, _)| type_url.clone()).collect();
        overdue.iter().filter_map(|type_url| self.believe(type_url, Outcome::Overdue)).collect()
    }

    fn believe(&mut self, type_url: &TypeUrl, outcome: Outcome) -> Option<Batch> {
        let upstream_type = self.types.get_mut(type_url)?;
        let keys = std::mem::take(&mut upstream_type.withheld).keys;
        let of = upstream_type.cache.len();
        let batch = Batch::new(type_url.clone(), upstream_type.provenance());
        let mut application = ResponseApplication::new(&self.settings, upstream_type, batch);
        keys.into_iter().for_each(|key| application.drop_held(key));
        application.mark_absent(&HashSet::new(), &HashSet::new());
        let batch = application.batch;
        let removed = batch.removals.clone();
        self.shrinks.extend(Shrink::new(type_url, outcome, removed, of, &Withheld::default()));
        (!batch.is_empty()).then_some(batch)
    }
}
