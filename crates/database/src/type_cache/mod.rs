//! The database of one type: its names, what is selected of them, and the views.
//!
//! Pure: no lock, no clock, no runtime. [`crate::Database`] holds one of these per type behind one lock.
//!
//! ```text
//!  Batch ──commit──> names (variants by provenance) ──reselect──> selections ──touch──> views ──wake──> streams
//!                                                    ^                                 │
//!  subscribe ────────────────────────────────────────┘                    diff <───────┘
//! ```

mod audit;
pub(crate) mod changed;
mod commit;
mod diff;
mod growth;
mod introspect;
mod leases;
mod refused;
mod statistics;
mod subscribe;
mod sweep;
mod tables;
mod transaction;
mod uncacheable;
mod variants;

use std::sync::Arc;

pub(crate) use commit::Committing;
pub(crate) use diff::{Copying, assemble};
pub(crate) use growth::Forms;
pub(crate) use subscribe::{Patch, Standing};
use weir_types::{
    Breadth, Commit, Cursor, DynamicParameters, Form, Name, ResourceLocator, Selector, TypeUrl, VariantKey,
};

pub use diff::{Diff, Errors, Failing, News, Query, Refresh, RemovalDelivery, Removed, Shape};
pub use statistics::Statistics;

use self::tables::{SelectionTable, VariantIndex, ViewTable};
use crate::selection::Selection;
use crate::view::{SelectionId, Shared, View, ViewId};
use crate::watch::Touched;

/// Two variants of one name that match the same parameters (TP2, "Matching Ambiguity").
#[derive(Clone, Debug)]
pub struct Ambiguity {
    /// Which one is served.
    pub chosen: VariantKey,
    /// Which one is not.
    pub rival: VariantKey,
    /// Whom both match.
    pub witness: DynamicParameters,
}

/// Everything of one type.
pub(crate) struct TypeCache {
    pub(crate) type_url: TypeUrl,
    variants: VariantIndex,
    selections: SelectionTable,
    views: ViewTable,
    /// Whether anything has ever come that must not be cached.
    has_uncacheable: bool,
    /// The newest commit of this type.
    last: Commit,
}

impl TypeCache {
    pub(crate) fn new(type_url: TypeUrl, last: Commit) -> Self {
        let (variants, selections, views) = Default::default();
        Self { type_url, variants, selections, views, has_uncacheable: false, last }
    }

    /// Whether nobody asks for anything, and nothing is here.
    pub(crate) fn is_empty(&self) -> bool {
        self.variants.len() == 0 && self.selections.is_empty() && self.views.is_empty()
    }

    pub(crate) fn view_mut(&mut self, id: ViewId) -> &mut View {
        &mut self.views[id]
    }

    /// What a locator selects for those who subscribe now, if anyone asks for it or did so lately.
    fn selection(&self, locator: &ResourceLocator) -> Option<&Selection> {
        self.selections.find(locator).map(|id| &self.selections[id])
    }

    /// The newest commit of this type.
    pub(crate) fn last(&self) -> Commit {
        self.last
    }

    /// What a commit has touched, before anything else happens here.
    pub(crate) fn touched<'a>(&self, views: &'a [Arc<Shared>]) -> Vec<Touched<'a>> {
        let streams = |view: &Shared| {
            let id = self.views.find(&view.identity);
            id.map_or(0, |id| self.views[id].streams)
        };
        let touched = |view: &'a Arc<Shared>| Touched {
            view: view.serial,
            subscription: &view.subscription,
            streams: streams(view),
        };
        views.iter().map(touched).collect()
    }

    /// How many of `names`, from the start, are answered, or not subscribed in view `id`.
    pub(crate) fn settled_of(&self, id: ViewId, names: &[Name]) -> usize {
        let selections = &self.views[id].selections;
        let asked = |(_, id): (&DynamicParameters, SelectionId)| {
            [Form::Plain, Form::Located].into_iter().any(|form| {
                let locator = self.selections[id].locator.clone();
                selections.get(&Selector { locator, form }) == Some(&id)
            })
        };
        let waits = |name: &&Name| {
            let mut all = self.selections.named([*name]);
            all.by_ref().filter(|(_, id)| !self.selections[*id].is_settled()).any(asked)
        };
        names.iter().position(|name| waits(&name)).unwrap_or(names.len())
    }

    /// Whether there is something of what the view asks for with `selector`.
    pub(crate) fn is_present(&self, id: ViewId, selector: &Selector) -> bool {
        let selection = self.views[id].selections.get(selector);
        selection.is_some_and(|id| self.selections[*id].members.live().next().is_some())
    }

    /// Whether a name that the view asks for is gone, which a stream of it has been sent up to `cursor` has still.
    pub(crate) fn loses_names(&self, id: ViewId, cursor: Cursor) -> bool {
        let view = &self.views[id];
        let mut touched = view.touched_since(cursor.removals).map(|id| &self.selections[id]);
        touched.any(|selection| {
            selection.breadth() == Breadth::Name
                && selection.members.is_empty()
                && selection.members.gone().any(|old| !old.inherited && old.is_unsent(cursor))
        })
    }

    pub(crate) fn take_ambiguities(&mut self) -> Vec<Ambiguity> {
        self.variants.take_ambiguities()
    }

    fn prune(&mut self, id: SelectionId) {
        let views = &self.views;
        let selection = &mut self.selections[id];
        let own: Vec<&View> = selection.views.keys().map(|view| &views[*view]).collect();
        selection.members.prune(|tombstone| own.iter().any(|view| view.needs(tombstone)));
    }
}
