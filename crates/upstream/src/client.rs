//! A client of its own: subscribes to a server and shows what comes.

use std::sync::Arc;

use tokio::sync::mpsc;
use weir_protocol::client::{Naming, UpstreamSession};
use weir_types::{DynamicParameters, Form, ResourceLocator, TypeUrl};

use crate::Lane;
use crate::codec::Writer;
use crate::driver::{Command, Link};
use crate::node::introduce;
use crate::stream::acknowledgement::Waiting;
use crate::stream::debounce::Collected;

pub use crate::arrival::Arrival;
pub use crate::driver::Event;
pub use crate::stream::acknowledgement::Release;
pub use weir_protocol::client::{Applied, Rejected, Reported};

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
        let link = Link {
            method,
            writer: Writer { form, node: introduce(node), node_always: !settings.node_on_first_message_only },
            failover: settings.failover(),
            away: false,
            collected: Collected::default(),
            last: None,
            memory: None,
            settings: Arc::new(settings),
            stream: UpstreamSession::new(machine),
            commands: receiver,
            waiting: Waiting::default(),
            answered: Arc::default(),
            on_event: move |event| {
                // Whoever does not look any more has dropped the client, which ends the link.
                _ = sender.send(event);
                None
            },
        };
        tokio::spawn(link.run());
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
