//! The server side of one xDS stream, without IO.
//!
//! Owns what the protocol makes a server remember of a client: per type, what it is subscribed to, which
//! response it has acknowledged, and what it is owed beside the changes of its view. Both dialects are one
//! machine: a request of either becomes one [`SubscriptionRequest`], and what differs is asked of [`Dialect`].
//!
//! Never reads the wire and never encodes: it asks a view of the database how far the world has moved, and the cache of
//! responses for the bytes of a step. Time is an argument. It holds no queue. A client that reads slowly has a cursor that
//! stays behind; the next step that it takes is longer.
//!
//! The contract: [`ServerStream::handle_message`] for each request, in order, whenever it comes;
//! [`ServerStream::poll_transmit`] whenever there is room to send one response and a view has changed or a
//! request was handled, until it returns none; then [`ServerStream::handle_timeout`] at
//! [`ServerStream::poll_timeout`].

mod awaited_endpoints;
mod held_removals;
mod initial_versions;
mod nonce;
mod order;
mod response_state;
mod split;
mod step;
mod subscription_request;
mod transmit;
mod type_subscription;
mod waiting;

#[cfg(test)]
mod tests;

pub use nonce::Nonce;
pub(crate) use step::Step;
pub use subscription_request::{Nack, Names, SubscriptionRequest, Verdict};
pub use transmit::OutgoingResponse;
pub use type_subscription::TypeSubscription;
pub use waiting::{Patience, Wait};

use std::sync::Arc;

use weir_types::{ClientParameters, Dialect, Kind, Version};

use self::awaited_endpoints::AwaitedEndpoints;
use self::held_removals::HeldRemovals;
use self::waiting::ClusterWarming;
use crate::error::StreamError;
use crate::profile::{ClientKind, ClientProfile};
use crate::session::Env;
use crate::subscribed_view::NameErrors;

/// What a stream carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Several types, so that their order matters (ADS).
    Aggregated,
    /// One type.
    SingleType,
    /// One request, which is answered with the whole state or not at all (REST). All that is known of earlier ones is the
    /// version that the request states, so the response waits for another version, whatever is subscribed, and carries
    /// everything. Its nonce is the version too: a request that rejects it names what is not to be sent again.
    Poll {
        /// The version that the request rejects, which is not sent again.
        rejected: Option<Version>,
    },
}

impl Mode {
    fn is_poll(self) -> bool {
        matches!(self, Self::Poll { .. })
    }

    fn rejected(self) -> Option<Version> {
        if let Self::Poll { rejected } = self { rejected } else { None }
    }
}

/// One client's stream, as far as the protocol goes.
pub(crate) struct ServerStream {
    dialect: Dialect,
    mode: Mode,
    /// The parameters of plain names, derived from the client's node.
    parameters: ClientParameters,
    /// By [`TypeUrl::rank`]: the order in which additions leave.
    types: Vec<TypeSubscription>,
    /// Clusters that were sent before the client has asked for their endpoints.
    awaited_endpoints: AwaitedEndpoints,
    /// Whether what may refer to clusters waits for those that were sent last.
    clusters: ClusterWarming,
    /// Whether removals of what the client has by name stay behind.
    held_removals: HeldRemovals,
    patience: Arc<Patience>,
    client: ClientKind,
}

impl ServerStream {
    /// A stream of `client` that waits for as long as `patience` allows for what may never come.
    pub(crate) fn new(dialect: Dialect, mode: Mode, client: &ClientProfile, patience: Arc<Patience>) -> Self {
        Self {
            dialect,
            mode,
            parameters: client.parameters.clone(),
            types: Vec::new(),
            awaited_endpoints: AwaitedEndpoints::default(),
            clusters: ClusterWarming::default(),
            held_removals: HeldRemovals::default(),
            patience,
            client: client.kind,
        }
    }

    /// The dialect of the stream.
    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The type subscriptions, one per type that was asked for.
    pub(crate) fn types(&self) -> &[TypeSubscription] {
        &self.types
    }

    /// How many names the stream remembers beside those that it is subscribed to.
    pub(crate) fn remembered(&self) -> usize {
        self.types.iter().map(TypeSubscription::remembered).sum::<usize>() + self.awaited_endpoints.len()
    }

    /// Takes in one request. Returns its answer to an earlier response.
    pub(crate) fn handle_message(
        &mut self,
        request: SubscriptionRequest,
        env: &Env<'_>,
        errors: NameErrors,
    ) -> Result<Option<Verdict>, StreamError> {
        if let Some(type_subscription) = self.types.iter_mut().find(|l| l.type_url == request.type_url) {
            return type_subscription.handle(request);
        }
        let type_url = request.type_url.clone();
        if let (Mode::Poll { rejected }, Some(_)) = (&mut self.mode, &request.nack) {
            *rejected = Version::parse(&request.nonce);
        }
        let rejected = request.nack.clone().map(|nack| Verdict::Nack { nonce: None, nack });
        let mut type_subscription = TypeSubscription::first(request, &self.parameters, env, errors)?;
        // Who polls is answered with the whole state, whoever it is.
        let client = if self.mode.is_poll() { ClientKind::Other } else { self.client };
        type_subscription.expect_first(self.dialect, client, env.now + self.patience.first_response);
        if type_url.kind() == Kind::ClusterLoadAssignment {
            let awaited = std::mem::take(&mut self.awaited_endpoints);
            type_subscription.resend_held(|name| awaited.contains(name));
        }
        let at = self.types.partition_point(|l| l.type_url.rank() <= type_url.rank());
        self.types.insert(at, type_subscription);
        Ok(rejected)
    }

    /// Asks again for what could not be subscribed to when it was asked for. To be called from time to time where there
    /// is such.
    pub(crate) fn retry(&mut self) {
        for type_subscription in &mut self.types {
            let now = type_subscription.view.retry();
            type_subscription.resend.extend(now);
        }
    }
}
