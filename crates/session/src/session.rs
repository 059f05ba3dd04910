//! One client's stream without IO: gRPC in either dialect, or a poll over REST.
//!
//! Owns what the client may ask for, what it is subscribed to, and how far it was sent the changes of that. Never reads,
//! writes, counts, logs or waits: requests come decoded, a response is made when there is room for it, time is an
//! argument, and what there is to count or to log is returned.
//!
//! The contract: [`Session::handle_request`] for each request, in order, whenever it comes; [`Session::poll_transmit`]
//! whenever there is room to send one response and a view has changed, a request was handled or a wait has ended, until
//! it returns none; [`Session::handle_timeout`] at [`Session::poll_timeout`]. The stream is over with an error, and when
//! there is a [`Session::close_reason`].

mod retry;
mod settings;
mod stream_limits;

use std::sync::Arc;
use std::time::Instant;

use weir_database::{Database, ViewListener};
use weir_types::{Dialect, Name, Selector, TypeUrl, Version};
use weir_wire::services::Service;

use self::retry::Retry;
pub use self::settings::SessionSettings;
use crate::cold::Cold;
use crate::error::StreamError;
use crate::profile::ClientProfile;
use crate::request::{InitialVersions, Request};
use crate::responses::{ResponseCache, Responses, StreamResponses};
use crate::rights::Denied;
use crate::scope::Scope;
use crate::stream::{
    Mode, OutgoingResponse, ServerStream, SubscriptionRequest, TypeSubscription, Verdict, Wait,
};
use crate::subscribed_view::{NameErrors, SubscribedView};
use crate::wrapping::Wrapping;

/// The transport of a client's requests.
#[derive(Clone, Copy, Debug)]
pub enum ClientTransport {
    /// By a stream of this service.
    Grpc(&'static Service, Dialect),
    /// By one request, which gets one response.
    Rest,
}

/// What a session works on.
#[derive(Clone, Copy)]
pub struct Env<'a> {
    /// What the client subscribes to.
    pub database: &'a Database,
    /// Is woken when there may be a response.
    pub subscriber: &'a Arc<dyn ViewListener>,
    /// Reads what clients state to hold.
    pub initial_versions: &'a dyn InitialVersions,
    /// What time it is.
    pub now: Instant,
}

/// What came of a request.
#[derive(Debug)]
pub struct Handled {
    /// The type that it is about.
    pub type_url: TypeUrl,
    /// The response that it answers; empty for none.
    pub nonce: String,
    /// State of the world: the version that it states.
    pub version: Option<Version>,
    /// What the client decided on an earlier response.
    pub verdict: Option<Verdict>,
    /// What it asks for and the client may not have.
    pub denied: Option<Denied>,
    /// What it asks for beyond the limits.
    pub refused: Vec<RefusedName>,
}

/// A name beyond the limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedName {
    /// The name.
    pub name: Name,
    /// The limit, in words.
    pub reason: Arc<str>,
}

/// One client's stream, from its first request on.
pub struct Session {
    machine: ServerStream,
    /// None for a poll, whose path names the type.
    scope: Option<Scope>,
    client: Arc<ClientProfile>,
    settings: Arc<SessionSettings>,
    wrapping: Wrapping,
    cold: Cold,
    seed: u32,
    /// While there are names that are refused.
    retry: Option<Box<Retry>>,
}

impl Session {
    /// That of `client`, which is sent its resources in this `wrapping`. What is left to chance follows from `seed`.
    pub fn new(
        transport: ClientTransport,
        client: Arc<ClientProfile>,
        wrapping: Wrapping,
        settings: Arc<SessionSettings>,
        seed: u32,
    ) -> Self {
        let (scope, mode, dialect) = match transport {
            ClientTransport::Grpc(service, dialect) => {
                let scope = Scope::new(service);
                let mode = scope.mode();
                (Some(scope), mode, dialect)
            }
            ClientTransport::Rest => (None, Mode::Poll { rejected: None }, Dialect::Sotw),
        };
        let machine = ServerStream::new(dialect, mode, &client, Arc::clone(&settings.patience));
        // Who polls does not count down, and a poll is answered by changes.
        let wrapping = Wrapping { for_ttl: wrapping.for_ttl && scope.is_some(), ..wrapping };
        let cold = settings.cold_start.of(client.kind, dialect);
        Self { machine, scope, client, settings, wrapping, cold, seed, retry: None }
    }

