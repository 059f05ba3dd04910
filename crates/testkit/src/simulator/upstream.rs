//! A stream from Weir to the origin: a client machine here, a server machine there, and what is said in between.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_database::{Database, Removed};
use weir_protocol::Dialect;
use weir_protocol::client::{self, ClientStream, Naming, Request, Settings};
use weir_protocol::server::{Inbound, Nack, Names, ServerStream};
use weir_types::{Constraints, Content, DynamicParameters, Kind, Selector, Variant, VariantKey, Version};

use super::events::Lane;
use crate::model::{Bell, Frames, Place, Places, Response, Sent};

/// One stream, which outlives its connections.
pub(super) struct Upstream {
    pub(super) machine: ClientStream,
    dialect: Dialect,
    naming: Naming,
    /// What the origin makes of the `Node`.
    parameters: DynamicParameters,
    pub(super) server: Option<(ServerStream<Place>, Places)>,
    /// Counts the connections: what travels on an older one is lost.
    pub(super) generation: u64,
    pub(super) up: Lane,
    pub(super) down: Lane,
}

impl Upstream {
    pub(super) fn new(dialect: Dialect, naming: Naming, parameters: DynamicParameters) -> Self {
        let does_not_exist = Duration::from_secs(15);
        let machine = ClientStream::new(Settings { dialect, naming: naming.clone(), does_not_exist });
        let (up, down) = (Lane::default(), Lane::default());
        Self { machine, dialect, naming, parameters, server: None, generation: 0, up, down }
    }

    pub(super) fn open(&mut self, origin: &Database) {
        self.generation += 1;
        let server = ServerStream::new(self.dialect, true, self.parameters.clone());
        let places = Places { database: origin.clone(), bell: Arc::new(Bell::default()) };
        self.server = Some((server, places));
        self.machine.connected();
    }

    pub(super) fn cut(&mut self) {
        self.generation += 1;
        self.server = None;
        self.machine.disconnected();
    }

    /// The next request, as the origin reads it.
    pub(super) fn ask(&mut self, now: Instant) -> Option<Inbound> {
        let request = self.machine.poll_transmit(now)?;
        Some(self.inbound(request))
    }

    /// The next response of the origin.
    pub(super) fn answer(&mut self) -> Option<Response> {
        let (server, _) = self.server.as_mut()?;
        server.poll_transmit(&mut Frames::default()).map(|transmit| transmit.frame)
    }

    pub(super) fn handle(&mut self, inbound: Inbound) {
        if let Some((server, places)) = &mut self.server {
            server.handle_message(inbound, places).expect("the origin refuses nothing");
        }
    }

    fn inbound(&self, request: Request) -> Inbound {
        let selector = |locator: weir_types::ResourceLocator| match &self.naming {
            Naming::Locators => Selector::located(locator.name, locator.parameters),
            Naming::Names { .. } => Selector::plain(locator.name, self.parameters.clone()),
        };
        let selectors = |locators: Vec<_>| {
            let mut selectors: Vec<Selector> = locators.into_iter().map(selector).collect();
            selectors.sort_unstable();
            selectors.dedup();
            selectors
        };
        let known = request.initial_versions;
        Inbound {
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
            known: (!known.is_empty()).then(|| Arc::new(known.into_iter().collect())),
        }
    }
}

/// A response of the origin, as the client machine reads it.
pub(super) fn read(response: Response) -> client::Response {
    let clusters = response.type_url.kind() == Kind::Cluster;
    let resource = |sent: Sent| {
        let key = VariantKey::new(sent.name.clone(), sent.constraints.unwrap_or_default());
        let content = Content {
            body: sent.body,
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
    client::Response {
        type_url: response.type_url,
        version: response.version.to_string().into(),
        nonce: response.nonce.into(),
        resources: response.resources.into_iter().map(resource).collect(),
        removed: removed.collect(),
    }
}
