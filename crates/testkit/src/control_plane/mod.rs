//! A control plane that a test holds the strings of: a real gRPC server of every discovery service, in
//! both dialects, as simple as the protocol allows.
//!
//! It owns its port, what it publishes, and a record of everything that clients sent. It does exactly
//! what the protocol asks of a server and nothing more: in particular it does not resend endpoints after a
//! delta client's cluster changed.

mod delta;
mod load_stats;
mod manners;
mod rest;
mod service;
mod sotw;
mod state;
mod wanted;

use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;
use weir_wire::discovery::{DeltaDiscoveryResponse, DiscoveryResponse};

pub use load_stats::LoadStream;
pub use manners::{Manners, Missing};
pub use state::{Request, Sent, State, Stream};

use self::service::Running;
use crate::listener::SharedTls;
use crate::process::Reserved;
use crate::resource::Published;
use crate::tls::Secured;
use crate::wait::within;

/// What this control plane knows of dynamic parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameters {
    /// Nothing: it ignores locators and goes by the `Node`, as the control planes of today.
    Ignored,
    /// TP2: it goes by locators and sends constraints.
    Native,
}

/// The control plane, seen from the test. Dropping it closes its port and all connections.
pub struct FakeControlPlane {
    /// It keeps its port when it is stopped.
    port: Reserved,
    shared: Arc<Shared>,
    running: Option<Running>,
}

/// What the server's tasks and the test share.
pub(crate) struct Shared {
    /// Every change of it wakes everyone who waits.
    pub(crate) state: watch::Sender<State>,
    pub(crate) parameters: Parameters,
    /// How it uses TLS, if it does.
    pub(crate) tls: Option<SharedTls>,
    /// How many streams it takes on a connection; any number where there is none.
    pub(crate) max_streams: Option<u32>,
}

impl Shared {
    pub(crate) fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.state.borrow())
    }

    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut outcome = None;
        self.state.send_modify(|state| outcome = Some(change(state)));
        outcome.expect("the closure has run")
    }
}

impl FakeControlPlane {
    /// One that goes by the `Node`.
    pub async fn start() -> Self {
        Self::start_with(Parameters::Ignored, None, None).await
    }

    /// One that goes by the `Node`, and takes so many streams on a connection.
    pub async fn start_taking(max_streams: u32) -> Self {
        Self::start_with(Parameters::Ignored, None, Some(max_streams)).await
    }

    /// One that goes by the `Node`, over TLS, and takes only clients with a certificate.
    pub async fn start_secured(secured: &Secured) -> Self {
        let tls = Some(SharedTls::new(Mutex::new(secured.server())));
        Self::start_with(Parameters::Ignored, tls, None).await
    }

    /// Who connects from now on finds these certificates; the connections that there are stay. Panics where no TLS is
    /// used.
    pub fn secure(&self, secured: &Secured) {
        *self.shared.tls.as_ref().expect("TLS is used").lock() = secured.server();
    }

    /// One that uses TP2.
    pub async fn start_tp2() -> Self {
        Self::start_with(Parameters::Native, None, None).await
    }

    async fn start_with(parameters: Parameters, tls: Option<SharedTls>, max_streams: Option<u32>) -> Self {
        let state = watch::Sender::new(State::default());
        let shared = Arc::new(Shared { state, parameters, tls, max_streams });
        let port = Reserved::new();
        let running = Running::start(port.address(), Arc::clone(&shared)).await;
        Self { port, shared, running: Some(running) }
    }

