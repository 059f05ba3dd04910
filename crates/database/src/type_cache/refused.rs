//! What is asked for by those who may not have it, or for whom it would be too much.
//!
//! A locator that is refused has a selection, shared by all who are refused the same, so that a stream is sent the
//! refusal as any error of a resource. But nothing is ever selected for it, upstream is not asked, and what upstream
//! states of the name does not reach it.

use std::sync::Arc;

use weir_types::{Absence, Code, Commit, RefusalReason, ResourceError, ResourceLocator};

use super::TypeCache;
use crate::selection::Selection;
use crate::view::SelectionId;

/// The message that clients are sent.
const WHY: &str = "the access rules of this proxy do not give it to this client";

impl TypeCache {
    /// The selection of those who are refused `locator` for `reason`. A new one is idle until a view contains it.
    pub(super) fn ensure_refused(
        &mut self,
        locator: &ResourceLocator,
        reason: &RefusalReason,
    ) -> SelectionId {
        let known = self.selections.find_refused(locator, reason);
        known.unwrap_or_else(|| self.selections.add(refused(locator, reason, self.last)))
    }
}

/// A selection of nothing, with an error that states why.
fn refused(locator: &ResourceLocator, reason: &RefusalReason, at: Commit) -> Selection {
    let mut selection = Selection::new(locator.clone(), 0);
    selection.refusal = Some(reason.clone());
    let error = match reason {
        RefusalReason::Denied => ResourceError::new(Code::PERMISSION_DENIED, WHY),
        // That passes, and means nothing for the resource.
        RefusalReason::OverLimit(why) => ResourceError::new(Code::RESOURCE_EXHAUSTED, Arc::clone(why)),
    };
    if selection.is_collection() {
        selection.mark_answered(Absence::Known, at);
    } else if !error.code.is_transient() {
        selection.mark_absent(Absence::Known, at);
    }
    selection.fail(&Arc::new(error), at);
    selection
}
