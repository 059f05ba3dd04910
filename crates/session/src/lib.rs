//! One client's stream without IO: from decoded requests to encoded responses, gRPC and REST alike.
//!
//! Owns what a client may ask for, how its requests become subscriptions, what it has to be sent and in which order
//! (`stream`), and how that becomes bytes that streams share. Never decides what exists (that is the database's).
//! Sockets, clocks, counters, logs and the cache of responses are the caller's.

mod cold;
mod encoder;
mod error;
mod limits;
mod profile;
mod request;
mod responses;
mod rights;
mod scope;
mod session;
mod stream;
mod subscribed_view;
mod virtual_hosts;
mod wrapping;

pub use cold::{ColdStart, ColdStarts};
pub use error::StreamError;
pub use limits::Limits;
pub use profile::{ClientKind, ClientProfile};
pub use request::{InitialVersions, Request};
pub use responses::{EncodedResponse, Encoding, ResponseCache, ResponseKey, Responses};
pub use rights::{Denied, Grant, Rights};
pub use session::{ClientTransport, Env, Handled, RefusedName, Session, SessionSettings};
pub use stream::{
    Nack, Names, Nonce, OutgoingResponse, Patience, SubscriptionRequest, TypeSubscription, Verdict, Wait,
};
pub use subscribed_view::SubscribedView;
pub use virtual_hosts::VirtualHostWildcard;
pub use wrapping::Wrapping;
