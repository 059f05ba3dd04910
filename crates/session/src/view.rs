//! The database's views, as the stream machine sees them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::stream::{Nack, Refused, View, Views};
use weir_database::{Attachment, Away, Database, Subscriber, Unsettled};
use weir_types::{Commit, Cursor, Head, Name, Selector, Subscription, TypeUrl};

use crate::beyond::Beyond;

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

/// Notes what is refused, where the client is told.
fn tolerate(tells: Tells, beyond: &mut Beyond, refused: &weir_database::Refused) -> Result<(), Refused> {
    match tells.refused {
        true => beyond.add(refused),
        false => Err(Refused::TooMuch(refused.to_string())),
    }
}

impl View for Attached {
    fn subscription(&self) -> &Subscription {
        self.beyond.subscription().unwrap_or_else(|| self.place.subscription())
    }

    fn head(&self) -> Head {
        self.place.head()
    }

    fn unsettled(&self) -> (usize, usize) {
        let unsettled = self.place.unsettled();
        let away = self.told_away(unsettled);
        (unsettled.names.saturating_sub(away.names), unsettled.collections.saturating_sub(away.globs))
    }

    fn failing(&self) -> usize {
        let unsettled = self.place.unsettled();
        let away = self.told_away(unsettled);
        unsettled.failing + away.names + away.globs
    }

    fn unproved(&self) -> usize {
        self.place.unsettled().unproved
    }

    fn under_way(&self) -> usize {
        let unsettled = self.place.unsettled();
        unsettled.names.saturating_sub(unsettled.away.names)
    }

    fn settled_of(&self, names: &[Name]) -> usize {
        self.place.settled_of(names)
    }

    fn present_of(&self, selectors: Vec<Selector>) -> Vec<Selector> {
        self.place.present_of(selectors)
    }

    fn cursor(&self) -> Cursor {
        self.place.cursor()
    }

    fn advance(&mut self, cursor: Cursor) {
        self.place.advance(cursor);
    }

    fn change(&mut self, add: &[Selector], remove: &[Selector]) -> Result<(), Refused> {
        let gone = self.beyond.placed(remove);
        if let Err(refused) = self.place.change(add, &gone) {
            tolerate(self.tells, &mut self.beyond, &refused)?;
            // What others take meanwhile ends the stream, as anything that cannot be told by name.
            let placed = self.beyond.placed(add);
            self.place.change(&placed, &gone).map_err(|refused| Refused::TooMuch(refused.to_string()))?;
        }
        self.beyond.settle(remove, self.place.subscription());
        Ok(())
    }

    fn ask_again(&mut self, again: &[Selector]) -> Result<(), Refused> {
        let here: Vec<_> = again.iter().filter(|selector| !self.beyond.contains(selector)).cloned().collect();
        self.place.ask_again(&here).map_err(|refused| Refused::TooMuch(refused.to_string()))
    }

    fn retry(&mut self) -> Vec<Selector> {
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

    fn answer(&mut self, to: Commit, rejection: Option<&Nack>) {
        self.place.answer(to, rejection.map(|nack| nack.message.as_str()));
    }
}

/// Attaches the logical streams of one stream.
pub(crate) struct Attacher<'a> {
    /// What there is to attach to.
    pub(crate) database: &'a Database,
    /// Who is woken by changes.
    pub(crate) subscriber: &'a Arc<dyn Subscriber>,
    /// What it is told of names that it does not get.
    pub(crate) tells: Tells,
}

impl Views for Attacher<'_> {
    type View = Attached;

    fn attach(&mut self, type_url: &TypeUrl, add: &[Selector]) -> Result<Attached, Refused> {
        let mut beyond = Beyond::default();
        let attach = |add: &[Selector]| self.database.attach(type_url, add, Arc::clone(self.subscriber));
        let place = match attach(add) {
            Ok(place) => place,
            Err(refused) => {
                tolerate(self.tells, &mut beyond, &refused)?;
                attach(&beyond.placed(add)).map_err(|refused| Refused::TooMuch(refused.to_string()))?
            }
        };
        beyond.settle(&[], place.subscription());
        Ok(Attached { place, tells: self.tells, beyond })
    }
}
