//! Sources of resources: control planes over gRPC and REST-JSON, and files.
//!
//! Owns the streams to control planes, how demand is spread over them, and the reading of resource files. Turns
//! what they send into batches for the database, and never withdraws anything because a source is away.

mod arrival;
mod assignment;
mod backoff;
pub mod client;
pub mod codec;
mod connections;
mod connector;
mod contact;
mod credentials;
mod driver;
pub mod files;
mod load_relay;
mod lookup;
mod metrics;
mod node;
mod pace;
mod prefetch;
mod propagation;
mod refusal;
mod rest;
mod router;
mod settings;
mod socket;
mod status;
mod stream;
mod streams;
mod supervisor;
mod transport;

pub use assignment::{Lane, Role};
pub use backoff::Backoff;
pub use connections::Carrier;
pub use credentials::Credentials;
pub use load_relay::LoadRelay;
pub use node::{NodeTemplate, escape};
pub use prefetch::Prefetch;
pub use propagation::Propagated;
pub use settings::{Naming, Services, Settings};
pub use status::{Status, StreamFailure, StreamState, WithheldLosses};
pub use stream::acknowledgement::{Acknowledge, AcknowledgePolicy};
pub use stream::failover::Trial;
pub use supervisor::{Change, Error, Source, run};
pub use weir_protocol::client::{EndpointGuard, Loss, ShrinkGuard};
