//! The reference model of TP2, and the harness that holds Weir's database and server machine against it.
//!
//! [`Reference`] is the proposal's own "naive implementation": a map from name to a map from constraints to
//! content, asked anew for every question. [`World`] runs a [`script`](script::Op) against it and against
//! a [`weir_database::Database`] with one [`weir_protocol::server::ServerStream`] per client, and checks
//! after every response, and whenever all is quiet, what must hold. No IO and no clock: a script is a value.

mod change;
mod client;
mod harness;
mod peer;
mod reference;
pub mod script;
mod watch;
mod world;

pub use change::Change;
pub use client::{Client, Held, Identity};
pub use harness::{Bell, Frames, Place, Places, Response, Sent};
pub use reference::Reference;
pub use world::World;
