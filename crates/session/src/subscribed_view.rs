//! The database's views, as the stream machine sees them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use weir_database::{Refused, UnavailableCounts, Unsettled, ViewHandle};
use weir_types::{Commit, Cursor, Head, Name, Selector, Subscription, TypeUrl};

use crate::error::StreamError;
use crate::refused_names::RefusedNames;
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

/// The view of the database that one type of a stream is subscribed to, and what is refused of the subscription.
pub struct SubscribedView {
    attachment: ViewHandle,
    pub(crate) errors: NameErrors,
    refused_names: RefusedNames,
}

impl SubscribedView {
    /// Subscribes to `add`.
    pub(crate) fn new(
        type_url: &TypeUrl,
        add: &[Selector],
        env: &Env<'_>,
        errors: NameErrors,
    ) -> Result<Self, StreamError> {
        let mut refused_names = RefusedNames::default();
        let attach = |add: &[Selector]| env.database.attach(type_url, add, Arc::clone(env.subscriber));
        let attachment = match attach(add) {
            Ok(attachment) => attachment,
            Err(refused) => {
                tolerate(errors, &mut refused_names, &refused)?;
                attach(&refused_names.placed(add)).map_err(|refused| too_much(&refused))?
            }
        };
        refused_names.settle(&[], attachment.subscription());
        Ok(Self { attachment, errors, refused_names })
    }

    /// What nobody can be asked for, as far as that is sent.
    fn sent_as_unavailable(&self, unsettled: Unsettled) -> UnavailableCounts {
        if self.errors.unavailable { unsettled.unavailable } else { UnavailableCounts::default() }
    }

    /// Where it is attached.
    pub fn attachment(&self) -> &ViewHandle {
        &self.attachment
    }

    /// What is refused for now, and why.
    pub(crate) fn refused(&self) -> impl Iterator<Item = (&Selector, Arc<str>)> {
        self.refused_names.iter()
    }

    /// `selectors`, as the database knows them.
    pub(crate) fn placed<'a>(&self, selectors: &'a BTreeSet<Selector>) -> Cow<'a, BTreeSet<Selector>> {
        self.refused_names.placed_set(selectors)
    }

    /// Everything that the client is subscribed to.
    pub fn subscription(&self) -> &Subscription {
        self.refused_names.subscription().unwrap_or_else(|| self.attachment.subscription())
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

    /// Up to where the client has been sent changes.
    pub(crate) fn cursor(&self) -> Cursor {
        self.attachment.cursor()
    }

    /// Notes that the client has been sent changes up to `cursor`.
    pub(crate) fn advance(&mut self, cursor: Cursor) {
        self.attachment.advance(cursor);
    }

    /// Subscribes to `add` and no longer to `remove`; nothing changes on refusal.
    pub(crate) fn change(&mut self, add: &[Selector], remove: &[Selector]) -> Result<(), StreamError> {
        let gone = self.refused_names.placed(remove);
        if let Err(refused) = self.attachment.change(add, &gone) {
            tolerate(self.errors, &mut self.refused_names, &refused)?;
            // What others take meanwhile ends the stream, as anything that has no error of a name.
            let placed = self.refused_names.placed(add);
            self.attachment.change(&placed, &gone).map_err(|refused| too_much(&refused))?;
        }
        self.refused_names.settle(remove, self.attachment.subscription());
        Ok(())
    }

    /// Notes that the client asks again for `again`, which it is subscribed to: what must not be cached has to be fetched
    /// anew.
    pub(crate) fn ask_again(&mut self, again: &[Selector]) -> Result<(), StreamError> {
        let here: Vec<_> =
            again.iter().filter(|selector| !self.refused_names.contains(selector)).cloned().collect();
        self.attachment.ask_again(&here).map_err(|refused| too_much(&refused))
    }

    /// Subscribes to what could not be subscribed to when it was asked for, and for which an error stands, as far as it can
    /// be now. Returns what that is.
    pub(crate) fn retry(&mut self) -> Vec<Selector> {
        let mut now = self.refused_names.refused();
        if now.is_empty() {
            return now;
        }
        if let Err(refused) = self.attachment.retry(&now, &self.refused_names.placed(&now)) {
            now.retain(|selector| !refused.0.iter().any(|(still, _)| still == selector));
            // What others have taken meanwhile is for the next time.
            if now.is_empty() || self.attachment.retry(&now, &self.refused_names.placed(&now)).is_err() {
                return Vec::new();
            }
        }
        self.refused_names.settle(&now, self.attachment.subscription());
        now
    }

    /// Notes that the client has accepted, or rejected, what it was sent up to `to`; also when it had to be sent nothing.
    pub(crate) fn answer(&mut self, to: Commit, rejection: Option<&Nack>) {
        self.attachment.answer(to, rejection.map(|nack| nack.message.as_str()));
    }
}

/// Notes what is refused, where the client is sent that.
fn tolerate(
    errors: NameErrors,
    refused_names: &mut RefusedNames,
    refused: &Refused,
) -> Result<(), StreamError> {
    match errors.refused {
        true => refused_names.add(refused),
        false => Err(too_much(refused)),
    }
}

fn too_much(refused: &Refused) -> StreamError {
    StreamError::resource_exhausted(refused.to_string())
}