    /// Takes in a request.
    ///
    /// # Errors
    /// What is wrong with it: the stream is over.
    pub fn handle_request<R: Request>(&mut self, request: R, env: &Env<'_>) -> Result<Handled, StreamError> {
        let request = self.read(request, env)?;
        let (denied, verdict) = self.client.rights.check(&request, self.subscription(&request.type_url));
        if let Err(refused) = verdict {
            return Err(refused.with_denied(denied));
        }
        let refused_before: Vec<Selector> =
            self.over_limit_of(&request.type_url).map(|(selector, _)| selector.clone()).collect();
        let (type_url, nonce, version) = (request.type_url.clone(), request.nonce.clone(), request.version);
        // What is refused of a poll is in its status.
        let refused = self.scope.is_some() && self.client.kind.takes_errors(self.machine.dialect());
        let errors = NameErrors { unavailable: self.cold.sends_errors, refused };
        let verdict = self.machine.handle_message(request, env, errors)?;
        let refused = self.refused_since(&type_url, &refused_before);
        if self.retry.is_none() && self.refused() > 0 {
            let retry = Retry::new(self.settings.retry_after, self.seed.into(), env.now);
            self.retry = Some(Box::new(retry));
        }
        Ok(Handled { type_url, nonce, version, verdict, denied, refused })
    }

    /// What the client asks for, once it is held against the scope of the stream and the limits.
    fn read<R: Request>(
        &mut self,
        mut request: R,
        env: &Env<'_>,
    ) -> Result<SubscriptionRequest, StreamError> {
        self.wrapping.always |= request.has_locators();
        let limits = &self.settings.limits;
        if let Some(scope) = &mut self.scope {
            limits.check_text(&"type_url", request.type_url_mut())?;
            scope.admit(request.type_url_mut())?;
        }
        let mut request = request.into_subscription_request(&self.client, limits, env.initial_versions)?;
        self.settings.virtual_hosts.apply(&mut request);
        if self.scope.is_some() {
            stream_limits::check(&self.machine, &request, limits)?;
        }
        Ok(request)
    }

    fn of_type(&self, type_url: &TypeUrl) -> Option<&TypeSubscription> {
        self.types().iter().find(|type_subscription| type_subscription.type_url() == type_url)
    }

    fn subscription(&self, type_url: &TypeUrl) -> Option<&weir_types::Subscription> {
        self.of_type(type_url).map(TypeSubscription::view).map(SubscribedView::subscription)
    }

    fn over_limit_of(&self, type_url: &TypeUrl) -> impl Iterator<Item = (&Selector, &Arc<str>)> {
        self.of_type(type_url).into_iter().flat_map(|type_subscription| type_subscription.view().over_limit())
    }

    fn refused_since(&self, type_url: &TypeUrl, before: &[Selector]) -> Vec<RefusedName> {
        let new = self.over_limit_of(type_url).filter(|(selector, _)| !before.contains(selector));
        let refused = |(selector, reason): (&Selector, &Arc<str>)| RefusedName {
            name: selector.locator.name.clone(),
            reason: Arc::clone(reason),
        };
        new.map(refused).collect()
    }

    /// How many names are refused for now.
    fn refused(&self) -> usize {
        self.types().iter().map(|type_subscription| type_subscription.view().over_limit().count()).sum()
    }

    /// The next response, if there is one. The caller has room to send it.
    pub fn poll_transmit<C: ResponseCache>(
        &mut self,
        responses: &Responses<C>,
        now: Instant,
    ) -> Option<OutgoingResponse> {
        if self.cold.may_end(&self.machine) {
            return None;
        }
        let polls = self.scope.is_none();
        self.machine.poll_transmit(&StreamResponses {
            responses,
            wrapping: self.wrapping,
            takes_any_size: polls || self.client.takes_any_size,
            takes_trace_context: !polls && self.client.takes_trace_context,
            now,
        })
    }

    /// When a wait is to end, or refused names are to be asked for again.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.machine.poll_timeout().into_iter().chain(self.retry.iter().map(|retry| retry.at)).min()
    }

    /// Ends the waits whose time is up, and asks again for refused names. To be called at [`Self::poll_timeout`].
    pub fn handle_timeout(&mut self, now: Instant) -> Vec<Wait> {
        if let Some(mut retry) = self.retry.take_if(|retry| retry.at <= now) {
            self.machine.retry();
            if self.refused() > 0 {
                retry.put_off(now);
                self.retry = Some(retry);
            }
        }
        self.machine.handle_timeout(now)
    }

    /// Whether refused names are asked for again, from time to time.
    pub fn is_retrying(&self) -> bool {
        self.retry.is_some()
    }

    /// Whether a response waits for something, and will leave without it when that takes too long.
    pub fn is_waiting(&self) -> bool {
        self.machine.poll_timeout().is_some()
    }

    /// Whether there may be a response.
    pub fn may_transmit(&self) -> bool {
        self.machine.is_due() && !self.cold.may_end(&self.machine)
    }

    /// Why the stream ends though the client goes on, if it does: there is nobody to ask.
    pub fn close_reason(&self) -> Option<StreamError> {
        self.cold.end(&self.machine)
    }

    /// What is subscribed, and how far the client has got: one for each type, in the order in which additions leave.
    pub fn types(&self) -> &[TypeSubscription] {
        self.machine.types()
    }

    /// How many names the stream is subscribed to.
    pub fn subscribed(&self) -> usize {
        self.types().iter().map(|type_subscription| type_subscription.view().subscription().len()).sum()
    }

    /// How many names the stream remembers beside those that it is subscribed to.
    pub fn remembered(&self) -> usize {
        self.machine.remembered()
    }
}
