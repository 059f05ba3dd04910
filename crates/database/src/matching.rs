//! Which variant of a name is for whom: paid once per distinct parameter set, not per subscriber.

use std::collections::HashMap;
use std::sync::Arc;

use weir_types::constraints::Expr;
use weir_types::{Constraints, DynamicParameters, Form, Name, Variant, Version};

/// Below this many variants, trying one after the other is faster than any index.
const INDEX_FROM: usize = 8;

/// How many answers are remembered before all are forgotten.
const MEMO_LIMIT: usize = 4096;

/// The variants of one name that came through one reach, with an index over their constraints and a memo of
/// the answers.
#[derive(Debug, Default)]
pub struct VariantSet {
    /// In order of preference: where more than one matches (undefined in TP2), the first is chosen. Most
    /// constrained keys first, then canonical order, so that all replicas choose alike.
    variants: Vec<Filed>,
    index: Option<Index>,
    memo: HashMap<DynamicParameters, Answer>,
    /// Variants whose time to live is over: for nobody any more, and kept since a heartbeat that comes after
    /// all brings no body.
    expired: Vec<Arc<Variant>>,
}

/// A variant, and beside it the hash of its content: equal ones are found without looking into each variant.
#[derive(Debug)]
struct Filed {
    content: Version,
    variant: Arc<Variant>,
}

impl Filed {
    fn new(variant: Arc<Variant>) -> Self {
        Self { content: variant.version(Form::Plain), variant }
    }
}

/// Positions in [`VariantSet::variants`].
#[derive(Clone, Copy, Debug, Default)]
struct Answer {
    chosen: Option<u32>,
    rival: Option<u32>,
}

/// The variant for a parameter set.
#[derive(Debug)]
pub struct Match<'a> {
    /// What is served.
    pub variant: &'a Arc<Variant>,
    /// Another one that matches too, when the answer was worked out just now: "matching ambiguity".
    pub rival: Option<&'a Arc<Variant>>,
}

impl VariantSet {
    /// The variants, in order of preference.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<Variant>> {
        self.variants.iter().map(|filed| &filed.variant)
    }

    /// The variants whose content has this hash, constraints aside.
    pub(crate) fn with_content(&self, content: Version) -> impl Iterator<Item = &Arc<Variant>> {
        self.variants.iter().filter(move |filed| filed.content == content).map(|filed| &filed.variant)
    }

    /// The variants, and those whose time to live is over.
    pub fn held(&self) -> impl Iterator<Item = &Arc<Variant>> {
        self.iter().chain(&self.expired)
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.variants.is_empty() && self.expired.is_empty()
    }

    /// What is held with exactly these constraints.
    pub fn get(&self, constraints: &Constraints) -> Option<&Arc<Variant>> {
        let live = self.position(constraints).ok().map(|at| &self.variants[at].variant);
        live.or_else(|| self.expired.iter().find(|variant| variant.key().constraints == *constraints))
    }

    /// Adds a variant, or replaces the one with equal constraints, which is returned.
    pub fn insert(&mut self, variant: Arc<Variant>) -> Option<Arc<Variant>> {
        match self.position(&variant.key().constraints) {
            Ok(at) => Some(std::mem::replace(&mut self.variants[at], Filed::new(variant)).variant),
            Err(at) => {
                self.variants.insert(at, Filed::new(variant));
                self.forget();
                None
            }
        }
    }

    /// Takes out the variant with exactly these constraints.
    pub fn remove(&mut self, constraints: &Constraints) -> Option<Arc<Variant>> {
        let expired = self.take_expired(constraints);
        let Ok(at) = self.position(constraints) else { return expired };
        self.forget();
        Some(self.variants.remove(at).variant)
    }

    /// Ends the life of the variant with exactly these constraints.
    pub(crate) fn expire(&mut self, constraints: &Constraints) -> Option<&Arc<Variant>> {
        let at = self.position(constraints).ok()?;
        self.forget();
        self.expired.push(self.variants.remove(at).variant);
        self.expired.last()
    }

    /// Whether a variant that `parameters` match has expired.
    pub(crate) fn has_expired(&self, parameters: &DynamicParameters) -> bool {
        self.expired.iter().any(|variant| variant.key().constraints.matches(parameters))
    }

    /// Takes out what has expired of exactly these constraints.
    pub(crate) fn take_expired(&mut self, constraints: &Constraints) -> Option<Arc<Variant>> {
        let at = self.expired.iter().position(|variant| variant.key().constraints == *constraints)?;
        Some(self.expired.swap_remove(at))
    }

    /// The variant that `parameters` match.
    pub fn select(&mut self, parameters: &DynamicParameters) -> Option<Match<'_>> {
        if self.variants.len() == 1 && self.variants[0].variant.key().constraints.is_unconstrained() {
            return Some(Match { variant: &self.variants[0].variant, rival: None });
        }
        let (answer, fresh) = match self.memo.get(parameters) {
            Some(answer) => (*answer, false),
            None => (self.work_out(parameters), true),
        };
        let variant = &self.variants[answer.chosen? as usize].variant;
        let rival = answer.rival.filter(|_| fresh).map(|at| &self.variants[at as usize].variant);
        Some(Match { variant, rival })
    }

    /// Whether any variant matches `parameters`.
    pub(crate) fn any(&self, parameters: &DynamicParameters) -> bool {
        self.iter().any(|variant| variant.key().constraints.matches(parameters))
    }

    /// The variant that `parameters` match, of those that list `alias`.
    pub(crate) fn select_alias(&self, alias: &Name, parameters: &DynamicParameters) -> Option<&Arc<Variant>> {
        let mut listing = self.iter().filter(|variant| variant.content().aliases.contains(alias));
        listing.find(|variant| variant.key().constraints.matches(parameters))
    }

    fn work_out(&mut self, parameters: &DynamicParameters) -> Answer {
        let variants = &self.variants;
        let mut matching = if variants.len() < INDEX_FROM {
            Index::filter(variants, 0..variants.len() as u32, parameters)
        } else {
            self.index.get_or_insert_with(|| Index::new(variants)).matching(variants, parameters)
        };
        matching.sort_unstable();
        let answer = Answer { chosen: matching.first().copied(), rival: matching.get(1).copied() };
        if self.memo.len() >= MEMO_LIMIT {
            self.memo.clear();
        }
        self.memo.insert(parameters.clone(), answer);
        answer
    }

    fn position(&self, constraints: &Constraints) -> Result<usize, usize> {
        let rank = |c: &Constraints| std::cmp::Reverse(c.key_count());
        self.variants.binary_search_by(|filed| {
            let own = &filed.variant.key().constraints;
            rank(own).cmp(&rank(constraints)).then_with(|| own.cmp(constraints))
        })
    }

    fn forget(&mut self) {
        self.index = None;
        self.memo.clear();
    }
}

