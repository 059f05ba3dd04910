//! Test tools, never part of the shipped program.
//!
//! It owns the other ends of the wire: a control plane that is scripted by the test
//! ([`FakeControlPlane`]), a client that sends what the test wants ([`XdsClient`]), and the processes of real
//! ones: [`process::Weir`], [`process::Envoy`], [`process::GrpcPython`]. They are written against the
//! protocol, not with Weir's machines, so that a misreading of it is not confirmed by itself.
//!
//! A test of the wire goes like this:
//!
//! ```no_run
//! use weir_testkit::process::Weir;
//! use weir_testkit::{FakeControlPlane, Published, XdsClient, node, type_url};
//!
//! # async fn test() {
//! let control_plane = FakeControlPlane::start().await;
//! control_plane.set(Published::text(type_url("cds"), "a", "1"));
//! let weir = Weir::builder().upstream(&control_plane, "ads-delta", "streams").start().await;
//! let mut client = XdsClient::delta(weir.address(), &node("n")).await;
//! client.subscribe(type_url("cds"), &[]);
//! let received = client.accept(type_url("cds")).await;
//! assert_eq!(received.resource("a").text(), "1");
//! client.expect_nothing().await;
//! # }
//! ```
//!
//! Nothing here sleeps: every wait is for an observable event and ends with a panic that states what was
//! waited for, and what was seen instead.
#![allow(
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test ends at the first thing that is not as it should be"
)]

mod authority;
pub mod client;
pub mod collector;
pub mod constraints;
pub mod control_plane;
pub mod fault_proxy;
mod listener;
pub mod model;
mod names;
pub mod node;
pub mod process;
pub mod raw;
pub mod resource;
pub mod resources;
pub mod service;
pub mod simulator;
pub mod tls;
pub mod wait;

pub use authority::Authority;
pub use client::{Dialect, LoadClient, Received, RestClient, XdsClient};
pub use collector::Collector;
pub use control_plane::FakeControlPlane;
pub use fault_proxy::{Fault, FaultProxy, Side};
pub use node::node;
pub use resource::{Published, type_url, type_url_v2};
pub use service::Service;
pub use tls::Secured;
