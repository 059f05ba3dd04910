//! The selections of one name or collection, by the parameters that they are for.
//!
//! There is one for each parameter set, shared by all who ask. Only where a resource must not be cached, those who
//! subscribe after it came get a younger one, which has nothing until it comes again. Nobody joins the older ones any
//! more; their streams are sent changes as ever.

use indexmap::IndexMap;
use weir_types::{Constraints, DynamicParameters, Scope};

use super::parameter_index::{INDEX_FROM, Listed, ParameterIndex};
use crate::view::SelectionId;

/// All selections of one name or collection. Most names are asked for with one parameter set, and cost no more than that.
#[derive(Debug, Default)]
pub(crate) struct SelectionSet {
    /// The only one; none where there is a table.
    one: Option<(DynamicParameters, SelectionId)>,
    table: Option<Box<Table>>,
    /// How many of them have an error.
    failing: usize,
}

/// Any number of selections.
#[derive(Debug, Default)]
struct Table {
    youngest: IndexMap<DynamicParameters, SelectionId>,
    older: Vec<(DynamicParameters, SelectionId)>,
    /// Of all of them, where they are many.
    index: Option<ParameterIndex>,
}

impl Table {
    fn len(&self) -> usize {
        self.youngest.len() + self.older.len()
    }

    fn iter(&self) -> impl Iterator<Item = (&DynamicParameters, SelectionId)> + Clone {
        let youngest = self.youngest.iter().map(|(parameters, id)| (parameters, *id));
        youngest.chain(self.older.iter().map(|(parameters, id)| (parameters, *id)))
    }

    fn add(&mut self, parameters: DynamicParameters, id: SelectionId) {
        if let Some(index) = &mut self.index {
            index.insert(&parameters, id);
        }
        if let Some(older) = self.youngest.insert(parameters.clone(), id) {
            self.older.push((parameters, older));
        }
        let count = self.len();
        if count >= INDEX_FROM && self.index.as_ref().is_none_or(|index| index.is_outgrown(count)) {
            self.index = ParameterIndex::of(self.iter().map(|(of, id)| (of.clone(), id)));
        }
    }

    fn remove(&mut self, parameters: &DynamicParameters, id: SelectionId) -> bool {
        if let Some(index) = &mut self.index {
            index.remove(parameters, id);
        }
        if self.youngest.get(parameters) != Some(&id) {
            self.older.retain(|(_, older)| *older != id);
            return false;
        }
        match self.older.iter().rposition(|(of, _)| of == parameters) {
            Some(at) => {
                let (parameters, older) = self.older.remove(at);
                self.youngest.insert(parameters, older);
                false
            }
            None => self.youngest.swap_remove(parameters).is_some(),
        }
    }
}

impl SelectionSet {
    /// The selection that whoever subscribes now joins.
    pub(crate) fn youngest(&self, parameters: &DynamicParameters) -> Option<SelectionId> {
        let one = self.one.as_ref().filter(|(of, _)| of == parameters).map(|(_, id)| *id);
        one.or_else(|| self.table.as_ref()?.youngest.get(parameters).copied())
    }

    /// Adds one that is younger than all of its parameters.
    pub(crate) fn add(&mut self, parameters: DynamicParameters, id: SelectionId) {
        if self.is_empty() {
            self.one = Some((parameters, id));
            return;
        }
        let table = self.table.get_or_insert_default();
        if let Some((parameters, id)) = self.one.take() {
            table.add(parameters, id);
        }
        table.add(parameters, id);
    }

    /// Takes one out. Whether it was the last of its parameters.
    pub(crate) fn remove(&mut self, parameters: &DynamicParameters, id: SelectionId) -> bool {
        let Some(table) = &mut self.table else {
            return self.one.take_if(|one| one.1 == id).is_some();
        };
        let last = table.remove(parameters, id);
        if let Some(table) = self.table.take_if(|table| table.len() == 1) {
            self.one = table.youngest.into_iter().next();
        }
        last
    }

    /// The selections that `scope` covers. One parameter set is looked up: a hot name has any number of them.
    pub(crate) fn covered_by(&self, scope: &Scope) -> Vec<SelectionId> {
        match scope {
            Scope::Exactly(parameters) => {
                let older = self.older().filter(|(of, _)| of == parameters).map(|(_, id)| *id);
                self.youngest(parameters).into_iter().chain(older).collect()
            }
            _ => {
                let few = self.index().and_then(|index| index.covered_by(scope));
                self.among(few).filter(|(of, _)| scope.covers(of)).map(|(_, id)| id).collect()
            }
        }
    }

    /// Those whose parameters match `constraints`.
    pub(crate) fn matching(
        &self,
        constraints: &Constraints,
    ) -> impl Iterator<Item = (&DynamicParameters, SelectionId)> {
        let few = self.index().and_then(|index| index.candidates(constraints));
        self.among(few).filter(|(of, _)| constraints.matches(of))
    }

    fn index(&self) -> Option<&ParameterIndex> {
        self.table.as_ref()?.index.as_ref()
    }

