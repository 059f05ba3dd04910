//! Everything that a view shows, to look up.

use std::collections::{BTreeSet, HashMap, HashSet};

use weir_types::xdstp::collections_of;
use weir_types::{Form, Name, Selector, VariantKey};

use crate::selection::Selection;
use crate::type_cache::TypeCache;
use crate::view::View;

/// Everything that a view shows, to look up.
#[derive(Default)]
pub(crate) struct VisibleSet<'a> {
    collections: HashMap<&'a Name, Vec<(Form, &'a Selection)>>,
    plain: HashSet<&'a Name>,
    located: HashSet<&'a VariantKey>,
    /// The names of `located`.
    located_names: HashSet<&'a Name>,
    /// The names that are asked for by locator.
    located_asked: HashSet<&'a Name>,
}

impl<'a> VisibleSet<'a> {
    pub(super) fn of(cache: &'a TypeCache, view: &'a View) -> Self {
        let mut shown = Self::default();
        for (selector, id) in &*view.selections {
            shown.add(selector, &cache.selections[*id]);
        }
        shown
    }

    /// As far as it concerns `names`: their selections are looked up where that is less than all of the view.
    pub(super) fn of_names(cache: &'a TypeCache, view: &'a View, names: &BTreeSet<&'a Name>) -> Self {
        let table = &cache.selections;
        let sets = |name: &'a Name| table.of_name(name).into_iter().chain(table.collecting_sets(name));
        let size: usize = names.iter().flat_map(|name| sets(name)).map(|set| set.len()).sum();
        // Under another name, or after the variants have gone, a resource may be shown that is not found by its name.
        if size >= view.selections.len() || cache.variants.has_aliases() || cache.has_uncacheable {
            return Self::of(cache, view);
        }
        let mut shown = Self::default();
        let ids: BTreeSet<_> = names.iter().flat_map(|name| sets(name)).flat_map(|set| set.iter()).collect();
        for (_, id) in ids {
            for form in [Form::Plain, Form::Located] {
                let selector = Selector { locator: table[id].locator.clone(), form };
                if let Some((selector, _)) =
                    view.selections.get_key_value(&selector).filter(|(_, of)| **of == id)
                {
                    shown.add(selector, &table[id]);
                }
            }
        }
        shown
    }

    fn add(&mut self, selector: &'a Selector, selection: &'a Selection) {
        match selector.form {
            form if selection.is_collection() => {
                let of_name = self.collections.entry(&selector.locator.name).or_default();
                of_name.push((form, selection));
            }
            Form::Plain => self.plain.extend(selection.members.live().map(|member| member.variant.name())),
            Form::Located => {
                self.located_asked.insert(&selector.locator.name);
                let keys = || selection.members.live().map(|member| member.variant.key());
                self.located.extend(keys());
                self.located_names.extend(keys().map(|key| &key.name));
            }
        }
    }

    pub(super) fn by_plain_name(&self, name: &Name) -> bool {
        let collected =
            || self.collecting(name).any(|(form, s)| form == Form::Plain && s.members.shows(name));
        self.plain.contains(name) || collected()
    }

    pub(super) fn located(&self, key: &VariantKey) -> bool {
        let collected =
            || self.collecting(&key.name).any(|(form, s)| form == Form::Located && s.members.has(key));
        self.located.contains(key) || collected()
    }

    /// Whether a locator of this name is subscribed, be there something or not.
    pub(super) fn is_asked_by_locator(&self, name: &Name) -> bool {
        self.located_asked.contains(name)
    }

    pub(super) fn any_of(&self, name: &Name) -> bool {
        self.plain.contains(name)
            || self.collecting(name).any(|(_, selection)| selection.members.shows(name))
            || self.located_names.contains(name)
    }

    /// The collections that the resource `name` may be part of.
    pub(super) fn collecting(&self, name: &Name) -> impl Iterator<Item = (Form, &'a Selection)> {
        collections_of(name).filter_map(|name| self.collections.get(&name)).flatten().copied()
    }
}