    /// Where it listens; the same after a restart.
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// Its address as an `http://` URI.
    pub fn uri(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Publishes, in place of the same variant if there is one.
    pub fn set(&self, resource: Published) {
        self.set_all([resource]);
    }

    /// Publishes several at once: no client sees one without the others, if they are of one type.
    pub fn set_all(&self, resources: impl IntoIterator<Item = Published>) {
        self.change(|published| {
            for resource in resources {
                published.retain(|other| !resource.replaces(other));
                published.push(resource);
            }
        });
    }

    /// Withdraws all variants of a name.
    pub fn remove(&self, type_url: &str, name: &str) {
        self.change(|published| published.retain(|r| (&*r.type_url, &*r.name) != (type_url, name)));
    }

    /// Changes what is published, in one step.
    pub fn change(&self, change: impl FnOnce(&mut Vec<Published>)) {
        self.send(|state| change(&mut state.published));
    }

    /// Requests are recorded from now on, and not answered; changes are not sent.
    pub fn pause(&self) {
        self.shared.change(|state| state.paused = true);
    }

    /// Everything that is due is sent.
    pub fn resume(&self) {
        self.shared.change(|state| state.paused = false);
    }

    /// Answers subscriptions to names that it does not have in this way from now on.
    pub fn answer_missing(&self, missing: Missing) {
        self.shared.change(|state| state.manners.missing = missing);
    }

    /// Behaves like this from now on.
    pub fn behave(&self, manners: Manners) {
        self.shared.change(|state| state.manners = manners);
    }

    /// Polls over REST are answered by this status and body from now on; by none, as they should be.
    pub fn answer_polls_with(&self, answer: Option<(u16, &str)>) {
        let answer = answer.map(|(status, body)| (status, body.to_owned()));
        self.shared.change(|state| state.poll_answer = answer);
    }

    /// Ends every open stream with UNAVAILABLE; the connections stay.
    pub fn reset_streams(&self) {
        self.shared.change(|state| state.resets += 1);
    }

    /// Closes the port and cuts all connections, as if it had been killed. What it publishes is kept.
    pub async fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop().await;
        }
        self.shared.change(|state| {
            state.streams.iter_mut().for_each(|stream| stream.open = false);
            state.loads.iter_mut().for_each(|stream| stream.open = false);
        });
    }

    /// Listens again, on the same port.
    pub async fn restart(&mut self) {
        self.stop().await;
        self.running = Some(Running::start(self.address(), Arc::clone(&self.shared)).await);
    }

    /// Sends this, as it is, on every open SotW stream that has asked for the type.
    pub fn inject_sotw(&self, response: DiscoveryResponse) {
        self.send(|state| state.injected.push(state::Injected::Sotw(response)));
    }

    /// Sends this, as it is, on every open delta stream that has asked for the type.
    pub fn inject_delta(&self, response: DeltaDiscoveryResponse) {
        self.send(|state| state.injected.push(state::Injected::Delta(response)));
    }

    /// Sends heartbeats, on every open stream that has asked for the type: of what its client was sent and has a
    /// time to live, name, version and time to live, and no body.
    pub fn heartbeat(&self, type_url: &str) {
        self.vouch(type_url, false);
    }

    /// As [`Self::heartbeat`], but with the bodies; in state of the world also of what has no time to live.
    pub fn send_again(&self, type_url: &str) {
        self.vouch(type_url, true);
    }

    fn vouch(&self, type_url: &str, whole: bool) {
        self.send(|state| state.beats.push(state::Beat { type_url: type_url.to_owned(), whole }));
    }

    /// Makes something due on the streams that there are.
    fn send(&self, change: impl FnOnce(&mut State)) {
        self.shared.change(|state| {
            state.revision += 1;
            change(state);
        });
    }

    /// A look at what has happened until now.
    pub fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        self.shared.look(look)
    }

    /// Waits until `find` finds something in what has happened. Panics with the requests that there were.
    pub async fn wait_for<T>(&self, what: &str, mut find: impl FnMut(&State) -> Option<T>) -> T {
        let mut state = self.shared.state.subscribe();
        let mut found = None;
        let waiting = state.wait_for(|state| {
            found = find(state);
            found.is_some()
        });
        if tokio::time::timeout(crate::wait::PATIENCE, waiting).await.is_err() {
            panic!("the control plane waited in vain for {what}; it saw\n{}", self.look(State::describe));
        }
        found.expect("waited until it was found")
    }

    /// Waits until everything that is published has been sent on all open streams, and the newest response of the type
    /// is acknowledged on each of those that it was sent on. Never, if there is none.
    pub async fn wait_for_ack(&self, type_url: &str) {
        self.wait_for(&format!("an acknowledgement of {type_url}"), |state| {
            (state.has_sent_everything() && state.is_acknowledged(type_url)).then_some(())
        })
        .await;
    }

    /// Waits for a request that `wanted` accepts, among all that ever came.
    pub async fn wait_for_request(&self, what: &str, mut wanted: impl FnMut(&Request) -> bool) -> Request {
        self.wait_for(what, |state| state.requests.iter().find(|r| wanted(r)).cloned()).await
    }

    /// Waits until nobody is connected with an open stream.
    pub async fn wait_until_alone(&self) {
        let alone = self.wait_for("all streams to end", |state| {
            state.streams.iter().all(|stream| !stream.open).then_some(())
        });
        within("all streams to end", alone).await;
    }
}

/// When a test fails, what its control plane received is part of the story.
impl Drop for FakeControlPlane {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "--- the control plane at {} saw at last:\n{}",
                self.address(),
                self.look(State::describe)
            );
        }
    }
}
