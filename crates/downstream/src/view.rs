//! The database's views, as the stream machine sees them.

use std::sync::Arc;

use weir_database::{Attachment, Away, Database, Subscriber, Unsettled};
use weir_protocol::server::{Nack, Refused, View, Views};
use weir_types::{Commit, Cursor, Head, Selector, Subscription, TypeUrl};

use crate::access::Rights;

/// One logical stream's place at a view.
pub struct Attached {
    pub(crate) place: Attachment,
    type_url: TypeUrl,
    rights: Rights,
    /// Whether names that nobody can be asked for count as answered: that is told.
    pub(crate) tells_away: bool,
}

impl Attached {
    /// What nobody can be asked for, as far as that is told.
    fn told_away(&self, unsettled: Unsettled) -> Away {
        if self.tells_away { unsettled.away } else { Away::default() }
    }
}

impl View for Attached {
    fn subscription(&self) -> &Subscription {
        self.place.subscription()
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

    fn cursor(&self) -> Cursor {
        self.place.cursor()
    }

    fn advance(&mut self, cursor: Cursor) {
        self.place.advance(cursor);
    }

    fn change(&mut self, add: &[Selector], remove: &[Selector]) -> Result<(), Refused> {
        self.rights.admit(&self.type_url, add)?;
        self.place.change(add, remove).map_err(|refusal| Refused::TooMuch(refusal.to_string()))
    }

    fn ask_again(&mut self, again: &[Selector]) -> Result<(), Refused> {
        self.place.ask_again(again).map_err(|refusal| Refused::TooMuch(refusal.to_string()))
    }

    fn answer(&mut self, to: Commit, rejection: Option<&Nack>) {
        self.place.answer(to, rejection.map(|nack| nack.message.as_str()));
    }
}

/// Attaches the logical streams of one stream.
pub struct Attacher<'a> {
    /// What there is to attach to.
    pub database: &'a Database,
    /// Who is woken by changes.
    pub subscriber: &'a Arc<dyn Subscriber>,
    /// What it may subscribe to.
    pub rights: &'a Rights,
    /// Whether it is told of names that nobody can be asked for.
    pub tells_away: bool,
}

impl Views for Attacher<'_> {
    type View = Attached;

    fn attach(&mut self, type_url: &TypeUrl, add: &[Selector]) -> Result<Attached, Refused> {
        self.rights.admit(type_url, add)?;
        let place = self.database.attach(type_url, add, Arc::clone(self.subscriber));
        let place = place.map_err(|refusal| Refused::TooMuch(refusal.to_string()))?;
        let (type_url, rights) = (type_url.clone(), self.rights.clone());
        Ok(Attached { place, type_url, rights, tells_away: self.tells_away })
    }
}
