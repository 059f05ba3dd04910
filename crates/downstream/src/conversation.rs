//! The requests and responses of one client on a stream, without the stream itself.
//!
//! Owns who the client is, what its stream may carry, and the machine. Never reads, writes, counts or logs: requests
//! come decoded, and a response is made when there is room for it.

mod names;

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use weir_database::{Database, Subscriber};
use weir_protocol::Dialect;
use weir_protocol::server::{Inbound, ServerStream, TimedOut, Transmit, Verdict, View as _};
use weir_wire::services::Service;

use crate::cold::Cold;
use crate::error::StreamError;
use crate::frames::{Frames, now};
use crate::known::Statements;
use crate::profile::{ClientKind, ClientProfile};
use crate::request::Request;
use crate::rights::Denied;
use crate::scope::Scope;
use crate::session_settings::SessionSettings;
use crate::view::{Attached, Attacher, Tells};
use crate::wrapping::Wrapping;

/// The requests and responses of one client, from its first request on.
pub struct Conversation {
    machine: ServerStream<Attached, Bytes>,
    scope: Scope,
    client: Arc<ClientProfile>,
    wrapping: Wrapping,
    settings: Arc<SessionSettings>,
    cold: Cold,
}

impl Conversation {
    /// With a client of `service` that is sent its resources in this `wrapping`.
    pub fn new(
        (service, dialect): (&'static Service, Dialect),
        client: Arc<ClientProfile>,
        wrapping: Wrapping,
        settings: Arc<SessionSettings>,
    ) -> Self {
        let cold = settings.cold_start.of(client.kind, dialect);
        let scope = Scope::new(service);
        let machine = ServerStream::new(dialect, scope.mode(), client.parameters.clone());
        let machine = machine.with_patience(Arc::clone(&settings.patience));
        let machine = machine.for_proxy(client.kind == ClientKind::Weir);
        Self { machine, scope, client, wrapping, settings, cold }
    }

    /// What the client asks with `request`, once it is held against the scope of the stream and the limits; and what of it
    /// the client may not have.
    ///
    /// # Errors
    /// What is wrong with it: the stream is over.
    pub fn read<R: Request>(
        &mut self,
        mut request: R,
        statements: &Statements,
    ) -> Result<(Inbound, Option<Denied>), StreamError> {
        self.wrapping.always |= request.has_locators();
        self.settings.limits.check_text(&"type_url", request.type_url_mut())?;
        self.scope.admit(request.type_url_mut())?;
        let inbound = request.into_inbound(&self.client, &self.settings.limits, statements)?;
        names::check(&self.machine, &inbound, &self.settings.limits)?;
        let mut types = self.machine.logical().iter();
        let own = types.find(|logical| *logical.type_url() == inbound.type_url);
        let subscribed = own.map(|logical| logical.view().subscription());
        let (denied, verdict) = self.client.rights.check(&inbound, subscribed);
        match verdict {
            Ok(()) => Ok((inbound, denied)),
            Err(refused) => Err(StreamError::from(refused).with_denied(denied)),
        }
    }

    /// Takes in what the client asks of `database`; `subscriber` is woken when there may be something to send. What
    /// the client answers to an earlier response is returned.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED for a subscription that is refused: the stream is over.
    pub fn hear(
        &mut self,
        inbound: Inbound,
        database: &Database,
        subscriber: &Arc<dyn Subscriber>,
    ) -> Result<Option<Verdict>, StreamError> {
        let takes_errors = self.client.kind.takes_errors(self.machine.dialect());
        let tells = Tells { away: self.cold.tells, refused: takes_errors };
        let mut views = Attacher { database, subscriber, tells };
        Ok(self.machine.handle_message(inbound, &mut views, now())?)
    }

    /// How many names are refused for now, and sent as refused.
    pub fn refused(&self) -> usize {
        self.machine.logical().iter().map(|logical| logical.view().refused()).sum()
    }

    /// Asks again for what was refused.
    pub fn retry(&mut self) {
        self.machine.retry();
    }

    /// When something has waited for long enough.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.machine.poll_timeout()
    }

    /// Ends the waits whose time is up.
    pub(crate) fn handle_timeout(&mut self) -> TimedOut {
        self.machine.handle_timeout(now())
    }

    /// The next response, if there is anything to send.
    pub fn respond(&mut self, frames: &Frames) -> Option<Transmit<Bytes>> {
        let frames = frames.of_stream(self.wrapping).noted(self.client.takes_trace_context);
        let mut frames = if self.client.takes_any_size { frames.unlimited() } else { frames };
        self.machine.poll_transmit(&mut frames, now())
    }

    /// How many names the stream is subscribed to.
    pub(crate) fn subscribed(&self) -> usize {
        self.machine.logical().iter().map(|logical| logical.view().subscription().len()).sum()
    }

    /// Whether there may be something to send: a response, or the end.
    pub(crate) fn is_due(&self) -> bool {
        self.machine.is_due() || self.end().is_some()
    }

    /// Why the stream ends though the client goes on, if it does: there is nobody to ask.
    pub fn end(&self) -> Option<StreamError> {
        self.cold.end(&self.machine)
    }

    /// The machine: what is subscribed, and how far the client has got.
    pub fn machine(&self) -> &ServerStream<Attached, Bytes> {
        &self.machine
    }
}
