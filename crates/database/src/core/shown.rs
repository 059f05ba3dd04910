//! Everything that a view shows, to look up.

use std::collections::HashSet;

use weir_types::{Form, Name, VariantKey};

use super::Core;
use crate::selection::Selection;
use crate::view::View;

/// Everything that a view shows, to look up.
pub(super) struct Shown<'a> {
    wildcards: Vec<(Form, &'a Selection)>,
    plain: HashSet<&'a Name>,
    located: HashSet<&'a VariantKey>,
}

impl<'a> Shown<'a> {
    pub(super) fn of(core: &'a Core, view: &View) -> Self {
        let mut shown = Self { wildcards: Vec::new(), plain: HashSet::new(), located: HashSet::new() };
        for (selector, id) in &view.selections {
            let selection = &core.selections[id.0];
            match selector.form {
                form if selector.locator.is_wildcard() => shown.wildcards.push((form, selection)),
                Form::Plain => shown.plain.extend(selection.live().map(|member| member.variant.name())),
                Form::Located => shown.located.extend(selection.live().map(|member| member.variant.key())),
            }
        }
        shown
    }

    pub(super) fn by_plain_name(&self, name: &Name) -> bool {
        let mut plain = self.wildcards.iter().filter(|(form, _)| *form == Form::Plain);
        self.plain.contains(name) || plain.any(|(_, selection)| selection.shows(name))
    }

    pub(super) fn located(&self, key: &VariantKey) -> bool {
        let mut located = self.wildcards.iter().filter(|(form, _)| *form == Form::Located);
        self.located.contains(key) || located.any(|(_, selection)| selection.has(key))
    }

    pub(super) fn any_of(&self, name: &Name) -> bool {
        self.plain.contains(name)
            || self.wildcards.iter().any(|(_, selection)| selection.shows(name))
            || self.located.iter().any(|key| key.name == *name)
    }
}
