//! Serving clients: xDS streams over gRPC, and polls over REST-JSON.
//!
//! Owns the listeners, the IO around each stream's state machine, the rules for a client's `Node`, and the
//! encoded responses that streams share. Never decides what a client is owed (that is the machine's), nor what exists
//! (that is the database's), and never uses an upstream.

mod access;
mod admission;
mod apart;
mod beyond;
pub mod clients;
mod cold;
mod connection;
mod drain;
mod encoder;
mod error;
pub mod export;
mod known;
mod large;
mod limits;
mod lookups;
mod messages;
mod metadata;
mod metrics;
mod node;
mod observed;
mod operations;
mod peer;
mod profile;
mod recent_responses;
mod request;
mod responses;
mod rest;
mod rights;
mod rules;
mod scope;
mod server;
mod service;
mod session;
mod settings;
mod shared;
mod signal;
mod status;
mod stream;
mod tallies;
mod view;
mod wrapping;

pub use access::{AccessRule, AccessRules};
pub use admission::{Admission, Rate};
pub use cold::{ColdStart, ColdStarts};
pub use drain::Drain;
pub use error::StreamError;
pub use known::Statements;
pub use limits::Limits;
pub use messages::{Bounds, Messages};
pub use node::Client;
pub use profile::{ClientKind, ClientProfile};
pub use recent_responses::RecentResponses;
pub use request::{InitialVersions, Request};
pub use responses::{EncodedResponse, Encoding, Made, ResponseCache, ResponseKey, Responses};
pub use rights::{Denied, Grant, Rights};
pub use rules::{Derived, NodeRule, NodeRules};
pub use server::{Control, Listener, Server, ServerError};
pub use session::{Env, Handled, RefusedName, Session, SessionSettings, Transmit, Transport};
pub use settings::{Csds, Settings};
pub use view::{Attached, Attacher, Tells};
pub use weir_protocol::server::Patience;
pub use wrapping::Wrapping;
