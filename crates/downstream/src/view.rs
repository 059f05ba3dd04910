//! The database's views, as the stream machine sees them.

use std::sync::Arc;

use weir_database::{Attachment, Database, Subscriber};
use weir_protocol::server::{Nack, Refused, View, Views};
use weir_types::{Commit, Cursor, Head, Selector, Subscription, TypeUrl};

/// One logical stream's place at a view.
pub struct Attached(pub(crate) Attachment);

impl View for Attached {
    fn subscription(&self) -> &Subscription {
        self.0.subscription()
    }

    fn head(&self) -> Head {
        self.0.head()
    }

    fn unsettled(&self) -> (usize, usize) {
        let unsettled = self.0.unsettled();
        (unsettled.names, unsettled.collections)
    }

    fn failing(&self) -> usize {
        self.0.unsettled().failing
    }

    fn cursor(&self) -> Cursor {
        self.0.cursor()
    }

    fn advance(&mut self, cursor: Cursor) {
        self.0.advance(cursor);
    }

    fn change(&mut self, add: &[Selector], remove: &[Selector]) -> Result<(), Refused> {
        self.0.change(add, remove).map_err(|refusal| Refused(refusal.to_string()))
    }

    fn ask_again(&mut self, again: &[Selector]) -> Result<(), Refused> {
        self.0.ask_again(again).map_err(|refusal| Refused(refusal.to_string()))
    }

    fn answer(&mut self, to: Commit, rejection: Option<&Nack>) {
        self.0.answer(to, rejection.map(|nack| nack.message.as_str()));
    }
}

/// Attaches the logical streams of one stream.
pub struct Attacher<'a> {
    /// What there is to attach to.
    pub database: &'a Database,
    /// Who is woken by changes.
    pub subscriber: &'a Arc<dyn Subscriber>,
}

impl Views for Attacher<'_> {
    type View = Attached;

    fn attach(&mut self, type_url: &TypeUrl, add: &[Selector]) -> Result<Attached, Refused> {
        let attachment = self.database.attach(type_url, add, Arc::clone(self.subscriber));
        attachment.map(Attached).map_err(|refusal| Refused(refusal.to_string()))
    }
}
