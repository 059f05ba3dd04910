//! What is given up, and what goes on.
//!
//! A client that gives up a locator keeps the variants of it that another of its locators asks for, too. If one of them
//! is gone by then and the client has not been told, only what was given up knows that it may have it. So the end of
//! it is left to those that go on.

use weir_types::{Breadth, Form, Name, Selector};

use super::Core;
use super::subscribe::Standing;
use crate::selection::{Selection, Tombstone};
use crate::view::{SelectionId, ViewId};

impl Core {
    /// Leaves to what goes on in `view` what a stream from `base` has not been told of what is `given_up`.
    pub(super) fn bequeath(&mut self, base: Standing, given_up: &[Selector], view: ViewId) {
        let mut left: Vec<(SelectionId, Tombstone)> = Vec::new();
        for selector in given_up.iter().filter(|selector| selector.form == Form::Located) {
            let Some(id) = self.views[base.view.0].selections.get(selector) else { continue };
            let untold = self.selections[id.0].gone().filter(|gone| gone.is_untold(base.cursor));
            for gone in untold {
                let heirs = self.heirs(gone, view).into_iter();
                left.extend(heirs.map(|heir| (heir, gone.bequeathed())));
            }
        }
        for (heir, gone) in left {
            self.views[view.0].note(heir, gone.died);
            self.selections[heir.0].mourn(gone);
        }
    }

    /// What the view asks for by which a client keeps the variant, though it is not there.
    fn heirs(&self, gone: &Tombstone, view: ViewId) -> Vec<SelectionId> {
        let key = gone.variant.key();
        let named = |name: &Name| key.name == *name || gone.variant.content().aliases.contains(name);
        let asks = |selection: &Selection| match selection.breadth() {
            Breadth::Name => named(&selection.locator.name),
            _ => weir_types::xdstp::collections_of(&key.name).any(|name| *name == *selection.locator.name),
        };
        let all = self.views[view.0].selections.iter().filter(|(selector, _)| selector.form == Form::Located);
        let all = all.map(|(_, id)| (*id, &self.selections[id.0]));
        let keeping = all.filter(|(_, s)| key.constraints.matches(&s.locator.parameters) && asks(s));
        keeping.filter(|(_, selection)| !selection.has(key)).map(|(id, _)| id).collect()
    }
}
