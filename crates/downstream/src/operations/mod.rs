//! The services for operators and their tools, on the port of the clients: health, the status of clients (CSDS), and
//! reflection.
//!
//! Owns who may call them, and that they end with their connection. Never changes anything.

mod body;
mod csds;
mod health;

use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;
use http::{Request, Response};
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tonic::body::Body;
use tonic::service::Routes;
use tower_service::Service as _;
use weir_database::Database;

use crate::admission::Opened;
use crate::clients::Registry;
use crate::peer::Peer;
use crate::settings::{Csds, Settings};
use crate::stream::Shared;

use body::Ending;
pub(crate) use health::Readiness;

/// The services for operators.
pub(crate) struct Operations {
    health: Routes,
    status: Routes,
    /// Made when it is first asked for, since it takes memory; none if it cannot be made.
    reflection: OnceLock<Option<Routes>>,
}

const STATUS: &str = "/envoy.service.status.v3.ClientStatusDiscoveryService/";
const HEALTH: &str = "/grpc.health.v1.Health/";
const REFLECTION: &str = "/grpc.reflection.";

impl Operations {
    /// Of the clients of a server, which is healthy while it is ready.
    pub(crate) fn new(shared: &Shared, readiness: Readiness) -> Self {
        let limit = shared.settings().max_response_size;
        let status = csds::service(shared.registry.clone(), shared.database.clone(), limit);
        Self {
            health: Routes::new(health::service(readiness)).prepare(),
            status: Routes::new(status).prepare(),
            reflection: OnceLock::new(),
        }
    }

    /// Whether a request to `path` is for one of these services.
    pub(crate) fn serves(path: &str) -> bool {
        [STATUS, HEALTH, REFLECTION].iter().any(|service| path.starts_with(service))
    }

    /// Whether the answer may go on for long, so that it counts as a stream. Who only asks for health is always told.
    pub(crate) fn lasts(path: &str) -> bool {
        path.strip_prefix(HEALTH) != Some("Check")
    }

    /// The answer to a request for one of these services, which counts as a stream if it was `opened`.
    pub(crate) fn answer<B>(
        &self,
        request: Request<B>,
        settings: &Settings,
        peer: &Peer,
        ending: CancellationToken,
        opened: Option<Opened>,
    ) -> BoxFuture<'static, Response<Body>>
    where
        B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let mut routes = match self.routes(request.uri().path(), settings, peer) {
            Ok(routes) => routes.clone(),
            Err(refusal) => return Box::pin(async { refusal.into_http() }),
        };
        let answer = routes.call(request.map(Body::new));
        Box::pin(async move {
            let Ok(response) = answer.await;
            response.map(|body| Body::new(Ending::new(body, ending, opened)))
        })
    }

    /// Who answers.
    fn routes(&self, path: &str, settings: &Settings, peer: &Peer) -> Result<&Routes, Status> {
        if path.starts_with(HEALTH) {
            return Ok(&self.health);
        }
        if path.starts_with(STATUS) {
            return refusal(settings.csds, peer).map_or(Ok(&self.status), Err);
        }
        let off = || Status::unimplemented("downstream.reflection is false");
        let made =
            || csds::reflection().inspect_err(|error| tracing::error!(%error, "there is no reflection"));
        let reflection = settings.reflection.then(|| {
            self.reflection.get_or_init(|| made().ok().map(|service| Routes::new(service).prepare()))
        });
        reflection.and_then(Option::as_ref).ok_or_else(off)
    }
}

/// Why this peer may not ask for the status of clients.
fn refusal(csds: Csds, peer: &Peer) -> Option<Status> {
    let local = peer.address.ip().to_canonical().is_loopback();
    match csds {
        Csds::Any => None,
        Csds::Loopback if local => None,
        Csds::Loopback => Some(Status::permission_denied(
            "the status of clients is for those who connect from the same machine; \
             downstream.csds = \"any\" is for all",
        )),
        Csds::Off => Some(Status::unimplemented("downstream.csds is \"off\"")),
    }
}

/// What makes the status of clients.
struct Sources {
    registry: Registry,
    database: Database,
}

type SharedSources = Arc<Sources>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_of_clients_is_for_the_same_machine_unless_configured() {
        let code = |csds, from: &str| {
            let peer = Peer::new(from.parse().unwrap(), None);
            refusal(csds, &peer).map(|status| status.code())
        };
        for local in ["127.0.0.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert_eq!(code(Csds::Loopback, local), None, "{local}");
        }
        assert_eq!(code(Csds::Loopback, "10.0.0.1:1"), Some(tonic::Code::PermissionDenied));
        assert_eq!(code(Csds::Any, "10.0.0.1:1"), None);
        assert_eq!(code(Csds::Off, "127.0.0.1:1"), Some(tonic::Code::Unimplemented));
    }
}
