//! A client of its own: subscribes to a server and shows what comes.

use std::sync::Arc;

use tokio::sync::mpsc;
use weir_database::Watch;
use weir_protocol::client::{Naming, UpstreamSession};
use weir_types::{Batch, DynamicParameters, Form, ResourceLocator, TypeUrl};

use crate::Lane;
use crate::arrival::Arrival;
use crate::codec::Writer;
use crate::driver::Driver;
use crate::node::introduce;
use crate::stream::{self, Command, EventSink, UpstreamStream};

pub use weir_protocol::client::{Applied, Rejected, Reported};

/// What happens to a client.
#[derive(Debug)]
pub enum Event {
    /// There is a connection to an endpoint.
    Connected,
    /// The connection or the stream is gone, or could not be made. Another one will be tried.
    Disconnected {
        /// The address of the endpoint.
        endpoint: Arc<str>,
        /// Why.
        reason: String,
    },
    /// A response came.
    Applied(Applied),
    /// Something became known without a response, or some time after it.
    Known(Batch),
    /// Whether something is known of everything that is subscribed.
    InSync(bool),
}

/// Sends what happens to whoever looks.
struct ChannelSink(mpsc::UnboundedSender<Event>);

impl EventSink for ChannelSink {
    fn apply(&mut self, applied: Applied, _: Arrival) -> Option<Watch> {
        // Whoever does not look any more has dropped the client, which ends the stream.
        _ = self.0.send(Event::Applied(applied));
        None
    }

    fn note(&mut self, event: stream::Event) {
        let event = match event {
            stream::Event::Connected { .. } => Event::Connected,
            stream::Event::Disconnected { endpoint, reason } => Event::Disconnected { endpoint, reason },
            stream::Event::Known(batch) => Event::Known(batch),
            stream::Event::InSync(in_sync) => Event::InSync(in_sync),
            _ => return,
        };
        _ = self.0.send(event);
    }
}

/// A client, connected or trying to be, until it is dropped.
#[derive(Debug)]
pub struct Client {
    commands: mpsc::UnboundedSender<Command>,
    events: mpsc::UnboundedReceiver<Event>,
}

// === impl Client ===

impl Client {
    /// Starts to connect to the endpoints of `settings`, with their dialect and node, over the aggregated service. With
    /// [`crate::Naming::Native`] it subscribes by locators; else by plain names, as the node filled from no
    /// parameters.
    ///
    /// To be called in a tokio runtime.
    pub fn start(settings: crate::Settings) -> Self {
        Self::start_on(settings, &Lane::default())
    }

    /// As [`Self::start`], over the service that `settings` have for a lane. If there is none, there are no events.
    pub fn start_on(settings: crate::Settings, lane: &Lane) -> Self {
        let (naming, form, node) = match &settings.naming {
            crate::Naming::Native { node } => (Naming::Locators, Form::Located, node.clone()),
            crate::Naming::Streams { keys, node } => {
                let parameters = DynamicParameters::empty();
                (Naming::names(Arc::clone(keys), &parameters), Form::Plain, node.fill(&parameters))
            }
        };
        let machine = settings.machine(naming);
        let (commands, receiver) = mpsc::unbounded_channel();
        let (sender, events) = mpsc::unbounded_channel();
        // Whatever is subscribed, one stream carries it.
        let Some(method) = settings.method(lane) else { return Self { commands, events } };
        let writer = Writer { form, node: introduce(node), node_always: false };
        let (settings, sink) = (Arc::new(settings), ChannelSink(sender));
        let stream = UpstreamStream::new(UpstreamSession::new(machine), settings, false, sink);
        let (subscribers_done, connections, archive) = Default::default();
        let driver =
            Driver { stream, method, writer, commands: receiver, subscribers_done, connections, archive };
        tokio::spawn(driver.run());
        Self { commands, events }
    }

    /// Subscribes to `locator`: by name only, where the client does not use locators.
    pub fn subscribe(&self, type_url: &TypeUrl, locator: ResourceLocator) {
        _ = self.commands.send(Command::Subscribe(type_url.clone(), locator));
    }

    /// Gives up `locator`.
    pub fn unsubscribe(&self, type_url: &TypeUrl, locator: ResourceLocator) {
        _ = self.commands.send(Command::Unsubscribe(type_url.clone(), locator));
    }

    /// What happens next; none when the client has no endpoint to try.
    pub async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }
}
