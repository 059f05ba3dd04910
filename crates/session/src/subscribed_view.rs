//! The database's views, as the stream machine sees them.

use std::sync::Arc;

use weir_database::{MOST_REFUSED, Refused, UnavailableCounts, Unsettled, ViewHandle};
use weir_types::{
    Commit, Cursor, Head, Name, RefusalReason, Refusals, Selector, Subscription, SubscriptionChange, TypeUrl,
};

use crate::error::StreamError;
use crate::session::Env;
use crate::stream::Nack;

/// Which errors of single names a client is sent, beside those of the resources themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NameErrors {
    /// That no control plane can be asked for a name, which then counts as answered.
    pub(crate) unavailable: bool,
    /// That a name is beyond the limits. The stream of a client that is not sent that ends.
    pub(crate) refused: bool,
}

/// The view of the database that one type of a stream is subscribed to.
pub struct SubscribedView {
    attachment: ViewHandle,
    pub(crate) errors: NameErrors,
}

impl SubscribedView {
    /// Subscribes to `add`, of which the client may not have what is `denied`.
    pub(crate) fn new(
        type_url: &TypeUrl,
        add: &[Selector],
        denied: &Refusals,
        env: &Env<'_>,
        errors: NameErrors,
    ) -> Result<Self, StreamError> {
        let change = SubscriptionChange { add, remove: &[], refused: denied };
        let attach = |change: SubscriptionChange<'_>| {
            env.database.attach(type_url, change, Arc::clone(env.subscriber))
        };
        let attachment = attach(change).or_else(|refused| {
            let refused = with_refused(denied, &refused, errors, 0)?;
            attach(SubscriptionChange { refused: &refused, ..change }).map_err(|refused| too_much(&refused))
        })?;
        Ok(Self { attachment, errors })
    }

    /// What nobody can be asked for, as far as that is sent.
    fn sent_as_unavailable(&self, unsettled: Unsettled) -> UnavailableCounts {
        if self.errors.unavailable { unsettled.unavailable } else { UnavailableCounts::default() }
    }

    /// Where it is attached.
    pub fn attachment(&self) -> &ViewHandle {
        &self.attachment
    }

    /// What is beyond the limits for now, and which limit that is.
    pub(crate) fn over_limit(&self) -> impl Iterator<Item = (&Selector, &Arc<str>)> {
        let some = self.attachment.barred().exhausted > 0;
        let refused = some.then(|| self.subscription().refused()).into_iter().flatten();
        refused.filter_map(|(selector, reason)| match reason {
            RefusalReason::OverLimit(why) => Some((selector, why)),
            RefusalReason::Denied => None,
        })
    }

    /// Everything that the client is subscribed to.
    pub fn subscription(&self) -> &Subscription {
        self.attachment.subscription()
    }

    /// The newest commits that concern the subscription.
    pub(crate) fn head(&self) -> Head {
        self.attachment.head()
    }

    /// How many names, and how many collections, are not answered by upstream yet.
    pub(crate) fn unsettled(&self) -> (usize, usize) {
        let unsettled = self.attachment.unsettled();
        let unavailable = self.sent_as_unavailable(unsettled);
        (
            unsettled.names.saturating_sub(unavailable.names),
            unsettled.collections.saturating_sub(unavailable.globs),
        )
    }

    /// Of how many names upstream has only reported that it does not know for now. They are not among the unsettled.
    pub(crate) fn failing(&self) -> usize {
        let unsettled = self.attachment.unsettled();
        let unavailable = self.sent_as_unavailable(unsettled);
        unsettled.failing + unavailable.names + unavailable.globs
    }

    /// How many collections upstream did not answer in time. They are not among the unsettled.
    pub(crate) fn unproved(&self) -> usize {
        self.attachment.unsettled().unproved
    }

    /// How many names are neither answered nor such that nobody can be asked for them.
    pub(crate) fn under_way(&self) -> usize {
        let unsettled = self.attachment.unsettled();
        unsettled.names.saturating_sub(unsettled.unavailable.names)
    }

    /// How many of `names`, from the start, nothing has to be awaited for: they are answered, or not subscribed.
    pub(crate) fn settled_of(&self, names: &[Name]) -> usize {
        self.attachment.settled_of(names)
    }

    /// Those of `selectors`, which are subscribed, of which there is something.
    pub(crate) fn present_of(&self, selectors: Vec<Selector>) -> Vec<Selector> {
        self.attachment.present_of(selectors)
    }

    /// Whether names that the client asked for are gone, and it has not been sent that.
    pub(crate) fn loses_names(&self) -> bool {
        self.attachment.loses_names()
    }

    /// Up to where the client has been sent changes.
    pub(crate) fn cursor(&self) -> Cursor {
        self.attachment.cursor()
    }

    /// Notes that the client has been sent changes up to `cursor`.
    pub(crate) fn advance(&mut self, cursor: Cursor) {
        self.attachment.advance(cursor);
    }

    /// Changes what is subscribed to; nothing changes on refusal.
    pub(crate) fn change(&mut self, change: SubscriptionChange<'_>) -> Result<(), StreamError> {
        let Err(refused) = self.attachment.change(change) else { return Ok(()) };
        let refused = with_refused(change.refused, &refused, self.errors, self.over_limit().count())?;
        // What others take meanwhile ends the stream, as anything that has no error of a name.
        let change = SubscriptionChange { refused: &refused, ..change };
        self.attachment.change(change).map_err(|refused| too_much(&refused))
    }

    /// Notes that the client asks again for `again`, which it is subscribed to: what must not be cached has to be fetched
    /// anew.
    pub(crate) fn ask_again(&mut self, again: &[Selector]) -> Result<(), StreamError> {
        let is_accepted = |selector: &&Selector| self.subscription().refusal(selector).is_none();
        let accepted: Vec<_> = again.iter().filter(is_accepted).cloned().collect();
        self.attachment.ask_again(&accepted).map_err(|refused| too_much(&refused))
    }

    /// Subscribes to what is beyond the limits, as far as it is so no longer. Returns what that is.
    pub(crate) fn retry(&mut self) -> Vec<Selector> {
        let mut now: Vec<_> = self.over_limit().map(|(selector, _)| selector.clone()).collect();
        if now.is_empty() {
            return now;
        }
        if let Err(refused) = self.attachment.retry(&now) {
            now.retain(|selector| !refused.0.iter().any(|(still, _)| still == selector));
            // What others have taken meanwhile is for the next time.
            if now.is_empty() || self.attachment.retry(&now).is_err() {
                return Vec::new();
            }
        }
        now
    }

    /// Notes that the client has accepted, or rejected, what it was sent up to `to`; also when it had to be sent nothing.
    pub(crate) fn answer(&mut self, to: Commit, rejection: Option<&Nack>) {
        self.attachment.answer(to, rejection.map(|nack| nack.message.as_str()));
    }
}

/// What is `denied`, and what the database has `refused` of the same change, to a client that has `over_limit` names
/// beyond the limits already.
///
/// # Errors
/// Where the client is not sent an error of a name for it, or there is none: there is too much of it, or a wildcard.
fn with_refused(
    denied: &Refusals,
    refused: &Refused,
    errors: NameErrors,
    over_limit: usize,
) -> Result<Refusals, StreamError> {
    let has_wildcard = refused.0.iter().any(|(selector, _)| selector.locator.is_wildcard());
    if !errors.refused || has_wildcard || over_limit + refused.0.len() > MOST_REFUSED {
        return Err(too_much(refused));
    }
    let over = |(selector, limit): &(Selector, _)| {
        (selector.clone(), RefusalReason::OverLimit(ToString::to_string(limit).into()))
    };
    Ok(denied.clone().into_iter().chain(refused.0.iter().map(over)).collect())
}

fn too_much(refused: &Refused) -> StreamError {
    StreamError::resource_exhausted(refused.to_string())
}
