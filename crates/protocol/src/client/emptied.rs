//! Assignments that lose all of their endpoints at once: a control plane whose registry is away may take every service for
//! one without endpoints.
//!
//! Owns which assignments keep their endpoints although the control plane has sent them without any, and until when. They
//! are emptied once a second response has them without endpoints, when their time is over, or when an operator confirms
//! it. Counts what is emptied within a window of time, response by response: what was passed on before it was too much is
//! taken back. Never looks at assignments that keep an endpoint, nor at removals.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use weir_types::{Batch, Content, Kind, TypeUrl, Variant, VariantKey};

use super::UpstreamSession;
use super::parsed_response::ParsedResponse;
use super::responses::ResponseApplication;
use super::shrink::{Loss, Outcome, Shrink, exceeds};
use super::upstream_type::UpstreamType;

/// How many assignments may lose all of their endpoints in a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointGuard {
    /// Assignments keep their endpoints when more than so many percent of those with endpoints lose them,
    pub percent: u8,
    /// and at least so many,
    pub minimum: usize,
    /// in so long a time.
    pub window: Duration,
    /// How long they keep them, while connected, if nobody confirms that they are gone.
    pub confirm_after: Duration,
}

/// The endpoints of a held variant.
#[derive(Debug)]
pub(super) enum Endpoints {
    /// None: it is no assignment, or an empty one.
    None,
    /// There are some. The content is kept where a guard may need it again.
    Some(Option<Box<Content>>),
}

impl Endpoints {
    pub(super) fn of(variant: &Variant, keep: bool) -> Self {
        let content = variant.content();
        match content.has_endpoints {
            Some(true) => Self::Some(keep.then(|| Box::new(content.clone()))),
            Some(false) | None => Self::None,
        }
    }
}

/// What an assignment had before it was emptied, and what it has since.
#[derive(Debug)]
struct Passed {
    at: Instant,
    before: Variant,
    after: Variant,
}

/// The assignments of a stream that have lost their endpoints.
#[derive(Debug, Default)]
pub(super) struct EmptiedAssignments {
    /// Those that were passed on, for the time of a window.
    passed: BTreeMap<VariantKey, Passed>,
    /// Those that clients are not sent, as the control plane has sent them.
    withheld: BTreeMap<VariantKey, Variant>,
    /// Unknown until the stream has received something.
    pub(super) until: Option<Instant>,
}

impl EmptiedAssignments {
    pub(super) fn is_empty(&self) -> bool {
        self.withheld.is_empty()
    }

    /// Notes that a variant is of no interest any more, or has been removed.
    pub(super) fn forget(&mut self, key: &VariantKey) {
        self.passed.remove(key);
        self.withheld.remove(key);
    }

    /// Their time begins anew with the next stream.
    pub(super) fn close(&mut self) {
        self.until = None;
    }

    /// Those that are withheld, which are not any more.
    pub(super) fn take_withheld(&mut self) -> Vec<Variant> {
        self.until = None;
        std::mem::take(&mut self.withheld).into_values().collect()
    }
}

