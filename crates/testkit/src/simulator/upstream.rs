//! A stream from a proxy to what is above it: the client machine, and the words between it and the server's.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_database::Removed;
use weir_protocol::Dialect;
use weir_protocol::client::{self, Naming, Reported, Settings, UpstreamSession};
use weir_session::{Nack, Names};
use weir_types::{
    Batch, Code, Constraints, Content, DynamicParameters, Kind, ResourceLocator, Selector, Variant,
    VariantKey, Version,
};

use super::transport::Transport;
use crate::model::{Request, Response, Sent};

/// One stream, which outlives its connections.
pub(super) struct Upstream {
    pub(super) machine: UpstreamSession,
    pub(super) dialect: Dialect,
    /// What the server makes of the `Node`.
    pub(super) parameters: DynamicParameters,
    pub(super) transport: Transport,
    /// Whether what was collected will be sent.
    pub(super) collecting: bool,
    naming: Naming,
}

impl Upstream {
    pub(super) fn new(dialect: Dialect, naming: Naming, parameters: DynamicParameters) -> Self {
        let does_not_exist = Duration::from_secs(15);
        let drop_on_errors = Arc::from([Code::NOT_FOUND]);
        let settings = Settings {
            dialect,
            naming: naming.clone(),
            does_not_exist,
            polled: false,
            drop_on_errors,
            shrink_guard: None,
            endpoint_guard: None,
        };
        let machine = UpstreamSession::new(settings);
        let mut transport = Transport::default();
        transport.of_proxy();
        Self { machine, dialect, parameters, transport, collecting: false, naming }
    }

    /// The next request, as the server reads it.
    pub(super) fn ask(&mut self, now: Instant) -> Option<Request> {
        let request = self.machine.poll_transmit(now)?;
        Some(self.inbound(request))
    }

    /// Takes in a response; gives what has to be committed before the next request.
    pub(super) fn receive(&mut self, response: Response, now: Instant) -> Batch {
        let applied = self.machine.handle_response(read(response, self.dialect), now);
        assert!(applied.rejected.is_empty(), "the origin sends nothing bad: {:?}", applied.rejected);
        applied.batch
    }

    fn inbound(&self, request: client::Request) -> Request {
        let selector = |locator: ResourceLocator| match &self.naming {
            Naming::Locators => Selector::located(locator.name, locator.parameters),
            Naming::Names { .. } => Selector::plain(locator.name, self.parameters.clone()),
        };
        let selectors = |locators: Vec<_>| {
            let mut selectors: Vec<Selector> = locators.into_iter().map(selector).collect();
            selectors.sort_unstable();
            selectors.dedup();
            selectors
        };
        let known = request.initial_versions.into_iter();
        Request {
            type_url: request.type_url,
            nonce: request.nonce.to_string(),
            nack: request.nack.map(|message| Nack { code: 3, message }),
            names: match self.dialect {
                Dialect::Sotw => Names::Replace(selectors(request.subscribe)),
                Dialect::Delta => Names::Patch {
                    subscribe: selectors(request.subscribe),
                    unsubscribe: selectors(request.unsubscribe),
                },
            },
            version: Version::parse(&request.version),
            known: known.map(|(name, version)| (name, version.to_string())).collect(),
        }
    }
}

/// A response, as the client machine reads it.
fn read(response: Response, dialect: Dialect) -> client::Response {
    let clusters = response.type_url.kind() == Kind::Cluster;
    let resource = |sent: Sent| {
        let key = VariantKey::new(sent.name.clone(), sent.constraints.unwrap_or_default());
        let content = Content {
            body: sent.body,
            ttl: sent.ttl,
            aliases: sent.aliases,
            upstream_version: sent.version.into(),
            eds_name: clusters.then_some(sent.name),
            ..Content::default()
        };
        Ok(Variant::new(key, content))
    };
    let bare = |name| VariantKey::new(name, Constraints::unconstrained());
    let removed = response.removed.into_iter().map(|removed| match removed {
        Removed::Variant(key) => key,
        Removed::Name(name) | Removed::Locator(name) => bare(name),
    });
    let error = |key: &VariantKey| Reported { key: key.clone(), code: Code::NOT_FOUND, message: "".into() };
    let missing = response.missing.into_iter().map(|name| error(&bare(name)));
    let (removed, mut errors): (Vec<_>, Vec<_>) = match dialect {
        Dialect::Delta => (removed.collect(), Vec::new()),
        Dialect::Sotw => (Vec::new(), removed.map(|key| error(&key)).collect()),
    };
    errors.extend(missing);
    let others = response.errors.into_iter();
    errors.extend(others.map(|(key, code, message)| Reported { key, code, message: message.into() }));
    client::Response {
        type_url: response.type_url,
        version: response.version.to_string().into(),
        nonce: response.nonce.into(),
        resources: response.resources.into_iter().map(resource).collect(),
        removed,
        errors,
    }
}
