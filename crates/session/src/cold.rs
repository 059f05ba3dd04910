//! What becomes of a client of whose questions nothing is cached, while there is nobody to ask.
//!
//! The reason for each default is in docs/availability.md. Never decides whether there is somebody to ask: that is
//! upstream's.

use weir_types::Dialect;

use crate::error::StreamError;
use crate::profile::ClientKind;
use crate::stream::ServerStream;

/// The answer to what is not known while no control plane can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColdStart {
    /// None: the stream stays open and silent.
    Hold,
    /// Each name is sent as UNAVAILABLE (`resource_errors`, xRFC TP3).
    Error,
    /// The stream is ended with UNAVAILABLE if there is nothing to be sent on it; otherwise as [`Self::Error`].
    Close,
}

/// The answer to each kind of client, which its `user_agent_name` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColdStarts {
    /// Envoys (`envoy`).
    pub envoy: ColdStart,
    /// gRPC's own clients (`gRPC C-core`, `grpc-go` and the like).
    pub grpc: ColdStart,
    /// Other Weirs (`weir`).
    pub weir: ColdStart,
    /// All others.
    pub other: ColdStart,
}

impl Default for ColdStarts {
    fn default() -> Self {
        use ColdStart::{Close, Hold};
        Self { envoy: Hold, grpc: Close, weir: Close, other: Hold }
    }
}

/// What that is for one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cold {
    /// It is ended while there is nothing to be sent on it.
    pub(crate) closes: bool,
    /// Names are sent as unavailable.
    pub(crate) sends_errors: bool,
}

impl ColdStarts {
    /// For a stream of a client of this `kind`.
    pub(crate) fn of(self, kind: ClientKind, dialect: Dialect) -> Cold {
        let answer = match kind {
            ClientKind::Envoy => self.envoy,
            ClientKind::Grpc => self.grpc,
            ClientKind::Weir => self.weir,
            ClientKind::Other => self.other,
        };
        let sends_errors = answer != ColdStart::Hold && kind.takes_errors(dialect);
        Cold { closes: answer == ColdStart::Close, sends_errors }
    }
}

impl Cold {
    /// Why `stream` ends, if it does: no response was sent on it, nothing of what it asks for is known, and no control plane
    /// can be asked. A stream on which a response was or could be sent goes on.
    pub(crate) fn end(self, stream: &ServerStream) -> Option<StreamError> {
        let asked = self.unanswered(stream)?;
        (asked.names > 0 && asked.unavailable == asked.names).then(|| {
            StreamError::unavailable(
                "nothing of what is asked for is cached, and no control plane can be reached",
            )
        })
    }

    /// Whether `stream` is about to end: of some that it asks for it is known that no control plane can be asked, and of the
    /// rest nothing is known yet. That is noted type by type, and a response about the first types would keep the stream open.
    pub(crate) fn may_end(self, stream: &ServerStream) -> bool {
        self.unanswered(stream).is_some_and(|asked| asked.unavailable > 0 && asked.unsettled == asked.names)
    }

    /// What a stream asks for on which nothing was sent, if it may be ended for that.
    fn unanswered(self, stream: &ServerStream) -> Option<Asked> {
        let types = stream.types();
        if !self.closes || types.iter().any(|type_subscription| type_subscription.outstanding().is_some()) {
            return None;
        }
        let mut asked = Asked::default();
        for attachment in types.iter().map(|type_subscription| type_subscription.view().attachment()) {
            let unsettled = attachment.unsettled();
            asked.names += attachment.subscription().len();
            asked.unsettled += unsettled.names + unsettled.collections;
            asked.unavailable += unsettled.unavailable.total();
        }
        Some(asked)
    }
}

/// How much a stream asks for.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    names: usize,
    /// Of these, what is neither present nor known to be absent.
    unsettled: usize,
    /// Of these, what nobody can be asked for.
    unavailable: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cold(user_agent: &str, dialect: Dialect, starts: ColdStarts) -> (bool, bool) {
        let Cold { closes, sends_errors } = starts.of(ClientKind::of(user_agent), dialect);
        (closes, sends_errors)
    }

    #[test]
    fn u14_each_kind_of_client_has_its_default() {
        let (held, closed) = ((false, false), (true, true));
        for (user_agent, answer) in [
            ("envoy", held),
            ("gRPC C-core", closed),
            ("gRPC C-core linux", closed),
            ("gRPC Node Pure JS", closed),
            ("gRPC Go", closed),
            ("grpc-java", closed),
            ("weir", closed),
            ("", held),
            ("sidecar", held),
            ("é", held),
        ] {
            for dialect in [Dialect::Sotw, Dialect::Delta] {
                assert_eq!(cold(user_agent, dialect, ColdStarts::default()), answer, "{user_agent}");
            }
        }
    }

    #[test]
    fn u14_an_envoy_in_state_of_the_world_is_never_told_by_name() {
        use ColdStart::{Close, Error, Hold};
        for (answer, sotw, delta) in [
            (Hold, (false, false), (false, false)),
            (Error, (false, false), (false, true)),
            (Close, (true, false), (true, true)),
        ] {
            let starts = ColdStarts { envoy: answer, grpc: Hold, weir: Hold, other: answer };
            assert_eq!(cold("envoy", Dialect::Sotw, starts), sotw, "{answer:?}");
            assert_eq!(cold("envoy", Dialect::Delta, starts), delta, "{answer:?}");
            assert_eq!(cold("other", Dialect::Sotw, starts), delta, "{answer:?}");
            assert_eq!(cold("grpc", Dialect::Sotw, starts), (false, false));
        }
    }
}
