//! The selections of one name or collection, by the parameters that they are for.
//!
//! There is one for each parameter set, shared by all who ask. Only where a resource must not be cached, those who
//! subscribe after it came get a younger one, which has nothing until it comes again. Nobody joins the older ones any
//! more; their streams are told of changes as ever.

use std::collections::HashMap;

use weir_types::{DynamicParameters, Scope};

use crate::view::SelectionId;

/// All selections of one name or collection.
#[derive(Debug, Default)]
pub(super) struct SelectionSet {
    youngest: HashMap<DynamicParameters, SelectionId>,
    older: Vec<(DynamicParameters, SelectionId)>,
}

impl SelectionSet {
    /// The selection that whoever subscribes now joins.
    pub(super) fn youngest(&self, parameters: &DynamicParameters) -> Option<SelectionId> {
        self.youngest.get(parameters).copied()
    }

    /// Adds one that is younger than all of its parameters.
    pub(super) fn add(&mut self, parameters: DynamicParameters, id: SelectionId) {
        if let Some(older) = self.youngest.insert(parameters.clone(), id) {
            self.older.push((parameters, older));
        }
    }

    /// Takes one out. Whether it was the last of its parameters.
    pub(super) fn remove(&mut self, parameters: &DynamicParameters, id: SelectionId) -> bool {
        if self.youngest(parameters) != Some(id) {
            self.older.retain(|(_, older)| *older != id);
            return false;
        }
        match self.older.iter().rposition(|(of, _)| of == parameters) {
            Some(at) => {
                let (parameters, older) = self.older.remove(at);
                self.youngest.insert(parameters, older);
                false
            }
            None => self.youngest.remove(parameters).is_some(),
        }
    }

    /// The selections that `scope` covers. One parameter set is looked up: a hot name has any number of them.
    pub(super) fn covered_by(&self, scope: &Scope) -> Vec<SelectionId> {
        match scope {
            Scope::Exactly(parameters) => {
                let older = self.older.iter().filter(|(of, _)| of == parameters).map(|(_, id)| *id);
                self.youngest(parameters).into_iter().chain(older).collect()
            }
            _ => self.iter().filter(|(parameters, _)| scope.covers(parameters)).map(|(_, id)| id).collect(),
        }
    }

    /// For which parameters there are any.
    pub(super) fn parameters(&self) -> impl Iterator<Item = &DynamicParameters> {
        self.youngest.keys()
    }

    /// All of them, with what they are for.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&DynamicParameters, SelectionId)> {
        let older = self.older.iter().map(|(parameters, id)| (parameters, *id));
        self.youngest.iter().map(|(parameters, id)| (parameters, *id)).chain(older)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.youngest.is_empty()
    }
}
