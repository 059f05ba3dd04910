//! Commands to an upstream stream.

use std::sync::Arc;

use tokio::sync::oneshot;
use weir_protocol::client::Handover;
use weir_types::{DynamicParameters, ResourceLocator, TypeUrl};

use super::{Event, EventSink, UpstreamStream};
use crate::Settings;

/// A command to an upstream stream.
#[derive(Debug)]
pub(crate) enum Command {
    /// Subscribes to a locator.
    Subscribe(TypeUrl, ResourceLocator),
    /// Unsubscribes from a locator.
    Unsubscribe(TypeUrl, ResourceLocator),
    /// Has the server send again what it has for a locator.
    Renew(TypeUrl, ResourceLocator),
    /// Commits again what is known of a locator, for the one parameter set that has come to subscribe to it.
    Recall(TypeUrl, ResourceLocator, DynamicParameters),
    /// Gives up a type, and opens a new stream without it.
    HandOver(TypeUrl, oneshot::Sender<Option<Handover>>),
    /// Goes on with a type of another stream.
    TakeOver(Box<Handover>),
    /// Accepts the losses of a type that are withheld.
    ConfirmRemovals(TypeUrl),
    /// Applies other settings, on a new stream.
    Adjust(Arc<Settings>),
}

/// What has to follow a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Nothing.
    Nothing,
    /// A new stream to the same endpoint.
    NewStream,
    /// A new stream, whose endpoint is chosen anew.
    NewPlace,
}

impl<S: EventSink> UpstreamStream<S> {
    /// Obeys a command.
    pub(crate) fn handle_command(&mut self, command: Command) -> Needs {
        match command {
            Command::Subscribe(type_url, locator) => {
                self.note_wanted(&type_url, &locator, true);
                self.session.subscribe(&type_url, locator);
            }
            Command::Renew(type_url, locator) => self.session.renew(&type_url, &locator),
            Command::Unsubscribe(type_url, locator) => {
                self.note_wanted(&type_url, &locator, false);
                self.session.unsubscribe(&type_url, &locator);
            }
            Command::Recall(type_url, locator, asker) => {
                let batch = self.session.recall(&type_url, &locator);
                self.commit(batch.map(|batch| batch.only_for(&asker)));
            }
            Command::ConfirmRemovals(type_url) => {
                let accepted = self.session.confirm_removals(&type_url);
                let before = self.collected.take_all();
                self.commit(before.into_iter().chain(accepted));
                self.report_shrinks();
            }
            Command::TakeOver(handover) => {
                self.expect_unconfirmed(handover.type_url());
                self.session.take_over(*handover);
            }
            Command::HandOver(type_url, to) => {
                // The receiver waits for the answer, or is gone with everything else.
                _ = to.send(self.session.hand_over(&type_url));
                return Needs::NewStream;
            }
            Command::Adjust(settings) => {
                self.apply_settings(settings);
                return Needs::NewPlace;
            }
        }
        if self.session.needs_new_stream() { Needs::NewStream } else { Needs::Nothing }
    }

    /// Applies other settings of the same control plane from now on.
    fn apply_settings(&mut self, settings: Arc<Settings>) {
        let naming = self.session.settings().naming.clone();
        let accepted = self.session.apply_settings(settings.machine(naming));
        let before = self.collected.take_all();
        self.commit(before.into_iter().chain(accepted));
        self.report_shrinks();
        self.failover = settings.failover();
        self.memory.iter_mut().for_each(|memory| memory.rely_on_versions(settings.versions_last()));
        self.settings = Arc::clone(&settings);
        self.sink.note(Event::Adjusted(settings));
    }
}
