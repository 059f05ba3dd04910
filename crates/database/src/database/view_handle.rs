//! One stream's place in the database.

use std::sync::Arc;

use weir_types::{Commit, Cursor, Head, Name, Selector, Subscription, SubscriptionChange};

use super::{Database, slices};
use crate::demand::Asking;
use crate::limits::Refused;
use crate::lock::{Held, Locked};
use crate::type_cache::{Patch, Standing};
use crate::view::{Barred, Shared, Unsettled, ViewId, ViewListener};
use crate::watch::{Answer, Answers};

/// One stream's place at a view. Dropping it takes the stream off.
pub struct ViewHandle {
    pub(super) database: Database,
    pub(super) cache: Arc<Locked>,
    pub(super) view: ViewId,
    pub(super) shared: Arc<Shared>,
    pub(super) slot: usize,
    pub(super) subscriber: Arc<dyn ViewListener>,
    pub(super) cursor: Cursor,
    pub(super) answers: Answers,
}

impl ViewHandle {
    /// Moves the stream to the neighbouring view of what `change` makes of the subscription. Its cursor is carried
    /// over: newly added selectors are owed by the caller. On refusal nothing changes.
    pub fn change(&mut self, change: SubscriptionChange<'_>) -> Result<(), Refused> {
        self.patch(change, false)
    }

    /// Subscribes to `refused`, which is refused so far and which the client has not asked for again: it is no further
    /// refusal if it still is.
    pub fn retry(&mut self, refused: &[Selector]) -> Result<(), Refused> {
        self.patch(SubscriptionChange::adding(refused), true)
    }

    fn patch(&mut self, change: SubscriptionChange<'_>, again: bool) -> Result<(), Refused> {
        let (shared, cache) = (Arc::clone(&self.shared), Arc::clone(&self.cache));
        let patch = Patch::of(&shared.subscription, change);
        let database = self.database.clone();
        database.making_way(again, || self.step(&mut cache.lock(), patch, again))?;
        self.database.0.demand.announce();
        Ok(())
    }

    /// Has those of `again` fetched anew that must not be cached: the stream asks again for what it is subscribed to.
    pub fn ask_again(&mut self, again: &[Selector]) -> Result<(), Refused> {
        {
            let (shared, cache) = (Arc::clone(&self.shared), Arc::clone(&self.cache));
            let mut cache = cache.lock();
            let stale = cache.stale(self.view, self.cursor.removals, again);
            if stale.is_empty() {
                return Ok(());
            }
            let patch =
                Patch { stale: &stale, ..Patch::of(&shared.subscription, SubscriptionChange::adding(&[])) };
            self.step(&mut cache, patch, false)?;
        }
        self.database.0.demand.announce();
        Ok(())
    }

    fn step(&mut self, cache: &mut Held<'_>, patch: Patch<'_>, again: bool) -> Result<(), Refused> {
        let standing = Standing { view: self.view, cursor: self.cursor };
        let asking = Asking { demand: &self.database.0.demand, quota: self.subscriber.quota(), again };
        let attached = self.database.join(cache, Some(standing), patch, &asking);
        self.database.report(cache);
        let (view, shared) = attached?;
        self.answers.carry(&self.shared.watches, cache.last());
        slices::leave(cache, standing);
        self.view = view;
        let old = std::mem::replace(&mut self.shared, shared);
        old.delist(self.slot);
        self.slot = self.shared.enlist(Arc::clone(&self.subscriber));
        Ok(())
    }

    /// Whose stream it is.
    pub fn subscriber(&self) -> &dyn ViewListener {
        &*self.subscriber
    }

    /// Which view this is; never given twice.
    pub fn view(&self) -> u64 {
        self.shared.serial
    }

    /// Everything that the stream is subscribed to.
    pub fn subscription(&self) -> &Subscription {
        &self.shared.subscription
    }

    /// The newest commits that concern the view.
    pub fn head(&self) -> Head {
        self.shared.head()
    }

    /// How much of the subscription upstream has not answered yet.
    pub fn unsettled(&self) -> Unsettled {
        self.shared.unsettled()
    }

    /// How many of `names`, from the start, nothing has to be awaited for: they are answered, or not subscribed.
    pub fn settled_of(&self, names: &[Name]) -> usize {
        self.cache.lock().settled_of(self.view, names)
    }

    /// Those of `selectors`, which are subscribed, of which there is something.
    pub fn present_of(&self, mut selectors: Vec<Selector>) -> Vec<Selector> {
        let cache = self.cache.lock();
        selectors.retain(|selector| cache.is_present(self.view, selector));
        selectors
    }

    /// Whether names that the stream asks for are gone, and it has not been sent that.
    pub fn loses_names(&self) -> bool {
        self.cache.lock().loses_names(self.view, self.cursor)
    }

    /// How much of the subscription the stream is not given, whatever there is.
    pub fn barred(&self) -> Barred {
        self.shared.barred()
    }

    /// Up to which commit the stream was sent changes.
    pub fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// Notes that the stream was sent changes up to `cursor`.
    pub fn advance(&mut self, cursor: Cursor) {
        if cursor != self.cursor {
            let mut cache = self.cache.lock();
            let view = cache.view_mut(self.view);
            view.lift(self.cursor);
            view.place(cursor);
            self.cursor = cursor;
        }
    }

    /// Notes that the client has answered for everything that it was sent up to `to`: it has accepted it, or
    /// rejected it for a reason.
    pub fn answer(&mut self, to: Commit, rejection: Option<&str>) {
        let answer = rejection.map_or(Answer::Accepted, Answer::Rejected);
        self.answers.give(&self.shared.watches, to, &*self.subscriber, answer);
    }

    /// Notes that a response has left that brings the stream up to `to`.
    pub fn note_sent(&self, to: Commit) {
        self.answers.note_sent(&self.shared.watches, to);
    }

    /// What goes along with a response that brings the stream from `from` up to `to`.
    pub fn note(&self, from: Commit, to: Commit) -> Option<Arc<[u8]>> {
        self.shared.watches.note(from, to)
    }
}

impl Drop for ViewHandle {
    fn drop(&mut self) {
        self.shared.delist(self.slot);
        slices::leave(&mut self.cache.lock(), Standing { view: self.view, cursor: self.cursor });
        // Whatever is committed from now on does not count this stream.
        self.answers.give(&self.shared.watches, Commit(u64::MAX), &*self.subscriber, Answer::Left);
    }
}
