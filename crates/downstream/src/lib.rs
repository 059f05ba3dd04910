//! Serving clients: xDS streams over gRPC, and polls over REST-JSON.
//!
//! Owns the listeners, the IO around each stream's session, the rules for a client's `Node` and its rights, and the cache
//! of responses that streams share. Never decides what a client is owed (that is the session's), nor what exists
//! (that is the database's), and never uses an upstream.

mod access;
mod admission;
mod apart;
pub mod clients;
mod connection;
mod drain;
pub mod export;
mod forwarding;
mod known;
mod large;
mod load_reports;
mod lookups;
mod messages;
mod metadata;
mod metrics;
mod node;
mod observed;
mod operations;
mod peer;
mod recent_responses;
mod rest;
mod rules;
mod server;
mod service;
mod settings;
mod shared;
mod signal;
mod status;
mod stream;
mod tallies;

pub use access::AccessRules;
pub use forwarding::{ForwardError, Forwarding};
pub use known::Statements;
pub use load_reports::LoadReporting;
pub use messages::{Bounds, Messages};
pub use node::{Client, Derivation, IdentifyError};
pub use recent_responses::RecentResponses;
pub use rules::{Derived, NodeRules};
pub use server::{Control, Listener, Server, ServerError};
pub use settings::Settings;
