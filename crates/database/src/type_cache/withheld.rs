//! What is asked for by those who may not have it, or for whom it would be too much.
//!
//! Such a locator has a selection like any other, shared by all who are refused the same, so that a stream is sent
//! the refusal as of any error of a resource. But nothing is ever selected for it, upstream is not asked, and what
//! upstream states of the name does not reach it.

use std::sync::Arc;

use weir_types::{Absence, Code, ResourceError, ResourceLocator, Withheld};

use super::TypeCache;
use crate::selection::Selection;
use crate::view::SelectionId;

/// The message that clients are sent.
const WHY: &str = "the access rules of this proxy do not give it to this client";

impl TypeCache {
    /// A new selection, of nothing, and an error that states why.
    pub(super) fn withhold(&mut self, locator: &ResourceLocator) -> SelectionId {
        let (mut selection, at) = (Selection::new(locator.clone(), 0), self.last);
        let error = match locator.parameters.why_withheld() {
            // That passes, and means nothing for the resource.
            Some(Withheld::Exhausted(why)) => ResourceError::new(Code::RESOURCE_EXHAUSTED, Arc::clone(why)),
            _ => ResourceError::new(Code::PERMISSION_DENIED, WHY),
        };
        if selection.is_collection() {
            selection.mark_answered(Absence::Known, at);
        } else if !error.code.is_transient() {
            selection.mark_absent(Absence::Known, at);
        }
        selection.fail(&Arc::new(error), at);
        self.selections.add(selection)
    }
}
