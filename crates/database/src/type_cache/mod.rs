//! The database of one type: its names, what is selected of them, and the views.
//!
//! Pure: no lock, no clock, no runtime. [`crate::Database`] holds one of these per type behind one lock.
//!
//! ```text
//!  Batch ──commit──> names (variants by reach) ──reselect──> selections ──touch──> views ──wake──> streams
//!                                                    ^                                 │
//!  subscribe ────────────────────────────────────────┘                    diff <───────┘
//! ```

mod audit;
mod beside;
mod commit;
mod diff;
mod errors;
mod growth;
mod leases;
mod look;
mod missing;
mod question;
mod selection_set;
mod selections;
mod shown;
mod siblings;
mod snapshot;
mod statistics;
mod subscribe;
mod sweep;
mod tombstone_transfer;
mod transaction;
mod uncacheable;
mod variants;
mod withheld;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

pub(crate) use commit::Committing;
pub(crate) use growth::Forms;
use indexmap::IndexMap;
use slab::Slab;
pub(crate) use snapshot::{Copying, assemble};
pub(crate) use subscribe::{Patch, Standing};
use weir_types::xdstp::collections_of;
use weir_types::{
    Breadth, Commit, DynamicParameters, Form, GlobIndex, Name, Reach, ResourceLocator, Selector, TypeUrl,
    Variant, VariantKey,
};

pub use question::{Diff, Errors, Failing, Query, Refresh, Removed, Shape};
pub use statistics::Statistics;

use self::leases::Leases;
use self::selection_set::SelectionSet;
use self::selections::Selections;
use crate::matching::VariantSet;
use crate::selection::Selection;
use crate::view::{Identity, SelectionId, Shared, View, ViewId};
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
    names: IndexMap<Name, Box<NameEntry>>,
    /// Which resources list an alias.
    aliases: HashMap<Name, BTreeSet<Name>>,
    /// The selections of collections, by the collection and their parameters.
    collections: HashMap<Name, SelectionSet>,
    /// The selections of those who may not have what they ask for. What upstream says does not reach them.
    withheld: IndexMap<ResourceLocator, SelectionId>,
    /// The names of which there are variants, by their glob.
    globs: GlobIndex,
    selections: Selections,
    views: Slab<View>,
    by_identity: HashMap<Identity, ViewId>,
    /// Selections that no view contains, and when they are given up; none until the next sweep.
    idle: BTreeMap<SelectionId, Option<Instant>>,
    leases: Leases,
    /// Whether anything has ever come that must not be cached.
    has_uncacheable: bool,
    /// How many selections were not the first of their locator.
    generations: u64,
    /// The newest commit of this type.
    last: Commit,
    /// Found while matching, not reported yet.
    ambiguities: Vec<Ambiguity>,
}

/// What there is under one name: variants of the resource, and locators that ask for it.
#[derive(Debug, Default)]
struct NameEntry {
    named: VariantSet,
    wildcard: VariantSet,
    local: VariantSet,
    selections: SelectionSet,
}

impl NameEntry {
    fn set(&mut self, reach: Reach) -> &mut VariantSet {
        match reach {
            Reach::Named => &mut self.named,
            Reach::Wildcard => &mut self.wildcard,
            Reach::Local => &mut self.local,
        }
    }

    fn of(&self, reach: Reach) -> &VariantSet {
        match reach {
            Reach::Named => &self.named,
            Reach::Wildcard => &self.wildcard,
            Reach::Local => &self.local,
        }
    }

    fn is_empty(&self) -> bool {
        self.selections.is_empty() && self.sets().all(VariantSet::is_empty)
    }

    /// Makes `variant` hold the bytes of an equal one that is here already, for whomever that is: a control
    /// plane that knows no dynamic parameters sends each parameter set a copy of its own.
    fn share_bytes(&self, variant: &mut Variant) {
        let content = variant.version(Form::Plain);
        let mut held = self.sets().filter_map(|set| set.with_content(content));
        held.any(|held| variant.share_bytes(held));
    }

    /// The length of the bodies that are held, each once.
    fn bytes(&self) -> usize {
        let held = self.sets().flat_map(|set| set.held());
        let bodies = held.filter_map(|variant| variant.content().body.as_ref());
        bodies
            .map(|body| (body.as_ptr(), body.len()))
            .collect::<BTreeSet<_>>()
            .iter()
            .map(|(_, len)| len)
            .sum()
    }

    /// In the order in which they answer a name.
    fn sets(&self) -> impl Iterator<Item = &VariantSet> {
        [&self.named, &self.wildcard, &self.local].into_iter()
    }
}

impl TypeCache {
    pub(crate) fn new(type_url: TypeUrl, last: Commit) -> Self {
        Self {
            type_url,
            names: IndexMap::new(),
            aliases: HashMap::new(),
            collections: HashMap::new(),
            withheld: IndexMap::new(),
            globs: GlobIndex::default(),
            selections: Selections::default(),
            views: Slab::new(),
            by_identity: HashMap::new(),
            idle: BTreeMap::new(),
            leases: Leases::default(),
            has_uncacheable: false,
            generations: 0,
            last,
            ambiguities: Vec::new(),
        }
    }

