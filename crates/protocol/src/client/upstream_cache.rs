//! The variants that a stream has brought and that are still valid, as far as anyone knows.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use weir_types::{Constraints, Content, GlobIndex, Name, Variant, VariantKey};

use super::emptied::Endpoints;
use super::requests::UNSTATABLE_VERSION;

/// How the server of the current stream stands to a held variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freshness {
    /// It was sent on this stream.
    Confirmed,
    /// It was sent on this stream for what is not asked for any more: no client is sent its removal.
    Orphaned,
    /// It is from an earlier stream.
    Before,
    /// It is from the stream of an earlier process, and no server has sent anything since.
    Remembered,
}

/// For how long what came of a variant counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Validity {
    /// Until something else comes.
    Unlimited,
    /// For its time to live, unless the server refreshes it.
    Limited,
    /// It must not be cached: whoever comes late to it cannot be served what came.
    Uncacheable,
}

/// What is remembered of a variant.
#[derive(Debug)]
pub(super) struct UpstreamVariant {
    pub(super) constraints: Constraints,
    /// As upstream called it.
    pub(super) version: Arc<str>,
    pub(super) aliases: Arc<[Name]>,
    pub(super) validity: Validity,
    freshness: Freshness,
    endpoints: Endpoints,
}

impl UpstreamVariant {
    /// Its key, as a variant of `name`.
    pub(super) fn key(&self, name: &Name) -> VariantKey {
        VariantKey::new(name.clone(), self.constraints.clone())
    }

    /// Whether the server of the current stream has not sent it, or only for what it is not asked for any more.
    pub(super) fn is_from_before(&self) -> bool {
        self.freshness != Freshness::Confirmed
    }

    /// Whether the server of the current stream has sent it for what it is not asked for any more.
    pub(super) fn is_orphaned(&self) -> bool {
        self.freshness == Freshness::Orphaned
    }

    /// Whether it came on the current stream.
    pub(super) fn is_of_this_stream(&self) -> bool {
        matches!(self.freshness, Freshness::Confirmed | Freshness::Orphaned)
    }

    /// Whether it is an assignment with endpoints.
    fn has_endpoints(&self) -> bool {
        matches!(self.endpoints, Endpoints::Some(_))
    }

    /// Whether it may be stated: nobody needs to have it sent again.
    pub(super) fn is_statable(&self) -> bool {
        self.validity == Validity::Unlimited
    }
}

/// All held variants of a type, found by name, by alias and by glob.
#[derive(Debug, Default)]
pub(super) struct UpstreamCache {
    by_name: HashMap<Name, Vec<UpstreamVariant>>,
    /// The names of the resources that list an alias.
    by_alias: HashMap<Name, HashSet<Name>>,
    globs: GlobIndex,
    len: usize,
    remembered: usize,
    with_endpoints: usize,
}

impl UpstreamCache {
    /// Holds a variant that the server has sent; with its content if it has endpoints and these are guarded.
    pub(super) fn insert(&mut self, variant: &Variant, guards_endpoints: bool) {
        let version = Arc::clone(&variant.content().upstream_version);
        self.insert_as(variant, version, Freshness::Confirmed, Endpoints::of(variant, guards_endpoints));
    }

    /// Holds a variant from an earlier process. Its version may mean something to the server, or not.
    pub(super) fn insert_remembered(&mut self, variant: &Variant, statable: bool, guards_endpoints: bool) {
        let version = match statable {
            true => Arc::clone(&variant.content().upstream_version),
            false => UNSTATABLE_VERSION.into(),
        };
        self.insert_as(variant, version, Freshness::Remembered, Endpoints::of(variant, guards_endpoints));
    }

    fn insert_as(
        &mut self,
        variant: &Variant,
        version: Arc<str>,
        freshness: Freshness,
        endpoints: Endpoints,
    ) {
        let VariantKey { name, constraints } = variant.key();
        self.remove(variant.key());
        let validity = match variant.content() {
            content if content.do_not_cache => Validity::Uncacheable,
            content if content.ttl.is_some() => Validity::Limited,
            _ => Validity::Unlimited,
        };
        let held = UpstreamVariant {
            constraints: constraints.clone(),
            version,
            aliases: Arc::clone(&variant.content().aliases),
            validity,
            freshness,
            endpoints,
        };
        self.put(name, held);
    }

    /// Holds a variant of `name` that is not held.
    pub(super) fn put(&mut self, name: &Name, held: UpstreamVariant) {
        for alias in &*held.aliases {
            self.by_alias.entry(alias.clone()).or_default().insert(name.clone());
        }
        self.globs.insert(name);
        self.len += 1;
        self.remembered += usize::from(held.freshness == Freshness::Remembered);
        self.with_endpoints += usize::from(held.has_endpoints());
        // Most names have one variant.
        self.by_name.entry(name.clone()).or_insert_with(|| Vec::with_capacity(1)).push(held);
    }

