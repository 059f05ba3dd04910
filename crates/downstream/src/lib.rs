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
mod conversation;
mod drain;
mod encoder;
pub mod export;
mod frames;
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
mod request;
mod rest;
mod rules;
mod scope;
mod server;
mod service;
mod settings;
mod signal;
mod stream;
mod tallies;
mod view;
mod wrapping;

pub use access::{AccessRule, AccessRules, Rights};
pub use admission::{Admission, Rate};
pub use cold::{ColdStart, ColdStarts};
pub use conversation::Conversation;
pub use drain::Drain;
pub use frames::{Frames, StreamFrames};
pub use known::Statements;
pub use limits::Limits;
pub use messages::{Bounds, Messages};
pub use node::Client;
pub use request::Request;
pub use rules::{Derived, NodeRule, NodeRules};
pub use server::{Control, Listener, Server, ServerError};
pub use settings::{Csds, Settings};
pub use view::{Attached, Attacher, Tells};
pub use weir_protocol::server::Patience;
pub use wrapping::Wrapping;
