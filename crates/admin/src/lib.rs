//! The admin server: JSON over HTTP for operators, and a page.
//!
//! Owns the endpoints, their description (`/openapi.json`), and the form of the answers; nothing behind them. Every
//! request asks an [`Instance`]. An endpoint, or a family of them, is a module.

mod ambiguities;
mod auth;
mod blocking;
mod clients;
mod config;
mod draining;
mod events;
mod head;
mod listener;
mod log_level;
mod nacks;
mod openapi;
mod page;
mod probes;
mod problem;
mod propagation;
mod query;
mod refused;
mod resources;
mod room;
mod server;
mod site;
mod store;
mod summary;
mod tally;
mod time;
mod unavailable;
mod upstreams;
mod views;

#[cfg(test)]
mod tests;

use std::future::Future;
use std::sync::Arc;

use axum::Router;
use axum::extract::FromRef;
use tokio::net::TcpListener;
use tokio::sync::watch;
use weir_database::Database;
use weir_tls::Acceptor;
use weir_types::{Fingerprint, Name, TypeUrl};

use events::Events;
use listener::Operators;

pub use auth::{Auth, Peer};
pub use clients::{
    Accepted, Client, Condition, Given, Identity, Locality, Located, Nacked, Node, Origin, Parameter, Sent,
    Sketch, TypeState,
};
pub use config::{Configuration, Reload};
pub use draining::Draining;
pub use log_level::LogLevel;
pub use nacks::Nack;
pub use propagation::Propagated;
pub use refused::Refused;
pub use resources::{
    AskedResource, Changed, Delivery, DeliveryProgress, Resource, ResourceVariant, Standing,
};
pub use store::Store;
pub use time::{rfc3339, seconds, seconds_since};
pub use unavailable::Lacking;
pub use upstreams::{LastError, Unconfirmed, Upstream, UpstreamConnection, UpstreamState, WithheldRemovals};

/// What the admin server shows. All methods are called often, and none may block.
pub trait Instance: Send + Sync + 'static {
    /// What is still missing before clients can be served, in words for an operator; empty when ready.
    fn pending(&self) -> Vec<String>;

    /// The metrics in the text format of Prometheus, or why there are none.
    fn metrics(&self) -> Result<String, String>;

    /// The streams to control planes, and the files, by id.
    fn upstreams(&self) -> Vec<Upstream>;

    /// Has the removals of a type believed that a stream to a control plane withholds; false where there are none.
    fn confirm_removals(&self, upstream: u64, type_url: &TypeUrl) -> bool;

    /// Whether clients are moved elsewhere.
    fn draining(&self) -> Draining;

    /// Begins that, as SIGTERM does; nothing happens where it has begun.
    fn drain(&self);

    /// The ids of the open streams, ascending.
    fn client_ids(&self) -> Vec<u64>;

    /// How many streams there were since the start, open or gone.
    fn clients_seen(&self) -> u64;

    /// An open stream; none if it is gone. `whole` asks for what takes long to find out too.
    fn client(&self, id: u64, whole: bool) -> Option<Client>;

    /// The client of an open stream, in short; none if it has ended. Cheaper than [`Self::client`].
    fn client_sketch(&self, id: u64) -> Option<Sketch>;

    /// What an open stream is subscribed to: its types, and what identifies the subscription of each; none if it is
    /// gone.
    fn client_views(&self, id: u64) -> Option<Vec<(TypeUrl, Fingerprint)>>;

    /// Whether the access rules give what `name` stands for to the client of an open stream; none if it is gone.
    fn client_may_have(&self, id: u64, type_url: &TypeUrl, name: &Name) -> Option<bool>;

    /// How an open stream stands with each of its types, and the ids of its views; none if it is gone.
    fn client_standing(&self, id: u64) -> Option<Vec<(u64, Condition)>>;

    /// How each open stream stands with a resource of a type that one of these subscriptions shows; by age.
    fn deliveries(&self, type_url: &TypeUrl, changed: &Changed) -> Vec<Delivery>;

    /// The newest rejections, the newest first.
    fn nacks(&self) -> Vec<Nack>;

    /// The newest changes that were followed to the clients, the newest first.
    fn propagated(&self) -> Vec<Propagated>;

    /// Resources, variants and views.
    fn database(&self) -> Database;

    /// The last known good, on disk, if there is one. This may take as long as reading a directory.
    fn store(&self) -> Option<Store>;

    /// How many subscriptions were refused, since too much would be asked of a control plane; in an order that stays.
    fn refused(&self) -> Vec<Refused>;

    /// The configuration that is in force, and what became of its file.
    ///
    /// # Errors
    /// When it cannot be written.
    fn configuration(&self) -> Result<Configuration, String>;

    /// The configuration that is in force, as a file.
    ///
    /// # Errors
    /// When it cannot be written.
    fn configuration_file(&self) -> Result<String, String>;

    /// How much is logged.
    fn log_level(&self) -> LogLevel;

    /// Changes how much is logged; none takes back what was asked for here.
    ///
    /// # Errors
    /// What is allowed.
    fn set_log_level(&self, level: Option<&str>) -> Result<(), String>;
}

/// What every endpoint is given.
type Shared = Arc<dyn Instance>;

/// What the server has.
#[derive(Clone)]
struct State {
    instance: Shared,
    events: Arc<Events>,
}

impl FromRef<State> for Shared {
    fn from_ref(state: &State) -> Self {
        Self::clone(&state.instance)
    }
}

impl FromRef<State> for Arc<Events> {
    fn from_ref(state: &State) -> Self {
        Self::clone(&state.events)
    }
}

/// The part of the description where the endpoints stand.
const TAG: &str = "admin";

/// Answers on `listener`, over TLS if there is any, whomever the newest `auth` lets do what they ask for, until
/// `shutdown` is done and the requests under way are answered.
pub async fn serve(
    listener: TcpListener,
    tls: Option<Acceptor>,
    auth: watch::Receiver<Auth>,
    instance: Arc<dyn Instance>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) {
    let events = Arc::new(Events::of(Arc::clone(&instance)));
    let router: Router = openapi::routes().with_state(State { instance, events: Arc::clone(&events) });
    let shutdown = async move {
        shutdown.await;
        // What has no end of its own would hold up the end of the server.
        events.end();
    };
    server::serve(Operators::new(listener, tls), auth::guard(router, auth), shutdown).await;
}