/// Something about one key that must hold for a variant to match, and that a parameter set can be looked up by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Literal {
    Value(Arc<str>, Arc<str>),
    Present(Arc<str>),
    Missing(Arc<str>),
}

impl Literal {
    fn key(&self) -> &Arc<str> {
        let (Self::Value(key, _) | Self::Present(key) | Self::Missing(key)) = self;
        key
    }
}

/// Files each variant under one literal that it needs, the rarest, so that few candidates are left to try.
#[derive(Debug, Default)]
struct Index {
    keys: Vec<Arc<str>>,
    buckets: HashMap<Literal, Vec<u32>>,
    /// Variants that need no single literal.
    rest: Vec<u32>,
}

impl Index {
    fn new(variants: &[Filed]) -> Self {
        let needs: Vec<_> = variants.iter().map(|f| needed(f.variant.key().constraints.expr())).collect();
        let mut frequency: HashMap<&Literal, usize> = HashMap::new();
        for literal in needs.iter().flatten() {
            *frequency.entry(literal).or_default() += 1;
        }
        let mut index = Self::default();
        for (at, needs) in (0..).zip(&needs) {
            match needs.iter().min_by_key(|literal| frequency[literal]) {
                Some(literal) => index.buckets.entry(literal.clone()).or_default().push(at),
                None => index.rest.push(at),
            }
        }
        index.keys = index.buckets.keys().map(|literal| Arc::clone(literal.key())).collect();
        index.keys.sort_unstable();
        index.keys.dedup();
        index
    }

    /// The positions of all variants that match.
    fn matching(&self, variants: &[Filed], parameters: &DynamicParameters) -> Vec<u32> {
        let mut found = Self::filter(variants, self.rest.iter().copied(), parameters);
        let mut look_up = |literal: Literal| {
            if let Some(bucket) = self.buckets.get(&literal) {
                found.extend(Self::filter(variants, bucket.iter().copied(), parameters));
            }
        };
        for key in &self.keys {
            match parameters.get(key) {
                Some(value) => {
                    look_up(Literal::Value(Arc::clone(key), value.into()));
                    look_up(Literal::Present(Arc::clone(key)));
                }
                None => look_up(Literal::Missing(Arc::clone(key))),
            }
        }
        found
    }

