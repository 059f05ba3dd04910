//! Whether what an upstream has can be served: that it is reached, has answered what is subscribed to at the start, and
//! has left something in the store.
//!
//! What single clients ask for later makes no difference here.

use std::time::{Duration, SystemTime};

use super::{Registry, Status, StreamState};

/// What is expected of an upstream at the start, and what has become of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    /// How many subscriptions are made before any client asks.
    prefetch: usize,
    /// Of how many of them something is not answered.
    waiting: usize,
    /// How long an answer may take.
    patience: Duration,
    /// Everything was answered once.
    answered: bool,
    /// An earlier process has left resources in the store.
    stored: bool,
}

impl Registry {
    fn of(&self, authority: &str) -> impl Iterator<Item = &StreamState> {
        self.states.values().filter(move |stream| stream.authority == authority)
    }

    /// Some stream is connected; where none was tried yet, what is kept in place of them.
    fn is_connected(&self, authority: &str) -> bool {
        let tried = |stream: &&StreamState| stream.is_connected() || stream.last_failure.is_some();
        let mut streams = self.of(authority).filter(|stream| !stream.idle).filter(tried).peekable();
        match streams.peek() {
            Some(_) => streams.any(StreamState::is_connected),
            None => self.of(authority).any(|stream| stream.idle && stream.is_connected()),
        }
    }

    /// Notes whether everything has been answered that was wanted at the start. What comes from the store is no answer:
    /// it is confirmed, or was not in the time that an answer may take.
    pub(super) fn note_answered(&mut self, authority: &str, now: SystemTime) {
        let Some(start) = self.authorities.get(authority).copied() else { return };
        if start.answered || start.waiting > 0 {
            return;
        }
        let reached = match start.prefetch {
            0 => self.is_connected(authority),
            _ => self.of(authority).any(|stream| !stream.idle && stream.is_connected()),
        };
        let confirmed = self.of(authority).all(|stream| {
            let since = now.duration_since(stream.since).unwrap_or_default();
            stream.unconfirmed.values().all(|count| *count == 0)
                || (stream.is_connected() && since >= start.patience)
        });
        if reached
            && confirmed
            && let Some(start) = self.authorities.get_mut(authority)
        {
            start.answered = true;
        }
    }
}

impl Status {
    /// Whether the upstream of `authority` is reached: some stream is connected or, where there is none yet, a connection
    /// could be made.
    pub fn is_connected(&self, authority: &str) -> bool {
        self.registry.lock().is_connected(authority)
    }

    /// Whether the upstream of `authority` has answered, once, what is subscribed to at the start.
    pub fn has_answered(&self, authority: &str) -> bool {
        let mut registry = self.registry.lock();
        registry.note_answered(authority, SystemTime::now());
        registry.authorities.get(authority).is_some_and(|start| start.answered)
    }

    /// Whether an earlier process has left resources of `authority` in the store.
    pub fn is_stored(&self, authority: &str) -> bool {
        self.registry.lock().authorities.get(authority).is_some_and(|start| start.stored)
    }

    /// An upstream is there, with so many subscriptions before any client asks.
    pub(crate) fn expect(&self, authority: &str, prefetch: usize, patience: Duration) {
        let start = Start { prefetch, waiting: prefetch, patience, answered: false, stored: false };
        self.registry.lock().authorities.insert(authority.to_owned(), start);
    }

    /// The upstream of `authority` is gone.
    pub(crate) fn forget(&self, authority: &str) {
        self.registry.lock().authorities.remove(authority);
    }

    /// So many subscriptions are made at the start, and of so many of them something is not answered.
    pub(crate) fn prefetched(&self, authority: &str, (prefetch, waiting): (usize, usize)) {
        let mut registry = self.registry.lock();
        if let Some(start) = registry.authorities.get_mut(authority) {
            (start.prefetch, start.waiting) = (prefetch, waiting);
            registry.note_answered(authority, SystemTime::now());
        }
    }

    pub(crate) fn stored(&self, authority: &str, stored: bool) {
        if let Some(start) = self.registry.lock().authorities.get_mut(authority) {
            start.stored = stored;
        }
    }

    /// How many subscriptions that are made at the start wait for an answer, by authority; for those that have any.
    pub(super) fn waiting(&self) -> Vec<(String, u64)> {
        let registry = self.registry.lock();
        let prefetching = registry.authorities.iter().filter(|(_, start)| start.prefetch > 0);
        prefetching.map(|(authority, start)| (authority.clone(), start.waiting as u64)).collect()
    }
}

#[cfg(test)]
mod tests {
    use weir_types::TypeUrl;

    use super::*;
    use crate::Lane;

    const PATIENCE: Duration = Duration::from_secs(15);

    #[test]
    fn u03_an_upstream_is_connected_while_any_of_its_streams_is() {
        let status = Status::default();
        status.expect("a", 0, PATIENCE);
        assert!(!status.is_connected("a"), "nothing was tried");
        let contact = status.register_contact("a");
        contact.failed("http://x", "refused".to_owned());
        assert!(!status.is_connected("a"));
        contact.connected("http://x", 0, None);
        assert!(status.is_connected("a") && status.has_answered("a"), "nothing is wanted");
        let [one, other] = [(); 2].map(|()| status.register("a", None, Lane::default()));
        assert!(status.is_connected("a"), "the streams were not tried yet");
        one.failed("http://x", "reset".to_owned());
        assert!(!status.is_connected("a"), "no stream can be opened");
        other.connected("http://x", 0, None);
        assert!(status.is_connected("a"), "what one stream is refused is no reason");
        drop((contact, one));
        let contact = status.register_contact("a");
        drop(other);
        assert!(status.is_connected("a"), "what was connected still is, as far as is known");
        contact.disconnected();
        assert!(!status.is_connected("a") && status.has_answered("a"));
    }

    #[test]
    fn u09_what_is_subscribed_to_at_the_start_is_answered_once_and_by_the_control_plane() {
        let status = Status::default();
        status.expect("a", 2, PATIENCE);
        let contact = status.register_contact("a");
        contact.connected("http://x", 0, None);
        status.prefetched("a", (2, 1));
        assert!(!status.has_answered("a"), "something is not known");
        let stream = status.register("a", None, Lane::default());
        let type_url = TypeUrl::new("acme.Widget");
        stream.unconfirmed(&[(type_url.clone(), 3)].into());
        status.prefetched("a", (2, 0));
        stream.connected("http://x", 0, None);
        assert!(!status.has_answered("a"), "it is known from the store");
        stream.unconfirmed(&[(type_url, 0)].into());
        assert!(status.has_answered("a"));
        status.prefetched("a", (2, 1));
        stream.disconnected();
        assert!(status.has_answered("a"), "once is enough");
    }

    #[test]
    fn u09_what_a_control_plane_never_confirms_is_waited_for_as_long_as_an_answer_may_take() {
        let status = Status::default();
        status.expect("a", 1, PATIENCE);
        let stream = status.register("a", None, Lane::default());
        stream.connected("http://x", 0, None);
        stream.unconfirmed(&[(TypeUrl::new("acme.Widget"), 1)].into());
        status.prefetched("a", (2, 0));
        let answered_at = |now| {
            let mut registry = status.registry.lock();
            registry.note_answered("a", now);
            registry.authorities["a"].answered
        };
        assert!(!answered_at(SystemTime::now() + PATIENCE / 2));
        assert!(answered_at(SystemTime::now() + PATIENCE * 2));
    }
}