impl ResponseApplication<'_> {
    /// Has assignments keep their endpoints that the response has emptied, if that are too many.
    pub(super) fn guard_endpoints(
        &mut self,
        parsed: &mut ParsedResponse,
        now: Instant,
        reports: &mut VecDeque<Shrink>,
    ) {
        let Some(guard) = self.settings.endpoint_guard else { return };
        if self.batch.type_url.kind() != Kind::ClusterLoadAssignment {
            return;
        }
        let Self { upstream_type: UpstreamType { cache, emptied, .. }, .. } = self;
        emptied.passed.retain(|_, passed| now.saturating_duration_since(passed.at) < guard.window);
        let (mut back, mut repeated, mut fresh) = (Vec::new(), Vec::new(), Vec::new());
        for variant in std::mem::take(&mut parsed.variants) {
            let key = variant.key();
            let withheld = emptied.withheld.remove(key).map(|_| key.clone());
            if variant.content().has_endpoints == Some(false)
                && withheld.is_none()
                && cache.has_endpoints(key)
            {
                fresh.push(variant);
                continue;
            }
            match variant.content().has_endpoints {
                Some(false) => repeated.extend(withheld),
                Some(true) | None => {
                    emptied.passed.remove(key);
                    back.extend(withheld);
                }
            }
            parsed.variants.push(variant);
        }
        let count = emptied.passed.len() + emptied.withheld.len() + fresh.len();
        let of = (cache.with_endpoints() + emptied.passed.len()).saturating_sub(repeated.len());
        let is_too_much = !fresh.is_empty() && exceeds(count, of, guard.percent, guard.minimum);
        let withheld = match is_too_much {
            true => self.keep_endpoints(fresh),
            false => self.pass_emptied(fresh, parsed, now),
        };
        let emptied = &mut self.upstream_type.emptied;
        if !withheld.is_empty() {
            emptied.until = None;
        }
        emptied.until = (!emptied.is_empty()).then(|| emptied.until.unwrap_or(now + guard.confirm_after));
        for (outcome, keys) in
            [(Outcome::TakenBack, back), (Outcome::Repeated, repeated), (Outcome::Withheld, withheld)]
        {
            let counts = (of, emptied.withheld.len());
            reports.extend(Shrink::new(&self.batch.type_url, Loss::Endpoints, outcome, keys, counts));
        }
    }

    /// Clients keep the endpoints that they have, and get back what they have lost a moment ago. Returns which these are.
    fn keep_endpoints(&mut self, fresh: Vec<Variant>) -> Vec<VariantKey> {
        let naming = &self.settings.naming;
        let passed = std::mem::take(&mut self.upstream_type.emptied.passed);
        let mut withheld = BTreeMap::new();
        for Passed { before, after, .. } in passed.into_values() {
            self.upstream_type.cache.insert(&before, true);
            withheld.insert(after.key().clone(), after);
            self.batch.upserts.push(before);
        }
        for variant in fresh {
            self.upstream_type.cache.confirm(variant.key());
            self.upstream_type.note_answer(naming, &variant);
            withheld.insert(variant.key().clone(), variant);
        }
        let keys = withheld.keys().cloned().collect();
        self.upstream_type.emptied.withheld.extend(withheld);
        keys
    }

    /// Applies what is emptied, and notes what it was before. Nothing is withheld.
    fn pass_emptied(
        &mut self,
        fresh: Vec<Variant>,
        parsed: &mut ParsedResponse,
        at: Instant,
    ) -> Vec<VariantKey> {
        let UpstreamType { cache, emptied, .. } = &mut *self.upstream_type;
        for after in fresh {
            if let Some(content) = cache.assignment(after.key()) {
                let before = Variant::new(after.key().clone(), content.clone());
                emptied.passed.insert(after.key().clone(), Passed { at, before, after: after.clone() });
            }
            parsed.variants.push(after);
        }
        Vec::new()
    }
}

impl UpstreamSession {
    /// Empties the assignments of a type that keep their endpoints. None where there are none.
    pub(super) fn accept_emptied(&mut self, type_url: &TypeUrl, outcome: Outcome) -> Option<Batch> {
        let keeps = self.settings.endpoint_guard.is_some();
        let upstream_type = self.types.get_mut(type_url)?;
        let of = upstream_type.cache.with_endpoints();
        let mut batch = Batch::new(type_url.clone(), upstream_type.provenance());
        batch.upserts = upstream_type.emptied.take_withheld();
        batch.upserts.iter().for_each(|variant| upstream_type.cache.insert(variant, keeps));
        let keys = batch.upserts.iter().map(|variant| variant.key().clone()).collect();
        self.shrinks.extend(Shrink::new(type_url, Loss::Endpoints, outcome, keys, (of, 0)));
        (!batch.is_empty()).then_some(batch)
    }
}
