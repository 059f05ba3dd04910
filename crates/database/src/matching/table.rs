//! Many variants of one name.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use slab::Slab;
use weir_types::{Constraints, DynamicParameters, Form, Variant, Version};

use super::Match;
use super::index::Index;

/// Below this many variants, trying one after the other is faster than any index.
const INDEX_FROM: usize = 8;

/// How many answers are remembered before all are forgotten.
const MEMO_LIMIT: usize = 4096;

/// Where a variant stands in the order of preference: where more than one matches (undefined in TP2), the first is
/// chosen. Most constrained keys first, then canonical order, so that all replicas choose alike.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank(Reverse<usize>, Constraints);

impl Rank {
    fn of(constraints: &Constraints) -> Self {
        Self(Reverse(constraints.key_count()), constraints.clone())
    }
}

/// The place of a variant in its table.
pub(super) type Place = usize;

/// Any number of variants, with an index over their constraints and a memo of the answers. A change of one of them costs
/// no more where there are many.
#[derive(Debug, Default)]
pub(super) struct Table {
    variants: Slab<Arc<Variant>>,
    pub(super) order: BTreeMap<Rank, Place>,
    /// One of the variants with each content.
    contents: BTreeMap<Version, Place>,
    pub(super) index: Option<Index>,
    memo: HashMap<DynamicParameters, Answer>,
    /// Variants whose time to live is over: for nobody any more, and kept since a heartbeat that comes after
    /// all brings no body.
    pub(super) expired: Vec<Arc<Variant>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Answer {
    chosen: Option<Place>,
    rival: Option<Place>,
}

impl Table {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Variant>> {
        self.order.values().map(|place| &self.variants[*place])
    }

    pub(super) fn get(&self, constraints: &Constraints) -> Option<&Arc<Variant>> {
        let live = self.order.get(&Rank::of(constraints)).map(|place| &self.variants[*place]);
        live.or_else(|| self.expired.iter().find(|variant| variant.key().constraints == *constraints))
    }

    pub(super) fn with_content(&self, content: Version) -> Option<&Arc<Variant>> {
        self.contents.get(&content).map(|place| &self.variants[*place])
    }

    pub(super) fn insert(&mut self, variant: Arc<Variant>) -> Option<Arc<Variant>> {
        let (rank, content) = (Rank::of(&variant.key().constraints), variant.version(Form::Plain));
        if let Some(place) = self.order.get(&rank).copied() {
            self.forget_content(place);
            self.contents.entry(content).or_insert(place);
            return Some(std::mem::replace(&mut self.variants[place], variant));
        }
        self.memo.clear();
        let place = self.variants.insert(variant);
        self.contents.entry(content).or_insert(place);
        match &mut self.index {
            Some(index) => index.insert(&rank.1, place),
            None if self.variants.len() < INDEX_FROM => {}
            None => {
                let mut index = Index::default();
                let all = self.variants.iter();
                all.for_each(|(place, variant)| index.insert(&variant.key().constraints, place));
                self.index = Some(index);
            }
        }
        self.order.insert(rank, place);
        None
    }

    pub(super) fn remove(&mut self, constraints: &Constraints) -> Option<Arc<Variant>> {
        let place = self.order.remove(&Rank::of(constraints))?;
        self.memo.clear();
        self.forget_content(place);
        if let Some(index) = &mut self.index {
            index.remove(constraints, place);
        }
        Some(self.variants.remove(place))
    }

    fn forget_content(&mut self, place: Place) {
        let content = self.variants[place].version(Form::Plain);
        if self.contents.get(&content) == Some(&place) {
            self.contents.remove(&content);
        }
    }

    pub(super) fn take_expired(&mut self, constraints: &Constraints) -> Option<Arc<Variant>> {
        let at = self.expired.iter().position(|variant| variant.key().constraints == *constraints)?;
        Some(self.expired.swap_remove(at))
    }

    pub(super) fn select(&mut self, parameters: &DynamicParameters) -> Option<Match<'_>> {
        let (answer, fresh) = match self.memo.get(parameters) {
            Some(answer) => (*answer, false),
            None => (self.work_out(parameters), true),
        };
        let variant = &self.variants[answer.chosen?];
        let rival = answer.rival.filter(|_| fresh).map(|place| &self.variants[place]);
        Some(Match { variant, rival })
    }

    /// The variants that may match.
    pub(super) fn candidates(&self, parameters: &DynamicParameters) -> impl Iterator<Item = &Arc<Variant>> {
        let few = self.index.as_ref().map(|index| index.candidates(parameters));
        let all = few.is_none().then(|| self.order.values().copied());
        let places = few.into_iter().flatten().chain(all.into_iter().flatten());
        places.map(|place| &self.variants[place])
    }

    fn work_out(&mut self, parameters: &DynamicParameters) -> Answer {
        let matches = |place: &Place| self.variants[*place].key().constraints.matches(parameters);
        let mut matching: Vec<(Rank, Place)> = Vec::new();
        let mut found = |place: Place| {
            matching.push((Rank::of(&self.variants[place].key().constraints), place));
        };
        match &self.index {
            Some(index) => index.candidates(parameters).filter(matches).for_each(&mut found),
            None => self.order.values().copied().filter(matches).for_each(&mut found),
        }
        matching.sort_unstable();
        let mut places = matching.into_iter().map(|(_, place)| place);
        let answer = Answer { chosen: places.next(), rival: places.next() };
        if self.memo.len() >= MEMO_LIMIT {
            self.memo.clear();
        }
        self.memo.insert(parameters.clone(), answer);
        answer
    }
}