    /// Those of `few`, or all.
    fn among<'a>(
        &'a self,
        few: Option<&'a [Listed]>,
    ) -> impl Iterator<Item = (&'a DynamicParameters, SelectionId)> {
        let all = few.is_none().then(|| self.iter()).into_iter().flatten();
        few.into_iter().flatten().map(|(of, id)| (of, *id)).chain(all)
    }

    fn older(&self) -> impl Iterator<Item = &(DynamicParameters, SelectionId)> {
        self.table.iter().flat_map(|table| &table.older)
    }

    /// For which parameters there are any.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = &DynamicParameters> {
        let one = self.one.iter().map(|(parameters, _)| parameters);
        one.chain(self.table.iter().flat_map(|table| table.youngest.keys()))
    }

    /// All of them, with what they are for.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&DynamicParameters, SelectionId)> {
        let one = self.one.iter().map(|(parameters, id)| (parameters, *id));
        one.chain(self.table.iter().flat_map(|table| table.iter()))
    }

    pub(crate) fn len(&self) -> usize {
        usize::from(self.one.is_some()) + self.table.as_ref().map_or(0, |table| table.len())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.one.is_none() && self.table.is_none()
    }

    /// Counts a selection that has an error from now on, or has none any more.
    pub(crate) fn count_failing(&mut self, fails: bool) {
        self.failing = if fails { self.failing + 1 } else { self.failing.saturating_sub(1) };
    }

    /// How many have an error.
    pub(crate) fn failing(&self) -> usize {
        self.failing
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use weir_types::constraints::Expr;

    use super::*;

    fn env(value: &str) -> DynamicParameters {
        [("env", value)].into_iter().collect()
    }

    #[test]
    fn what_is_there_once_has_no_table_and_the_youngest_is_joined() {
        let mut set = SelectionSet::default();
        assert!(size_of::<SelectionSet>() <= 32, "most names are asked for with one parameter set");
        set.add(env("prod"), SelectionId(1));
        assert!(set.table.is_none());
        set.add(env("test"), SelectionId(2));
        set.add(env("prod"), SelectionId(3));
        assert_eq!((set.youngest(&env("prod")), set.iter().count()), (Some(SelectionId(3)), 3));
        assert_eq!(set.covered_by(&Scope::Exactly(env("prod"))), [SelectionId(3), SelectionId(1)]);
        assert!(set.remove(&env("test"), SelectionId(2)), "the last of its parameters");
        assert!(!set.remove(&env("prod"), SelectionId(3)), "an older one is left");
        assert!(set.table.is_none());
        assert_eq!(set.youngest(&env("prod")), Some(SelectionId(1)));
        assert!(set.remove(&env("prod"), SelectionId(1)) && set.is_empty());
    }

    /// Of two keys, each of which may be missing.
    fn pairs((a, b): (Option<u8>, Option<u8>)) -> DynamicParameters {
        let of = |key: &str, value: Option<u8>| value.map(|value| (key.to_owned(), value.to_string()));
        [of("a", a), of("b", b)].into_iter().flatten().collect()
    }

    /// What matches just these values, and no others of these keys.
    fn exactly(parameters: &DynamicParameters, keys: &[Arc<str>]) -> Constraints {
        let needs = |key: &Arc<str>| match parameters.get(key) {
            Some(value) => Expr::value(Arc::clone(key), value),
            None => Expr::not(Expr::exists(Arc::clone(key))),
        };
        Constraints::new(Expr::All(keys.iter().map(needs).collect()))
    }

    proptest! {
        #[test]
        fn d14_an_index_finds_the_same_as_trying_all(
            all in prop::collection::vec((prop::option::of(0..9u8), prop::option::of(0..40u8)), 1..200),
            removed in prop::collection::vec(any::<prop::sample::Index>(), 0..150),
            wanted in (prop::option::of(0..9u8), prop::option::of(0..40u8)),
            on_both in any::<bool>(),
        ) {
            let mut set = SelectionSet::default();
            let mut model: Vec<_> =
                all.into_iter().map(pairs).enumerate().map(|(i, of)| (of, SelectionId(i))).collect();
            model.iter().for_each(|(of, id)| set.add(of.clone(), *id));
            for index in removed {
                if !model.is_empty() {
                    let (of, id) = model.swap_remove(index.index(model.len()));
                    set.remove(&of, id);
                }
            }
            let keys: Arc<[Arc<str>]> = if on_both { Arc::from(["a".into(), "b".into()]) } else { Arc::from(["b".into()]) };
            let parameters = pairs(wanted).projected(&keys);
            let constraints = exactly(&parameters, &keys);
            let mut found: Vec<_> = set.matching(&constraints).map(|(_, id)| id).collect();
            let mut covered = set.covered_by(&Scope::Projected { keys, parameters });
            let mut tried: Vec<_> =
                model.iter().filter(|(of, _)| constraints.matches(of)).map(|(_, id)| *id).collect();
            [&mut found, &mut covered, &mut tried].into_iter().for_each(|ids| ids.sort());
            prop_assert_eq!(&found, &tried);
            prop_assert_eq!(&covered, &tried);
        }
    }

    #[test]
    fn d14_of_many_parameter_sets_a_change_looks_at_those_that_it_is_for() {
        let mut set = SelectionSet::default();
        for i in 0..1000 {
            set.add(
                [("env", "prod".to_owned()), ("node", i.to_string())].into_iter().collect(),
                SelectionId(i),
            );
        }
        let constraints = Constraints::new(Expr::value("node", "7"));
        let few = set.index().and_then(|index| index.candidates(&constraints));
        assert_eq!(few.map(<[_]>::len), Some(1));
        let any = Constraints::new(Expr::value("env", "prod"));
        assert_eq!(set.matching(&any).count(), 1000);
    }
}
