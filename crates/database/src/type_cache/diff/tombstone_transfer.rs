//! Transfers tombstones when a client unsubscribes from a locator.
//!
//! The client keeps the variants that another of its locators matches, too. If such a variant is removed already and the
//! removal was not sent yet, only the selection of the old locator knows that the client may have it. Its tombstone is
//! copied to the selections of the locators that stay.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use weir_types::xdstp::collections_of;
use weir_types::{Breadth, Form, Name, Selector, Variant};

use crate::selection::{Selection, Tombstone};
use crate::type_cache::Standing;
use crate::type_cache::TypeCache;
use crate::view::{SelectionId, View, ViewId};

impl TypeCache {
    /// Copies the tombstones of `given_up` that were not sent to a stream from `base` to the selections that stay in `view`.
    pub(crate) fn transfer_tombstones(&mut self, base: Standing, given_up: &[Selector], view: ViewId) {
        let unsent = self.unsent(base, given_up);
        if unsent.is_empty() {
            return;
        }
        let keepers = Keepers::of(&self.views[view]);
        let mut left: Vec<(SelectionId, Tombstone)> = Vec::new();
        for gone in &unsent {
            let successors =
                keepers.that_may_keep(&gone.variant).filter(|id| self.keeps_for_client(*id, gone));
            left.extend(successors.map(|successor| (successor, gone.inherited_copy())));
        }
        for (successor, gone) in left {
            self.views[view].note(successor, gone.died);
            self.selections[successor].members.add_tombstone(gone);
        }
    }

    /// The removed members of the located selectors in `given_up` that a stream at `base` may still hold, each once:
    /// all locators of one name may have selected the same variant.
    fn unsent(&self, base: Standing, given_up: &[Selector]) -> Vec<Tombstone> {
        let mut seen = HashSet::new();
        let selections = &self.views[base.view].selections;
        let located = given_up.iter().filter(|selector| selector.form == Form::Located);
        let gone = located.filter_map(|selector| selections.get(selector));
        let gone = gone.flat_map(|id| self.selections[*id].members.gone());
        let unsent = gone.filter(|gone| gone.is_unsent(base.cursor));
        let life = |gone: &Tombstone| (Arc::as_ptr(&gone.variant), gone.born, gone.changed, gone.died);
        unsent.filter(|gone| seen.insert(life(gone))).map(Tombstone::inherited_copy).collect()
    }

    /// Whether a client keeps the variant of `gone` for this selection, though the selection does not show it.
    fn keeps_for_client(&self, id: SelectionId, gone: &Tombstone) -> bool {
        let (selection, key) = (&self.selections[id], gone.variant.key());
        let named = |name: &Name| key.name == *name || gone.variant.content().aliases.contains(name);
        let asks = |selection: &Selection| match selection.breadth() {
            Breadth::Name => named(&selection.locator.name),
            _ => collections_of(&key.name).any(|name| name == selection.locator.name),
        };
        key.constraints.matches(&selection.locator.parameters)
            && asks(selection)
            && !selection.members.has(key)
    }
}

/// The located selectors of a view, by name.
struct Keepers<'a>(HashMap<&'a Name, Vec<SelectionId>>);

impl<'a> Keepers<'a> {
    fn of(view: &'a View) -> Self {
        let mut by_name: HashMap<&Name, Vec<SelectionId>> = HashMap::new();
        for (selector, id) in view.selections.iter().filter(|(selector, _)| selector.form == Form::Located) {
            by_name.entry(&selector.locator.name).or_default().push(*id);
        }
        Self(by_name)
    }

    /// The selections of the names and collections by which a client may keep `variant`.
    fn that_may_keep(&self, variant: &Variant) -> impl Iterator<Item = SelectionId> {
        let names = variant.content().aliases.iter().chain([variant.name()]);
        let named = names.filter_map(|name| self.0.get(name));
        let collections = collections_of(variant.name()).filter_map(|name| self.0.get(&name));
        named.chain(collections).flatten().copied()
    }
}
