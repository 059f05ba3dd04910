//! Times to live, as a client counts them.
//!
//! It drops what was not refreshed in time. When it is sent a heartbeat for it then, the two have crossed; so it
//! asks for what it has no more.

use std::time::Instant;

use weir_types::{Selector, TypeUrl};

use super::{Client, Request, Response, Sent, Subscribed, asks_for};

/// What a client dropped by itself.
#[derive(Debug)]
pub(super) struct Expired {
    sent: Sent,
    at: Instant,
}

impl Client {
    /// Lets time pass until `now`: what was not refreshed in time is dropped.
    pub fn pass(&mut self, now: Instant) {
        self.now = Some(now);
        self.types.values_mut().for_each(|of_type| of_type.expire(now));
    }

    /// The request for what it was sent a heartbeat for, but had dropped by then; none if there is nothing.
    pub fn ask_for_lost(&mut self, type_url: &TypeUrl) -> Option<Request> {
        let lost = std::mem::take(&mut self.types.get_mut(type_url)?.lost);
        let lost: Vec<Selector> = lost.into_iter().collect();
        (!lost.is_empty()).then(|| self.subscribe(type_url, &lost))
    }
}

impl Subscribed {
    fn expire(&mut self, now: Instant) {
        let over = self.held.iter().filter_map(|(identity, held)| Some((identity, held, held.until?)));
        let over = over.filter(|(.., until)| *until <= now);
        let over =
            over.map(|(identity, held, at)| (identity.clone(), Expired { sent: held.sent.clone(), at }));
        let over: Vec<_> = over.collect();
        for (identity, expired) in over {
            self.held.remove(&identity);
            self.expired.insert(identity, expired);
        }
    }

    /// Takes in that what the client has lives on.
    pub(super) fn refresh(&mut self, sent: &Sent, response: &Response, now: Option<Instant>) {
        let identity = sent.identity();
        let until = now.zip(sent.ttl).map(|(now, ttl)| now + ttl);
        if let Some(held) = self.held.get_mut(&identity).filter(|held| held.sent.version == sent.version) {
            (held.until, held.doubtful) = (until, false);
            return;
        }
        // It may be about what was given up, and is on its way again.
        if let Some(gone) = self.expired.remove(&identity).filter(|gone| gone.sent.version == sent.version) {
            assert!(
                response.at.is_none_or(|made| made < gone.at),
                "t02: {identity:?} was over before it was sent a heartbeat: {response:?}"
            );
            let asking = self.wanted.iter().filter(|selector| asks_for(selector, &gone.sent));
            self.lost.extend(asking.cloned());
        }
    }

    /// Forgets what was dropped and is not asked for any more.
    pub(super) fn forget_expired(&mut self) {
        let wanted = &self.wanted;
        self.expired.retain(|_, gone| wanted.iter().any(|selector| asks_for(selector, &gone.sent)));
    }
}
