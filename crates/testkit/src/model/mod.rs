//! The reference model of TP2, and the world in which it is held against Weir's database and session.
//!
//! [`Reference`] is the proposal's own "naive implementation": a map from name to a map from constraints to
//! content, asked anew for every question. [`World`] runs a [`script`](script::Op) against it and against
//! a [`weir_database::Database`] with one [`weir_session::Session`] per client, and checks
//! after every response, and whenever all is quiet, what must hold. No IO and no clock: a script is a value.

mod change;
mod client;
mod messages;
mod peer;
mod reference;
pub mod script;
mod stream;
mod watch;
mod world;

pub use change::Change;
pub use client::{Client, Held, Identity};
pub use messages::{Request, Response, Sent};
pub use reference::Reference;
pub use stream::{Bell, Making, NoCache, Polled, ServerEnd};
pub use world::World;