    /// How many variants are held.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn remove(&mut self, key: &VariantKey) -> Option<UpstreamVariant> {
        let variants = self.by_name.get_mut(&key.name)?;
        let index = variants.iter().position(|held| held.constraints == key.constraints)?;
        let removed = variants.swap_remove(index);
        self.len -= 1;
        self.remembered -= usize::from(removed.freshness == Freshness::Remembered);
        self.with_endpoints -= usize::from(removed.has_endpoints());
        if variants.is_empty() {
            self.by_name.remove(&key.name);
            self.globs.remove(&key.name);
        }
        let still = self.variants(&key.name).iter().flat_map(|held| held.aliases.iter().cloned());
        let still: HashSet<Name> = still.collect();
        for alias in removed.aliases.iter().filter(|alias| !still.contains(*alias)) {
            if let Some(names) = self.by_alias.get_mut(alias) {
                names.remove(&key.name);
                if names.is_empty() {
                    self.by_alias.remove(alias);
                }
            }
        }
        Some(removed)
    }

    /// Notes that the server refreshes this variant, if it is held in a version that is `current`. Whether
    /// that is so.
    pub(super) fn refresh(&mut self, key: &VariantKey, current: impl Fn(&str) -> bool) -> bool {
        let mut variants = self.by_name.get_mut(&key.name).into_iter().flatten();
        let held = variants.find(|held| held.constraints == key.constraints && current(&held.version));
        held.map(|held| {
            self.remembered -= usize::from(held.freshness == Freshness::Remembered);
            held.freshness = Freshness::Confirmed;
            if held.validity == Validity::Unlimited {
                held.validity = Validity::Limited;
            }
        })
        .is_some()
    }

    /// Notes that the server knows this variant, though it has sent another content that clients are not sent.
    pub(super) fn confirm(&mut self, key: &VariantKey) {
        let mut variants = self.by_name.get_mut(&key.name).into_iter().flatten();
        if let Some(held) = variants.find(|held| held.constraints == key.constraints) {
            self.remembered -= usize::from(held.freshness == Freshness::Remembered);
            held.freshness = Freshness::Confirmed;
        }
    }

    /// How many assignments with endpoints are held.
    pub(super) fn with_endpoints(&self) -> usize {
        self.with_endpoints
    }

    /// Whether this is an assignment with endpoints.
    pub(super) fn has_endpoints(&self, key: &VariantKey) -> bool {
        let mut variants = self.variants(&key.name).iter();
        variants.any(|held| held.constraints == key.constraints && held.has_endpoints())
    }

    /// The content of an assignment with endpoints that another takes the place of, where it is kept.
    pub(super) fn assignment(&self, key: &VariantKey) -> Option<&Content> {
        let mut variants = self.variants(&key.name).iter();
        match &variants.find(|held| held.constraints == key.constraints)?.endpoints {
            Endpoints::Some(content) => content.as_deref(),
            Endpoints::None => None,
        }
    }

    /// How much no server has vouched for in this process.
    pub(super) fn remembered(&self) -> usize {
        self.remembered
    }

    /// Notes that the server knows what is held, and has not stated that it is gone.
    pub(super) fn vouch(&mut self) {
        if std::mem::take(&mut self.remembered) > 0 {
            let all = self.by_name.values_mut().flatten();
            let remembered = all.filter(|held| held.freshness == Freshness::Remembered);
            remembered.for_each(|held| held.freshness = Freshness::Before);
        }
    }

    /// Whether everything that is held may be stated.
    pub(super) fn is_statable(&self) -> bool {
        self.by_name.values().flatten().all(UpstreamVariant::is_statable)
    }

    /// Notes that what is held now is from an earlier stream.
    pub(super) fn close(&mut self) {
        let all = self.by_name.values_mut().flatten();
        let current = all.filter(|held| held.is_of_this_stream());
        current.for_each(|held| held.freshness = Freshness::Before);
    }

    /// Notes that what this one was sent for is not asked for any more.
    pub(super) fn orphan(&mut self, key: &VariantKey) {
        let mut variants = self.by_name.get_mut(&key.name).into_iter().flatten();
        let held = variants.find(|held| held.constraints == key.constraints);
        if let Some(held) = held.filter(|held| held.freshness == Freshness::Confirmed) {
            held.freshness = Freshness::Orphaned;
        }
    }

    pub(super) fn contains(&self, key: &VariantKey) -> bool {
        self.variants(&key.name).iter().any(|held| held.constraints == key.constraints)
    }

    /// Notes that versions of what is cached cannot be stated.
    pub(super) fn forget_versions(&mut self) {
        let nothing: Arc<str> = UNSTATABLE_VERSION.into();
        self.by_name.values_mut().flatten().for_each(|held| held.version = Arc::clone(&nothing));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// The variants of the resource called `name`.
    pub(super) fn variants(&self, name: &Name) -> &[UpstreamVariant] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    /// The variants that answer a locator of `name`: by their name, by an alias, or as part of a glob.
    pub(super) fn answering(&self, name: &Name) -> impl Iterator<Item = (&Name, &UpstreamVariant)> {
        let named = self.by_name.get_key_value(name).into_iter();
        let aliased = self.by_alias.get(name).into_iter().flatten();
        let aliased = aliased.filter(move |resource| *resource != name);
        let aliased = aliased.filter_map(|resource| self.by_name.get_key_value(resource)).filter(
            move |(_, variants)| variants.iter().any(|v| v.aliases.iter().any(|alias| alias == name)),
        );
        let named = named.chain(aliased).map(|(name, variants)| (name, variants.as_slice()));
        let all = named.chain(self.members(name));
        all.flat_map(|(name, variants)| variants.iter().map(move |held| (name, held)))
    }

    /// The held resources that belong to `glob`.
    pub(super) fn members(&self, glob: &Name) -> impl Iterator<Item = (&Name, &[UpstreamVariant])> {
        let members = self.globs.members(glob).filter_map(|member| self.by_name.get_key_value(member));
        members.map(|(name, variants)| (name, variants.as_slice()))
    }

    /// Every held variant, by name.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Name, &[UpstreamVariant])> {
        self.by_name.iter().map(|(name, variants)| (name, variants.as_slice()))
    }

    /// The keys of those variants that `is` true of.
    pub(super) fn keys(&self, mut is: impl FnMut(&Name, &UpstreamVariant) -> bool) -> Vec<VariantKey> {
        let all = self.iter().flat_map(|(name, variants)| variants.iter().map(move |held| (name, held)));
        let chosen = all.filter(|(name, held)| is(name, held));
        chosen.map(|(name, held)| held.key(name)).collect()
    }
}
