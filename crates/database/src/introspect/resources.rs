//! Resources: their variants, and who asks for them.

use std::collections::HashMap;
use std::sync::Arc;

use weir_types::{
    Absence, Commit, Constraints, DynamicParameters, Fingerprint, Name, Provenance, ResourceError, TypeUrl,
    Variant, VariantKey,
};

use crate::Database;
use crate::explain::Candidate;
use crate::selection::Selection;
use crate::type_cache::TypeCache;
use crate::view::SelectionId;

/// What there is of a name.
#[derive(Clone, Debug)]
pub struct Resource {
    /// The name.
    pub name: Name,
    /// The variants, in the order in which they are preferred by those who ask for the name.
    pub variants: Vec<HeldVariant>,
    /// The locators that ask for just this name, by their parameters.
    pub asked: Vec<Asked>,
}

/// A variant that is held.
#[derive(Clone, Debug)]
pub struct HeldVariant {
    /// The variant.
    pub variant: Arc<Variant>,
    /// How it came.
    pub provenance: Provenance,
    /// Whether its time to live is over, so that nobody is sent it.
    pub expired: bool,
    /// How many subscriptions of streams show it.
    pub subscribers: usize,
}

/// What one locator came to.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Its parameters.
    pub parameters: DynamicParameters,
    /// How many streams ask so.
    pub streams: usize,
    /// The constraints of what is served; none if nothing is.
    pub served: Option<Constraints>,
    /// What is known of its absence.
    pub absence: Absence,
    /// The error that upstream reports for it.
    pub error: Option<Arc<ResourceError>>,
}

/// What each subscription of streams shows of a name: a variant, and when it was selected or its content last changed;
/// none where the name is asked for in vain.
pub type Showing = HashMap<Fingerprint, Option<(Arc<Variant>, Commit)>>;

impl Candidate for HeldVariant {
    fn variant(&self) -> &Arc<Variant> {
        &self.variant
    }

    /// As a name is answered: by what came for it, then by what a wildcard brought, then by what is local.
    fn rank(&self) -> u8 {
        match self.provenance {
            Provenance::Named => 2,
            Provenance::Wildcard => 1,
            Provenance::Local => 0,
        }
    }
}

impl Database {
    /// The types of which there is anything, or somebody asks for it, in order.
    pub fn types(&self) -> Vec<TypeUrl> {
        let mut types = self.known_types();
        types.sort_by(|a, b| a.as_str().cmp(b.as_str()));
        types
    }

    /// The names of a type of which there are variants, or that are asked for, and that begin with `prefix`; in order.
    pub fn names(&self, type_url: &TypeUrl, prefix: &str) -> Vec<Name> {
        let wanted = |name: &&Name| name.starts_with(prefix);
        let names = self.look_at(type_url, |cache| cache.names().filter(wanted).cloned().collect::<Vec<_>>());
        let mut names = names.unwrap_or_default();
        names.sort_unstable();
        names
    }

    /// What there is of these names, which are few: all are described under one lock.
    pub fn describe(&self, type_url: &TypeUrl, names: &[Name]) -> Vec<Resource> {
        let described = self.look_at(type_url, |cache| {
            let mut streams = Streams { cache, of: HashMap::new() };
            names.iter().filter_map(|name| cache.describe(name, &mut streams)).collect()
        });
        described.unwrap_or_default()
    }

    /// What each subscription of streams shows of `name`.
    pub fn showing(&self, type_url: &TypeUrl, name: &Name) -> Showing {
        self.look_at(type_url, |cache| cache.showing(name)).unwrap_or_default()
    }

    /// The variants that may answer whoever asks for `name`: its own, or those of resources that list it as an alias.
    pub fn answering(&self, type_url: &TypeUrl, name: &Name) -> Vec<HeldVariant> {
        let own = self.describe(type_url, std::slice::from_ref(name));
        let own: Vec<_> = own.into_iter().flat_map(|resource| resource.variants).collect();
        if !own.is_empty() {
            return own;
        }
        let listing = self.look_at(type_url, |cache| cache.listing(name)).unwrap_or_default();
        let aliased = self.describe(type_url, &listing).into_iter().flat_map(|resource| resource.variants);
        aliased.filter(|held| held.variant.content().aliases.contains(name)).collect()
    }
}

/// How many streams show what a selection selects, counted once for each selection.
struct Streams<'a> {
    cache: &'a TypeCache,
    of: HashMap<SelectionId, usize>,
}

impl Streams<'_> {
    fn of(&mut self, id: SelectionId) -> usize {
        *self.of.entry(id).or_insert_with(|| self.cache.streams_at(id))
    }
}

impl TypeCache {
    fn describe(&self, name: &Name, streams: &mut Streams<'_>) -> Option<Resource> {
        let entry = self.entry(name)?;
        let mut shown: HashMap<&VariantKey, usize> = HashMap::new();
        let collecting = self.collecting_selections(name);
        for (id, selection) in entry.selections().chain(collecting) {
            let member = match selection.is_collection() {
                true => selection.members.member(name),
                false => selection.members.live().next(),
            };
            if let Some(member) = member.filter(|member| member.variant.name() == name) {
                *shown.entry(member.variant.key()).or_default() += streams.of(id);
            }
        }
        let held = |(variant, provenance, expired): (&Arc<Variant>, Provenance, bool)| HeldVariant {
            variant: Arc::clone(variant),
            provenance,
            expired,
            subscribers: if expired { 0 } else { shown.get(variant.key()).copied().unwrap_or_default() },
        };
        let variants = entry.held().map(held).collect();
        let asked = |(id, selection): (SelectionId, &Selection)| Asked {
            parameters: selection.locator.parameters.clone(),
            streams: streams.of(id),
            served: selection.members.live().next().map(|member| member.variant.key().constraints.clone()),
            absence: selection.resolution().absence(),
            error: selection.failure().map(|failure| Arc::clone(&failure.error)),
        };
        let mut asked: Vec<_> = entry.selections().map(asked).collect();
        asked.sort_by(|a, b| a.parameters.cmp(&b.parameters));
        Some(Resource { name: name.clone(), variants, asked })
    }
}
