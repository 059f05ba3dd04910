//! The streams to one control plane for one parameter set.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use tokio::sync::{mpsc, oneshot};
use weir_types::{DynamicParameters, ResourceLocator, TypeUrl};

use super::Context;
use crate::Settings;
use crate::assignment::{Assignment, Lane, Role};
use crate::stream::Command;

/// The streams for one parameter set, or for all of them.
pub(super) struct StreamSet {
    parameters: DynamicParameters,
    assignment: Assignment,
    /// The commands of each stream; one ends when they are dropped.
    pub(super) streams: HashMap<Lane, mpsc::UnboundedSender<Command>>,
    pub(super) wanted: HashMap<(TypeUrl, ResourceLocator), usize>,
}

// === impl StreamSet ===

impl StreamSet {
    pub(super) fn new(parameters: DynamicParameters) -> Self {
        let (assignment, streams, wanted) = (Assignment::default(), HashMap::new(), HashMap::new());
        Self { parameters, assignment, streams, wanted }
    }

    /// Wants `locator`, for a client whose own parameters are `asker`.
    pub(super) async fn want(
        &mut self,
        type_url: TypeUrl,
        locator: ResourceLocator,
        asker: DynamicParameters,
        context: &mut Context,
    ) {
        let count = self.wanted.entry((type_url.clone(), locator.clone())).or_default();
        *count += 1;
        if *count > 1 {
            let role = self.assignment.role(&type_url, locator.is_wildcard());
            let lane = context.settings.lane(role, &type_url);
            self.send(lane, Command::Recall(type_url, locator, asker), context);
            return;
        }
        let placement = self.assignment.place(&type_url, locator.is_wildcard());
        if placement.displaces_names {
            self.displace(&type_url, context).await;
        }
        let lane = context.settings.lane(placement.role, &type_url);
        self.send(lane, Command::Subscribe(type_url, locator), context);
    }

    /// Moves the names of a type from the primary to the secondary stream.
    pub(super) async fn displace(&mut self, type_url: &TypeUrl, context: &mut Context) {
        let (to, from) = oneshot::channel();
        let [primary, secondary] =
            [Role::Primary, Role::Secondary].map(|role| context.settings.lane(role, type_url));
        let stream = self.send(primary, Command::HandOver(type_url.clone(), to), context);
        let handover = tokio::select! {
            biased;
            handover = from => handover.ok().flatten(),
            // What comes while it ends stays unread.
            () = stream.closed() => None,
        };
        if let Some(handover) = handover {
            self.send(secondary, Command::TakeOver(Box::new(handover)), context);
        }
    }

    pub(super) fn give_up(&mut self, type_url: &TypeUrl, locator: ResourceLocator, settings: &Settings) {
        let key = (type_url.clone(), locator);
        let Some(count) = self.wanted.get_mut(&key) else { return };
        *count -= 1;
        if *count > 0 {
            return;
        }
        self.wanted.remove(&key);
        let (type_url, locator) = key;
        if let Some(stream) = self.stream(&type_url, &locator, settings) {
            _ = stream.send(Command::Unsubscribe(type_url.clone(), locator));
        }
        self.assignment.give_up(&type_url);
    }

    pub(super) fn renew(&self, type_url: TypeUrl, locator: ResourceLocator, settings: &Settings) {
        if let Some(stream) = self.stream(&type_url, &locator, settings) {
            _ = stream.send(Command::Renew(type_url, locator));
        }
    }

    /// The stream that carries what was subscribed before.
    fn stream(
        &self,
        type_url: &TypeUrl,
        locator: &ResourceLocator,
        settings: &Settings,
    ) -> Option<&mpsc::UnboundedSender<Command>> {
        let role = self.assignment.role(type_url, locator.is_wildcard());
        self.streams.get(&settings.lane(role, type_url))
    }

    /// Sends a command to a stream that ends only after us, but for a fault, and starts it where there is none yet.
    fn send(
        &mut self,
        lane: Lane,
        command: Command,
        context: &mut Context,
    ) -> &mpsc::UnboundedSender<Command> {
        let stream = match self.streams.entry(lane) {
            Entry::Occupied(started) => started.into_mut(),
            Entry::Vacant(vacant) => {
                let stream = context.start(&self.parameters, vacant.key());
                vacant.insert(stream)
            }
        };
        _ = stream.send(command);
        stream
    }
}
