//! The selections of one name or collection, by the parameters that they are for.
//!
//! There is one for each parameter set, shared by all who ask. Only where a resource must not be cached, those who
//! subscribe after it came get a younger one, which has nothing until it comes again. Nobody joins the older ones any
//! more; their streams are sent changes as ever.

use indexmap::IndexMap;
use weir_types::{DynamicParameters, Scope};

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
}

impl Table {
    fn len(&self) -> usize {
        self.youngest.len() + self.older.len()
    }

    fn add(&mut self, parameters: DynamicParameters, id: SelectionId) {
        if let Some(older) = self.youngest.insert(parameters.clone(), id) {
            self.older.push((parameters, older));
        }
    }

    fn remove(&mut self, parameters: &DynamicParameters, id: SelectionId) -> bool {
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
            _ => self.iter().filter(|(parameters, _)| scope.covers(parameters)).map(|(_, id)| id).collect(),
        }
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
        let youngest = self.table.iter().flat_map(|table| &table.youngest);
        let first = self.one.iter().map(|(parameters, id)| (parameters, id)).chain(youngest);
        first.chain(self.older().map(|(parameters, id)| (parameters, id))).map(|(of, id)| (of, *id))
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
}
