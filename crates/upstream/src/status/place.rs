//! Where the streams of a parameter set are connected to, for what has to go to the same place.

use std::sync::Arc;

use tokio::sync::watch;
use weir_types::DynamicParameters;

use super::{Status, StreamState};

/// Where a stream is connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StreamPlace {
    /// Which stream that is.
    stream: u64,
    /// Whether it is one of the set that was asked for, and not of another one.
    own: bool,
    /// Where.
    pub(crate) endpoint: Arc<str>,
}

impl Status {
    /// Notified when a stream is connected.
    pub(crate) fn connects(&self) -> watch::Receiver<()> {
        self.connects.subscribe()
    }

    /// Where the stream of a parameter set, or the only one, is connected to. While it has none that is connected, any of
    /// the control plane shows where that can be reached. None while it cannot.
    pub(crate) fn place_of(&self, authority: &str, set: Option<&DynamicParameters>) -> Option<StreamPlace> {
        let registry = self.registry.lock();
        let of_authority = registry.states.values().filter(|state| state.authority == authority);
        let places = of_authority.filter_map(|state| {
            let own = !state.idle && state.parameters.as_ref() == set;
            let endpoint = state.endpoint.as_deref()?.into();
            Some((state.index, StreamPlace { stream: state.id, own, endpoint }))
        });
        let best = places.min_by_key(|(index, place)| (!place.own, *index, place.stream));
        best.map(|(_, place)| place)
    }

    /// Whether the streams of a set are connected to another place than `place`, which is brought up to date. Where they
    /// are not connected, they may come back there.
    pub(crate) fn has_moved(
        &self,
        authority: &str,
        set: Option<&DynamicParameters>,
        place: &mut StreamPlace,
    ) -> bool {
        let elsewhere =
            |state: &StreamState| state.endpoint.as_deref().is_some_and(|at| *at != *place.endpoint);
        if place.own
            && let Some(moved) = self.registry.lock().states.get(&place.stream).map(elsewhere)
        {
            return moved;
        }
        let Some(now) = self.place_of(authority, set).filter(|now| now.own) else { return false };
        let moved = now.endpoint != place.endpoint;
        *place = now;
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Lane;

    fn set(env: &str) -> DynamicParameters {
        [("env", env)].into_iter().collect()
    }

    #[test]
    fn q01_what_belongs_to_a_set_goes_where_its_stream_is() {
        let status = Status::default();
        let place = |env| status.place_of("a", Some(&set(env)));
        let endpoint = |env| place(env).map(|place| place.endpoint.to_string());
        let contact = status.register_contact("a");
        assert_eq!(endpoint("x"), None, "it was never reached");
        contact.connected("http://one", 0, None);
        assert_eq!(endpoint("x").as_deref(), Some("http://one"));
        let mut of_other = place("x").unwrap();
        let [x, y] = ["x", "y"].map(|env| status.register("a", Some(set(env)), Lane::default()));
        x.connected("http://two", 1, None);
        y.connected("http://one", 0, None);
        drop(contact);
        assert_eq!(endpoint("x").as_deref(), Some("http://two"), "that of the set goes first");
        assert_eq!(endpoint("z").as_deref(), Some("http://one"), "the preferred of the others");
        assert_eq!(status.place_of("b", Some(&set("x"))), None);
        let moved = |place: &mut StreamPlace| status.has_moved("a", Some(&set("x")), place);
        assert!(moved(&mut of_other), "the set has a stream of its own now");

        let mut own = place("x").unwrap();
        assert!(!moved(&mut own));
        x.disconnected();
        assert!(!moved(&mut own), "it may come back");
        x.connected("http://two", 1, None);
        assert!(!moved(&mut own));
        x.connected("http://one", 0, None);
        assert!(moved(&mut own));
        let mut own = place("x").unwrap();
        drop(x);
        assert!(!moved(&mut own), "what has no stream stays");
        let x = status.register("a", Some(set("x")), Lane::default());
        x.connected("http://one", 0, None);
        assert!(!moved(&mut own));
        x.connected("http://two", 1, None);
        assert!(moved(&mut own));
    }

    #[test]
    fn q01_a_connection_is_noticed() {
        let status = Status::default();
        let connects = status.connects();
        let stream = status.register("a", None, Lane::default());
        assert!(!connects.has_changed().unwrap());
        stream.connected("http://one", 0, None);
        assert!(connects.has_changed().unwrap());
        assert_eq!(status.place_of("a", None).unwrap().endpoint.as_ref(), "http://one");
    }
}
