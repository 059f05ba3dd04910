//! The database's views, as the stream machine sees them.

use std::sync::Arc;

use weir_database::{Attachment, Database, Subscriber};
use weir_protocol::server::{Nack, Refused, View, Views};
use weir_types::{Commit, Cursor, Head, Selector, Subscription, TypeUrl};

use crate::access::Rights;

/// One logical stream's place at a view.
pub struct Attached {
    pub(crate) place: Attachment,
    type_url: TypeUrl,
    rights: Rights,
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
        (unsettled.names, unsettled.collections)
    }

    fn failing(&self) -> usize {
        self.place.unsettled().failing
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
}

impl Views for Attacher<'_> {
    type View = Attached;

    fn attach(&mut self, type_url: &TypeUrl, add: &[Selector]) -> Result<Attached, Refused> {
        self.rights.admit(type_url, add)?;
        let place = self.database.attach(type_url, add, Arc::clone(self.subscriber));
        let place = place.map_err(|refusal| Refused::TooMuch(refusal.to_string()))?;
        Ok(Attached { place, type_url: type_url.clone(), rights: self.rights.clone() })
    }
}
