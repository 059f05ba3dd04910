//! What a view asks for, to find what it shows for several reasons.

use std::collections::HashMap;
use std::sync::Arc;

use weir_types::xdstp::collections_of;
use weir_types::{Form, Lease, Name, Variant};

use super::identity;
use crate::selection::Selection;
use crate::type_cache::TypeCache;
use crate::view::View;

/// What a view asks for, by name, to find what it shows for several reasons. For the client that is one resource,
/// which lives for as long as it was sent last.
pub(super) struct Reasons<'a> {
    cache: &'a TypeCache,
    asked: HashMap<&'a Name, Vec<(Form, &'a Selection)>>,
}

impl<'a> Reasons<'a> {
    pub(super) fn of(cache: &'a TypeCache, view: &'a View) -> Self {
        let mut asked: HashMap<&Name, Vec<_>> = HashMap::new();
        for (selector, id) in &*view.selections {
            let of_name = asked.entry(&selector.locator.name).or_default();
            of_name.push((selector.form, &cache.selections[*id]));
        }
        Self { cache, asked }
    }

    /// Of what is shown in `form` and is what `variant` is: that which lives longest.
    pub(super) fn longest(&self, variant: &'a Arc<Variant>, form: Form) -> &'a Arc<Variant> {
        let name = variant.name();
        let same = |other: &&Arc<Variant>| {
            identity(other, form) == identity(variant, form) && other.version(form) == variant.version(form)
        };
        let names = self.cache.variants.aliases_of(name).chain([name]).cloned().chain(collections_of(name));
        let asking = names.filter_map(|asked| self.asked.get(&asked)).flatten();
        let shown = asking.filter(|(asked, _)| *asked == form).filter_map(|(_, s)| s.members.shown(name));
        shown.filter(same).max_by_key(|other| other.lease().as_ref().map(Lease::until)).unwrap_or(variant)
    }
}
