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
        exceeds(removed, of, self.percent, self.minimum)
    }
}

/// Whether `lost` are more than so many percent of `of`, and at least a minimum.
pub(super) fn exceeds(lost: usize, of: usize, percent: u8, minimum: usize) -> bool {
    lost >= minimum.max(1) && lost.saturating_mul(100) > of.saturating_mul(percent.into())
}

/// What a response takes away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loss {
    /// Resources.
    Removals,
    /// All endpoints of assignments.
    Endpoints,
}

impl Loss {
    /// In one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Removals => "removals",
            Self::Endpoints => "endpoints",
        }
    }
}

/// What became of losses.
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

/// What became of some losses of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shrink {
    /// The type.
    pub type_url: TypeUrl,
    /// What is lost.
    pub loss: Loss,
    /// What became of them.
    pub outcome: Outcome,
    /// How many they are.
    pub count: usize,
    /// Of how many that the stream held.
    pub of: usize,
    /// The first of their names.
    pub names: Vec<Name>,
    /// How many of these losses of the type are withheld now.
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
            let counts = (before, waiting.keys.len());
            reports.extend(Shrink::new(&self.batch.type_url, Loss::Removals, outcome, keys, counts));
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
    /// What became of `keys`, with the number of those that the stream held, and of those that are withheld now.
    pub(super) fn new(
        type_url: &TypeUrl,
        loss: Loss,
        outcome: Outcome,
        keys: Vec<VariantKey>,
        (of, withheld): (usize, usize),
    ) -> Option<Self> {
        let count = keys.len();
        let names = keys.into_iter().take(MAX_NAMES).map(|key| key.name).collect();
        (count > 0).then(|| Self { type_url: type_url.clone(), loss, outcome, count, of, names, withheld })
    }
}

impl UpstreamSession {
    /// What became of losses since this was asked last.
    pub fn poll_shrink(&mut self) -> Option<Shrink> {
        self.shrinks.pop_front()
    }

    /// Accepts the withheld losses of a type, since an operator does. Empty where there are none.
    pub fn confirm_removals(&mut self, type_url: &TypeUrl) -> Vec<Batch> {
        let removed = self.accept_removals(type_url, Outcome::Confirmed);
        removed.into_iter().chain(self.accept_emptied(type_url, Outcome::Confirmed)).collect()
    }

    /// When withheld losses will be accepted.
    pub(super) fn next_acceptance(&self) -> Option<Instant> {
        let until = self.types.values().flat_map(|of_type| [of_type.withheld.until, of_type.emptied.until]);
        until.flatten().min().filter(|_| self.connection != Connection::Away)
    }

    /// Accepts the withheld losses whose time is over.
    pub(super) fn accept_overdue(&mut self, now: Instant) -> Vec<Batch> {
        let is_over = |until: Option<Instant>| until.is_some_and(|until| until <= now);
        let all = self.types.iter();
        let overdue = all.map(|(type_url, of_type)| {
            (type_url.clone(), [of_type.withheld.until, of_type.emptied.until].map(is_over))
        });
        let overdue: Vec<_> = overdue.filter(|(_, is_over)| is_over.contains(&true)).collect();
        let mut batches = Vec::new();
        for (type_url, [removals, emptied]) in overdue {
            if removals {
                batches.extend(self.accept_removals(&type_url, Outcome::Overdue));
            }
            if emptied {
                batches.extend(self.accept_emptied(&type_url, Outcome::Overdue));
            }
        }
        batches
    }

    /// Removes what is withheld of a type. None where nothing is.
    pub(super) fn accept_removals(&mut self, type_url: &TypeUrl, outcome: Outcome) -> Option<Batch> {
        let upstream_type = self.types.get_mut(type_url)?;
        let keys = std::mem::take(&mut upstream_type.withheld).keys;
        let of = upstream_type.cache.len();
        let batch = Batch::new(type_url.clone(), upstream_type.provenance());
        let mut application = ResponseApplication::new(&self.settings, upstream_type, batch);
        keys.into_iter().for_each(|key| application.drop_held(key));
        application.mark_absent(&HashSet::new(), &HashSet::new());
        let batch = application.batch;
        let removed = batch.removals.clone();
        self.shrinks.extend(Shrink::new(type_url, Loss::Removals, outcome, removed, (of, 0)));
        (!batch.is_empty()).then_some(batch)
    }
}
