//! What is asked for by those who may not have it, or for whom it would be too much.
//!
//! A locator that is refused has a selection, shared by all who are refused the same, so that a stream is sent the
//! refusal as any error of a resource. But nothing is ever selected for it, upstream is not asked, and what upstream
//! states of the name does not reach it.

use std::sync::Arc;

use weir_types::{Absence, Code, Commit, RefusalReason, ResourceError, ResourceLocator};

use crate::selection::Selection;

/// The message that clients are sent.
const WHY: &str = "the access rules of this proxy do not give it to this client";

/// The selection of all who are refused `locator` for `reason`: of nothing, with an error that states why.
pub(super) fn selection(locator: &ResourceLocator, reason: &RefusalReason, at: Commit) -> Selection {
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
