//! The database's views, as the stream machine sees them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::stream::Nack;
use weir_database::{Attachment, Away, Refused, Unsettled};
use weir_types::{Commit, Cursor, Head, Name, Selector, Subscription, TypeUrl};

use crate::beyond::Beyond;
use crate::error::StreamError;
use crate::session::Env;

/// What a client is sent for names that it does not get, beside what is true of the resources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tells {
    /// That nobody can be asked for them: they count as answered.
    pub(crate) away: bool,
    /// That they are beyond the limits. Who is not told has its stream ended.
    pub(crate) refused: bool,
}

/// One logical stream's place at a view.
pub struct Attached {
    place: Attachment,
    pub(crate) tells: Tells,
    beyond: Beyond,
}

impl Attached {
    /// What nobody can be asked for, as far as that is sent.
    fn told_away(&self, unsettled: Unsettled) -> Away {
        if self.tells.away { unsettled.away } else { Away::default() }
    }

    /// Where it is attached.
    pub fn place(&self) -> &Attachment {
        &self.place
    }

    /// What is refused for now, and why.
    pub(crate) fn refused(&self) -> impl Iterator<Item = (&Selector, Arc<str>)> {
        self.beyond.iter()
    }

    /// `selectors`, as the database knows them.
    pub(crate) fn placed<'a>(&self, selectors: &'a BTreeSet<Selector>) -> Cow<'a, BTreeSet<Selector>> {
        self.beyond.placed_set(selectors)
    }
}

/// Notes what is refused, where the client is sent that.
fn tolerate(tells: Tells, beyond: &mut Beyond, refused: &Refused) -> Result<(), StreamError> {
    match tells.refused {
        true => beyond.add(refused),
        false => Err(too_much(refused)),
    }
}

fn too_much(refused: &Refused) -> StreamError {
    StreamError::resource_exhausted(refused.to_string())
}

impl Attached {
    /// Subscribes to `add`.
    pub(crate) fn new(
        type_url: &TypeUrl,
        add: &[Selector],
        env: &Env<'_>,
        tells: Tells,
    ) -> Result<Self, StreamError> {
        let mut beyond = Beyond::default();
        let attach = |add: &[Selector]| env.database.attach(type_url, add, Arc::clone(env.subscriber));
        let place = match attach(add) {
            Ok(place) => place,
            Err(refused) => {
                tolerate(tells, &mut beyond, &refused)?;
                attach(&beyond.placed(add)).map_err(|refused| too_much(&refused))?
            }
        };
        beyond.settle(&[], place.subscription());
        Ok(Self { place, tells, beyond })
    }

    /// Everything that the client is subscribed to.
    pub fn subscription(&self) -> &Subscription {
        self.beyond.subscription().unwrap_or_else(|| self.place.subscription())
    }

    /// The newest commits that concern the subscription.
    pub(crate) fn head(&self) -> Head {
        self.place.head()
    }

    /// How many names, and how many collections, are not answered by upstream yet.
    pub(crate) fn unsettled(&self) -> (usize, usize) {
        let unsettled = self.place.unsettled();
        let away = self.told_away(unsettled);
        (unsettled.names.saturating_sub(away.names), unsettled.collections.saturating_sub(away.globs))
    }

    /// Of how many names upstream has only reported that it does not know for now. They are not among the unsettled.
    pub(crate) fn failing(&self) -> usize {
        let unsettled = self.place.unsettled();
        let away = self.told_away(unsettled);
        unsettled.failing + away.names + away.globs
    }

    /// How many collections upstream did not answer in time. They are not among the unsettled.
    pub(crate) fn unproved(&self) -> usize {
        self.place.unsettled().unproved
    }

    /// How many names are neither answered nor such that nobody can be asked for them.
    pub(crate) fn under_way(&self) -> usize {
        let unsettled = self.place.unsettled();
        unsettled.names.saturating_sub(unsettled.away.names)
    }

    /// How many of `names`, from the start, nothing has to be awaited for: they are answered, or not subscribed.
    pub(crate) fn settled_of(&self, names: &[Name]) -> usize {
        self.place.settled_of(names)
    }

    /// Those of `selectors`, which are subscribed, of which there is something.
    pub(crate) fn present_of(&self, selectors: Vec<Selector>) -> Vec<Selector> {
        self.place.present_of(selectors)
    }

    /// Up to where the client has been sent changes.
    pub(crate) fn cursor(&self) -> Cursor {
        self.place.cursor()
    }

    /// Notes that the client has been sent changes up to `cursor`.
    pub(crate) fn advance(&mut self, cursor: Cursor) {
        self.place.advance(cursor);
    }

    /// Subscribes to `add` and no longer to `remove`; nothing changes on refusal.
    pub(crate) fn change(&mut self, add: &[Selector], remove: &[Selector]) -> Result<(), StreamError> {
        let gone = self.beyond.placed(remove);
        if let Err(refused) = self.place.change(add, &gone) {
            tolerate(self.tells, &mut self.beyond, &refused)?;
            // What others take meanwhile ends the stream, as anything that cannot be told by name.
            let placed = self.beyond.placed(add);
            self.place.change(&placed, &gone).map_err(|refused| too_much(&refused))?;
        }
        self.beyond.settle(remove, self.place.subscription());
        Ok(())
    }

    /// Notes that the client asks again for `again`, which it is subscribed to: what must not be cached has to be fetched
    /// anew.
    pub(crate) fn ask_again(&mut self, again: &[Selector]) -> Result<(), StreamError> {
        let here: Vec<_> = again.iter().filter(|selector| !self.beyond.contains(selector)).cloned().collect();
        self.place.ask_again(&here).map_err(|refused| too_much(&refused))
    }

    /// Subscribes to what could not be subscribed to when it was asked for, and for which an error stands, as far as it can
    /// be now. Returns what that is.
    pub(crate) fn retry(&mut self) -> Vec<Selector> {
        let mut now = self.beyond.refused();
        if now.is_empty() {
            return now;
        }
        if let Err(refused) = self.place.retry(&now, &self.beyond.placed(&now)) {
            now.retain(|selector| !refused.0.iter().any(|(still, _)| still == selector));
            // What others have taken meanwhile is for the next time.
            if now.is_empty() || self.place.retry(&now, &self.beyond.placed(&now)).is_err() {
                return Vec::new();
            }
        }
        self.beyond.settle(&now, self.place.subscription());
        now
    }

    /// Notes that the client has accepted, or rejected, what it was sent up to `to`; also when it had to be sent nothing.
    pub(crate) fn answer(&mut self, to: Commit, rejection: Option<&Nack>) {
        self.place.answer(to, rejection.map(|nack| nack.message.as_str()));
    }
}
