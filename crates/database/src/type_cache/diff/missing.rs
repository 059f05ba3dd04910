//! Names that nothing answers, and how a client is sent that.
//!
//! A client that asks for a virtual host by its plain name takes only a resource without a body for the answer that it
//! does not exist: any other answer leaves the request for which it asked waiting. Everything else is a removal.

use std::sync::Arc;

use weir_types::{Form, Kind, Name, Variant};

use super::DiffBuilder;
use super::query::Removed;
use crate::selection::Selection;

impl<'a> DiffBuilder<'a> {
    /// Answers a subscription to `name` in `form`, which nothing matches. A client that states to hold the resource is
    /// sent its removal.
    pub(super) fn answer_missing(&mut self, name: &'a Name, form: Form) {
        if self.takes_missing(form) && !self.is_claimed(name) {
            self.missing.insert(name);
        } else {
            self.removed.insert(Removed::absent(name, form));
        }
    }

    /// Answers a subscription with an error that lasts, where an error alone would leave the client waiting.
    pub(super) fn answer_error(&mut self, form: Form, selection: &'a Selection) {
        let lasting = selection.failure().is_some_and(|failure| !failure.error.code.is_transient());
        let name = &selection.locator.name;
        if lasting && selection.members.is_empty() && self.takes_missing(form) && !self.is_claimed(name) {
            self.missing.insert(name);
        }
    }

    /// Whether the client states that it received the answer already.
    pub(super) fn knows_missing(&self, name: &Name, form: Form) -> bool {
        self.takes_missing(form) && self.query.known.is_some_and(|known| known.is_missing(name))
    }

    /// Whether the client takes resources without a body.
    fn takes_missing(&self, form: Form) -> bool {
        self.query.marks_missing && form == Form::Plain && self.cache.type_url.kind() == Kind::VirtualHost
    }
}

/// The resources without a body for `names`, as they are sent.
pub(super) fn resources<'a>(
    names: impl Iterator<Item = &'a Name>,
) -> impl Iterator<Item = (Arc<Variant>, Form)> {
    names.map(|name| (Arc::new(Variant::missing(name)), Form::Plain))
}
