//! Which variant of a name is for whom: paid once per distinct parameter set, not per subscriber.

mod index;
mod table;

use std::sync::Arc;

use weir_types::{Constraints, DynamicParameters, Form, Name, Variant, Version};

pub(crate) use self::index::needed_value;
use self::table::Table;

/// The variants of one name and one provenance. Most names have one variant or none, and cost no more than that.
#[derive(Debug, Default)]
pub struct VariantSet {
    /// The only one; none where there is a table.
    one: Option<Arc<Variant>>,
    table: Option<Box<Table>>,
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
    /// The table, which is made where there is none.
    fn table_mut(&mut self) -> &mut Table {
        let table = self.table.get_or_insert_default();
        if let Some(one) = self.one.take() {
            table.insert(one);
        }
        table
    }

    /// The variants, in order of preference.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Variant>> {
        self.one.iter().chain(self.table.iter().flat_map(|table| table.iter()))
    }

    /// A variant whose content has this hash, constraints aside.
    pub(crate) fn with_content(&self, content: Version) -> Option<&Arc<Variant>> {
        let one = self.one.as_ref().filter(|variant| variant.version(Form::Plain) == content);
        one.or_else(|| self.table.as_ref()?.with_content(content))
    }

    /// The variants, and those whose time to live is over.
    pub fn held(&self) -> impl Iterator<Item = &Arc<Variant>> {
        self.iter().chain(self.table.iter().flat_map(|table| &table.expired))
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.held().next().is_none()
    }

    /// What is held with exactly these constraints.
    pub fn get(&self, constraints: &Constraints) -> Option<&Arc<Variant>> {
        let one = self.one.as_ref().filter(|variant| variant.key().constraints == *constraints);
        one.or_else(|| self.table.as_ref()?.get(constraints))
    }

    /// Adds a variant, or replaces the one with equal constraints, which is returned.
    pub fn insert(&mut self, variant: Arc<Variant>) -> Option<Arc<Variant>> {
        match &mut self.one {
            Some(one) if one.key().constraints == variant.key().constraints => {
                Some(std::mem::replace(one, variant))
            }
            None if self.table.is_none() => {
                self.one = Some(variant);
                None
            }
            _ => self.table_mut().insert(variant),
        }
    }

    /// Takes out the variant with exactly these constraints.
    pub fn remove(&mut self, constraints: &Constraints) -> Option<Arc<Variant>> {
        let Some(table) = &mut self.table else {
            return self.one.take_if(|one| one.key().constraints == *constraints);
        };
        let expired = table.take_expired(constraints);
        let removed = table.remove(constraints).or(expired);
        self.shrink();
        removed
    }

    /// Gives the table back when there is nothing to look up.
    fn shrink(&mut self) {
        let small = |table: &Table| table.expired.is_empty() && table.order.len() <= 1;
        if let Some(table) = self.table.take_if(|table| small(table)) {
            self.one = table.iter().next().cloned();
        }
    }

    /// Ends the life of the variant with exactly these constraints.
    pub(crate) fn expire(&mut self, constraints: &Constraints) -> Option<&Arc<Variant>> {
        if self.iter().all(|variant| variant.key().constraints != *constraints) {
            return None;
        }
        let table = self.table_mut();
        let expired = table.remove(constraints)?;
        table.expired.push(expired);
        table.expired.last()
    }

    /// Whether a variant that `parameters` match has expired.
    pub(crate) fn has_expired(&self, parameters: &DynamicParameters) -> bool {
        let mut expired = self.table.iter().flat_map(|table| &table.expired);
        expired.any(|variant| variant.key().constraints.matches(parameters))
    }

    /// Takes out what has expired of exactly these constraints.
    pub(crate) fn take_expired(&mut self, constraints: &Constraints) -> Option<Arc<Variant>> {
        let expired = self.table.as_mut()?.take_expired(constraints);
        self.shrink();
        expired
    }

    /// The variant that `parameters` match.
    pub fn select(&mut self, parameters: &DynamicParameters) -> Option<Match<'_>> {
        if let Some(table) = &mut self.table {
            return table.select(parameters);
        }
        let one = self.one.as_ref().filter(|one| one.key().constraints.matches(parameters));
        one.map(|variant| Match { variant, rival: None })
    }

    /// Whether any variant matches `parameters`.
    pub(crate) fn any(&self, parameters: &DynamicParameters) -> bool {
        self.matching(parameters).next().is_some()
    }

    /// The variants that `parameters` match.
    fn matching(&self, parameters: &DynamicParameters) -> impl Iterator<Item = &Arc<Variant>> {
        let many = self.table.iter().flat_map(|table| table.candidates(parameters));
        self.one.iter().chain(many).filter(|variant| variant.key().constraints.matches(parameters))
    }

    /// The variants that `parameters` match, and those whose time to live is over.
    pub(crate) fn held_for(&self, parameters: &DynamicParameters) -> impl Iterator<Item = &Arc<Variant>> {
        let expired = self.table.iter().flat_map(|table| &table.expired);
        let expired = expired.filter(|variant| variant.key().constraints.matches(parameters));
        self.matching(parameters).chain(expired)
    }

    /// The variant that `parameters` match, of those that list `alias`.
    pub(crate) fn select_alias(&self, alias: &Name, parameters: &DynamicParameters) -> Option<&Arc<Variant>> {
        let mut listing = self.iter().filter(|variant| variant.content().aliases.contains(alias));
        listing.find(|variant| variant.key().constraints.matches(parameters))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use weir_types::constraints::Expr;
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

    #[test]
    fn d14_a_change_of_one_of_many_variants_looks_at_few() {
        let mut set = VariantSet::default();
        let shard = |i: usize| Expr::value("shard", format!("s{i}"));
        (0..1000).for_each(|i| _ = set.insert(variant(shard(i))));
        let index = || -> Vec<usize> {
            let table = set.table.as_ref().unwrap();
            let index = table.index.as_ref().unwrap();
            (0..1000).map(|i| index.candidates(&params(&[("shard", &format!("s{i}"))])).count()).collect()
        };
        assert_eq!(index(), [1; 1000], "each parameter set has one candidate to try");
        (1..1000).for_each(|i| _ = set.remove(&Constraints::new(shard(i))));
        assert!(set.table.is_none(), "one variant has no table");
        assert_eq!(chosen(&mut set, &[("shard", "s0")]).as_deref(), Some("shard=s0"));
        assert!(size_of::<VariantSet>() <= 16, "most names have one variant or none");
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
            for expr in &exprs {
                set.insert(variant(expr.clone()));
            }
            for expr in exprs.into_iter().step_by(3) {
                set.remove(&Constraints::new(expr));
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