    /// Whether nobody asks for anything, and nothing is here.
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty() && self.selections.is_empty() && self.views.is_empty()
    }

    pub(crate) fn view_mut(&mut self, id: ViewId) -> &mut View {
        &mut self.views[id.0]
    }

    /// What a locator selects for those who subscribe now, if anyone asks for it or did so lately.
    fn selection(&self, locator: &ResourceLocator) -> Option<&Selection> {
        self.selection_id(locator).map(|id| &self.selections[id.0])
    }

    fn selection_id(&self, locator: &ResourceLocator) -> Option<SelectionId> {
        if locator.parameters.is_withheld() {
            return self.withheld.get(locator).copied();
        }
        let set = match locator.is_collection() {
            true => self.collections.get(&locator.name)?,
            false => &self.names.get(&locator.name)?.selections,
        };
        set.youngest(&locator.parameters)
    }

    /// The selections of the name or collection of `locator`, which is not withheld.
    fn set_mut(&mut self, locator: &ResourceLocator) -> Option<&mut SelectionSet> {
        match locator.is_collection() {
            true => self.collections.get_mut(&locator.name),
            false => self.names.get_mut(&locator.name).map(|entry| &mut entry.selections),
        }
    }

    /// The selections of the collections that the resource `name` may be part of.
    fn collecting(&self, name: &Name) -> impl Iterator<Item = (&DynamicParameters, SelectionId)> {
        let sets = collections_of(name).filter_map(|collection| self.collections.get(&collection));
        sets.flat_map(SelectionSet::iter)
    }

    /// The selections of whoever asks for the name or collection `asked`.
    fn asking(&self, asked: &Name) -> Vec<SelectionId> {
        let named = self.names.get(asked).map(|entry| &entry.selections);
        let sets = named.into_iter().chain(self.collections.get(asked));
        sets.flat_map(SelectionSet::iter).map(|(_, id)| id).collect()
    }

    /// The newest commit of this type.
    pub(crate) fn last(&self) -> Commit {
        self.last
    }

    /// What a commit has touched, before anything else happens here.
    pub(crate) fn touched<'a>(&self, views: &'a [Arc<Shared>]) -> Vec<Touched<'a>> {
        let streams = |view: &Shared| {
            let id = self.by_identity.get(&view.identity);
            id.map_or(0, |id| self.views[id.0].streams)
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
        let selections = &self.views[id.0].selections;
        let asked = |(_, id): (&DynamicParameters, SelectionId)| {
            [Form::Plain, Form::Located].into_iter().any(|form| {
                let locator = self.selections[id.0].locator.clone();
                selections.get(&Selector { locator, form }) == Some(&id)
            })
        };
        let waits = |name: &&Name| {
            let all = self.names.get(*name).into_iter().flat_map(|entry| entry.selections.iter());
            all.filter(|(_, id)| !self.selections[id.0].is_settled()).any(asked)
        };
        names.iter().position(|name| waits(&name)).unwrap_or(names.len())
    }

    /// Whether there is something of what the view asks for with `selector`.
    pub(crate) fn is_present(&self, id: ViewId, selector: &Selector) -> bool {
        let selection = self.views[id.0].selections.get(selector);
        selection.is_some_and(|id| self.selections[id.0].live().next().is_some())
    }

    pub(crate) fn take_ambiguities(&mut self) -> Vec<Ambiguity> {
        std::mem::take(&mut self.ambiguities)
    }

    /// The variant of the resource `name` for `parameters`. What answered the name itself is preferred for
    /// those who asked by name; nobody who asked for everything gets what only a name brought (w01). A glob
    /// is its names: what answers one of them is part of it.
    fn lookup(
        &mut self,
        name: &Name,
        parameters: &DynamicParameters,
        asked: Breadth,
    ) -> Option<Arc<Variant>> {
        let entry = self.names.get_mut(name)?;
        let reaches: &[Reach] = match asked {
            Breadth::Name => &[Reach::Named, Reach::Wildcard, Reach::Local],
            Breadth::Glob => &[Reach::Named, Reach::Local],
            Breadth::Wildcard => &[Reach::Wildcard, Reach::Local],
        };
        for reach in reaches {
            let Some(found) = entry.set(*reach).select(parameters) else { continue };
            if let Some(rival) = found.rival {
                self.ambiguities.push(Ambiguity {
                    chosen: found.variant.key().clone(),
                    rival: rival.key().clone(),
                    witness: parameters.clone(),
                });
            }
            return Some(Arc::clone(found.variant));
        }
        None
    }

    /// The variant that answers a locator by name or alias.
    fn answer(&mut self, name: &Name, parameters: &DynamicParameters) -> Option<Arc<Variant>> {
        if let Some(own) = self.lookup(name, parameters, Breadth::Name) {
            return Some(own);
        }
        let entries = self.aliases.get(name)?.iter().filter_map(|resource| self.names.get(resource));
        entries.flat_map(|entry| entry.sets()).find_map(|set| set.select_alias(name, parameters)).cloned()
    }

    fn prune(&mut self, id: SelectionId) {
        let views = &self.views;
        let selection = &mut self.selections[id.0];
        let own: Vec<&View> = selection.views.keys().map(|view| &views[view.0]).collect();
        selection.prune(|tombstone| own.iter().any(|view| view.needs(tombstone)));
    }
}
