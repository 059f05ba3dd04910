//! What all streams and polls share.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::RwLock;
use prost::Message as _;
use tonic::Status;
use weir_database::{Database, ViewListener};
use weir_session::{
    Denied, Env, Limits, Nonce, RefusedName, Responses, SessionSettings, StreamError, Verdict, Wrapping,
};
use weir_types::TypeUrl;
use weir_wire::discovery::Node;

use crate::admission::Gate;
use crate::clients::{Interned, Nack, Registry};
use crate::drain::Phases;
use crate::known::Statements;
use crate::metrics::{Metrics, Speech};
use crate::node::{Client, Derivation, IdentifyError};
use crate::observed::observe;
use crate::peer::Peer;
use crate::recent_responses::RecentResponses;
use crate::rest::JsonFrames;
use crate::settings::Settings;
use crate::status::status;
use crate::tallies;

/// What time it is, for sessions.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// The settings, and what of them each stream keeps.
struct InForce {
    all: Arc<Settings>,
    session: Arc<SessionSettings>,
}

impl From<Settings> for InForce {
    fn from(settings: Settings) -> Self {
        let session = Arc::new(settings.session());
        Self { all: Arc::new(settings), session }
    }
}

/// What all streams share.
pub(crate) struct Shared {
    pub(crate) database: Database,
    pub(crate) responses: Responses<RecentResponses>,
    /// The same as JSON.
    pub(crate) json: JsonFrames,
    pub(crate) statements: Statements,
    /// As they are for who comes now.
    settings: RwLock<InForce>,
    pub(crate) metrics: Arc<Metrics>,
    /// Everything that is open.
    pub(crate) registry: Registry,
    /// What is kept of the nodes of clients.
    nodes: Interned,
    pub(crate) gate: Gate,
    pub(crate) phases: Phases,
}

impl Shared {
    pub(crate) fn new(settings: Settings, database: Database) -> Self {
        let cached = settings.cache.max_frames_size.get() as u64;
        let cache = RecentResponses::new(cached);
        cache.observe();
        let largest = settings.downstream.max_response_size.get();
        let responses = Responses::new(settings.identifier.clone(), largest, now(), cache);
        observe(&database);
        let metrics = Arc::new(Metrics::new());
        tallies::observe();
        Self {
            responses,
            json: JsonFrames::new(cached),
            statements: Statements::default(),
            gate: Gate::new((&settings).into(), Arc::clone(&metrics)),
            metrics,
            registry: Registry::default(),
            nodes: Interned::default(),
            settings: RwLock::new(settings.into()),
            database,
            phases: Phases::default(),
        }
    }

    /// As they are for who comes now.
    pub(crate) fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.read().all)
    }

    /// What a stream keeps that is opened now.
    pub(crate) fn session_settings(&self) -> Arc<SessionSettings> {
        Arc::clone(&self.settings.read().session)
    }

    /// How much a client may ask for that comes now.
    pub(crate) fn limits(&self) -> Limits {
        self.settings.read().session.limits
    }

    /// Has `settings` count from now on, for who comes.
    pub(crate) fn apply_settings(&self, settings: Settings) {
        self.gate.apply_settings((&settings).into());
        *self.settings.write() = settings.into();
    }

    /// The client that a first message's node describes, and how it is sent resources.
    pub(crate) fn identify_client(
        &self,
        settings: &Settings,
        peer: &Peer,
        node: Option<&[u8]>,
    ) -> Result<(Client, Wrapping), Status> {
        let limits = self.limits();
        limits.check_node(node.unwrap_or_default()).map_err(status)?;
        let Settings { rules, access, forwarding, .. } = settings;
        let derivation = Derivation { rules, access, forwarding };
        let mut client = Client::identify(node, peer.identity.as_ref(), derivation)
            .map_err(|error| self.unidentified(peer, &error))?;
        for (what, text) in [
            ("node.id", &client.id),
            ("node.cluster", &client.cluster),
            ("node.user_agent_name", &client.user_agent),
        ] {
            limits.check_text(&what, text).map_err(status)?;
        }
        client.node = self.nodes.share(client.node);
        let wrapped = settings.downstream.wrap_resources.get(&client.user_agent).copied();
        let wrapping = Wrapping::of(&client.profile, wrapped);
        Ok((client, wrapping))
    }

    /// The client that reports load as `node`, of its first message.
    pub(crate) fn identify_reporter(
        &self,
        settings: &Settings,
        peer: &Peer,
        node: &[u8],
    ) -> Result<Client, Status> {
        let (client, _) = self.identify_client(settings, peer, Some(node))?;
        let decoded = Node::decode(node).map_err(|error| self.unidentified(peer, &error.into()))?;
        let verified = settings.forwarding.verify_reporter(&decoded, peer.identity.as_ref());
        verified.map_err(|error| self.unidentified(peer, &error.into()))?;
        Ok(client)
    }

    /// Makes known that a client cannot be served as what it states to be.
    fn unidentified(&self, peer: &Peer, error: &IdentifyError) -> Status {
        let IdentifyError::Forward(refusal) = error else {
            return Status::invalid_argument(error.to_string());
        };
        self.metrics.node_refused(refusal.reason());
        tracing::warn!(peer = %peer.address, reason = %refusal, "client rejected: its node cannot be forwarded");
        Status::new(tonic::Code::from(refusal.code().0), refusal.to_string())
    }

    /// Makes known that a client asked for what it may not have: one line for a request, however much it names.
    pub(crate) fn deny(&self, denied: &Denied) {
        let Denied { type_url, holder, first, count } = denied;
        self.metrics.denied(type_url, *count);
        tracing::warn!(
            identity = holder, %type_url, name = %first.name, parameters = %first.parameters, names = count,
            "denied"
        );
    }

    /// Makes known what of `type_url` a client asked for beyond the limits.
    pub(crate) fn limit(&self, client: &Client, type_url: &TypeUrl, refused: &[RefusedName]) {
        for RefusedName { name, reason } in refused {
            tracing::warn!(node = client.id, %type_url, %name, %reason, "a name is refused");
        }
    }

    /// What a session works on that wakes `subscriber`.
    pub(crate) fn env<'a>(&'a self, subscriber: &'a Arc<dyn ViewListener>) -> Env<'a> {
        Env { database: &self.database, subscriber, initial_versions: &self.statements, now: now() }
    }

    /// The status that a stream ends with, once it is known what was denied.
    pub(crate) fn refuse(&self, error: StreamError) -> Status {
        error.denied.iter().for_each(|denied| self.deny(denied));
        status(error)
    }

    /// Makes a verdict known, which came on `stream`.
    pub(crate) fn judge(
        &self,
        speech: impl Into<Speech>,
        stream: Option<u64>,
        client: &Arc<Client>,
        type_url: &TypeUrl,
        verdict: &Verdict,
    ) {
        match verdict {
            Verdict::Ack(nonce) => {
                tallies::of(speech, type_url).ack();
                tracing::debug!(node = %client.id, %type_url, %nonce, "accepted");
            }
            Verdict::Nack { nonce, nack } => {
                tallies::of(speech, type_url).nack();
                let nonce = nonce.map(|nonce: Nonce| nonce.to_string());
                tracing::warn!(
                    node = %client.id, cluster = %client.cluster, %type_url,
                    nonce = nonce.as_deref().unwrap_or("(an earlier one)"),
                    code = nack.code, reason = nack.message, "client rejected a response"
                );
                self.registry.reject(Nack::new(stream, client, type_url, nonce, nack));
            }
        }
    }
}
