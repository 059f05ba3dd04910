//! What happens on an upstream stream, for whoever commits, logs and counts it.

use std::collections::HashSet;
use std::sync::Arc;

use weir_database::Watch;
use weir_protocol::client::{Applied, Shrink};
use weir_types::{Batch, ResourceLocator, TypeUrl, VariantKey};

use super::acknowledgement::CompletedAck;
use crate::Settings;
use crate::arrival::Arrival;
use crate::connections::Carrier;

/// Takes in what happens on an upstream stream.
pub(crate) trait EventSink {
    /// Commits a response. Returns a watch of the commit where its acknowledgement waits for subscribers.
    fn apply(&mut self, applied: Applied, arrival: Arrival) -> Option<Watch>;
    /// Notes anything else.
    fn note(&mut self, event: Event);
}

/// What happens on an upstream stream beside responses.
#[derive(Debug)]
pub(crate) enum Event {
    /// There is a connection to this endpoint.
    Connected {
        /// Its address.
        endpoint: Arc<str>,
        /// Its place in the order of preference.
        index: usize,
        /// The connection, where streams share it.
        carrier: Option<Carrier>,
    },
    /// An endpoint that was tried beside the one in use is of no use.
    Unfit {
        /// Its address.
        endpoint: Arc<str>,
        /// Why.
        reason: String,
    },
    /// The connection or the stream is gone, or could not be made. Another one will be tried.
    Disconnected {
        /// Its address.
        endpoint: Arc<str>,
        /// Why.
        reason: String,
    },
    /// An acknowledgement waits for subscribers.
    AckDeferred,
    /// An acknowledgement no longer waits.
    AckCompleted(CompletedAck),
    /// Something became known without a response, or some time after it.
    Known(Batch),
    /// A response has become part of a burst.
    Debounced(TypeUrl),
    /// Losses were withheld, or are no longer.
    Shrink(Shrink),
    /// A locator is subscribed, or no longer.
    Wanted {
        /// Its type.
        type_url: TypeUrl,
        /// The locator.
        locator: ResourceLocator,
        /// Whether it is subscribed.
        wanted: bool,
    },
    /// An earlier process left something that is restored.
    Remembered(Batch),
    /// A server has answered for a locator: of what an earlier process left of it, only `held` counts.
    Outdated {
        /// Its type.
        type_url: TypeUrl,
        /// The locator.
        locator: ResourceLocator,
        /// The variants that the server has sent.
        held: HashSet<VariantKey>,
    },
    /// So many restored resources of a type have not been confirmed by a server.
    Unconfirmed(TypeUrl, usize),
    /// Whether something is known of everything that is subscribed on the current connection.
    InSync(bool),
    /// Another connection takes the place of the current one, with these settings.
    Adjusted(Arc<Settings>),
}