    fn filter(
        variants: &[Filed],
        candidates: impl IntoIterator<Item = u32>,
        parameters: &DynamicParameters,
    ) -> Vec<u32> {
        let matches = |at: &u32| variants[*at as usize].variant.key().constraints.matches(parameters);
        candidates.into_iter().filter(matches).collect()
    }
}

/// The literals that must all hold for `expr` to hold, as far as they can be read off its top.
fn needed(expr: &Expr) -> Vec<Literal> {
    match expr {
        Expr::Value { key, value } => vec![Literal::Value(Arc::clone(key), Arc::clone(value))],
        Expr::Exists { key } => vec![Literal::Present(Arc::clone(key))],
        Expr::Not(inner) => match &**inner {
            Expr::Exists { key } => vec![Literal::Missing(Arc::clone(key))],
            _ => Vec::new(),
        },
        Expr::All(all) => all.iter().flat_map(needed).collect(),
        Expr::Any(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use weir_types::{Content, VariantKey};

    use super::*;

    fn variant(expr: Expr) -> Arc<Variant> {
        Arc::new(Variant::new(VariantKey::new("x", Constraints::new(expr)), Content::default()))
    }

    fn params(pairs: &[(&str, &str)]) -> DynamicParameters {
        pairs.iter().copied().collect()
    }

    fn chosen(set: &mut VariantSet, pairs: &[(&str, &str)]) -> Option<String> {
        set.select(&params(pairs)).map(|m| m.variant.key().constraints.to_string())
    }

    #[test]
    fn p12_the_most_constrained_then_the_canonical_first() {
        let mut set = VariantSet::default();
        set.insert(variant(Expr::value("env", "prod")));
        set.insert(variant(Expr::All(vec![Expr::value("env", "prod"), Expr::value("version", "v1")])));
        set.insert(variant(Expr::exists("env")));
        let answer = chosen(&mut set, &[("env", "prod"), ("version", "v1")]);
        assert_eq!(answer.as_deref(), Some("env=prod and version=v1"));
        assert_eq!(chosen(&mut set, &[("env", "prod")]).as_deref(), Some("env=prod"));
        assert_eq!(chosen(&mut set, &[("env", "x")]).as_deref(), Some("env exists"));
        assert_eq!(chosen(&mut set, &[]), None);
    }

    #[test]
    fn p12_a_rival_is_told_once() {
        let mut set = VariantSet::default();
        set.insert(variant(Expr::value("a", "1")));
        set.insert(variant(Expr::value("b", "1")));
        let both = params(&[("a", "1"), ("b", "1")]);
        assert!(set.select(&both).is_some_and(|m| m.rival.is_some()));
        assert!(set.select(&both).is_some_and(|m| m.rival.is_none()));
        set.remove(&Constraints::new(Expr::value("a", "1")));
        assert_eq!(set.select(&both).map(|m| m.variant.key().constraints.to_string()), Some("b=1".into()));
    }

    fn flat() -> impl Strategy<Value = Expr> {
        let literal = prop_oneof![
            ("[a-c]", "[0-2]").prop_map(|(k, v)| Expr::value(k, v)),
            "[a-c]".prop_map(Expr::exists),
            "[a-c]".prop_map(|k| Expr::not(Expr::exists(k))),
            ("[a-c]", "[0-2]").prop_map(|(k, v)| Expr::not(Expr::value(k, v))),
        ];
        let all = prop::collection::vec(literal.clone(), 0..4).prop_map(Expr::All);
        let any = prop::collection::vec(literal, 1..3).prop_map(Expr::Any);
        prop_oneof![4 => all, 1 => any]
    }

    proptest! {
        #[test]
        fn the_index_finds_what_trying_all_finds(
            exprs in prop::collection::vec(flat(), 0..40),
            asked in prop::collection::vec(prop::collection::btree_map("[a-d]", "[0-3]", 0..4), 1..8),
        ) {
            let mut set = VariantSet::default();
            for expr in exprs {
                set.insert(variant(expr));
            }
            for pairs in asked {
                let parameters: DynamicParameters = pairs.into_iter().collect();
                let naive = set.iter().find(|v| v.key().constraints.matches(&parameters)).cloned();
                let found = set.select(&parameters).map(|m| Arc::clone(m.variant));
                prop_assert_eq!(found.map(|v| v.key().clone()), naive.map(|v| v.key().clone()));
            }
        }
    }
}
