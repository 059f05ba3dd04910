//! The services for operators and their tools, on the port of the clients: health, the status of clients (CSDS), and
//! reflection.
//!
//! Owns who may call them, and that they end with their connection. Never changes anything.

mod body;
mod csds;
mod health;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::{Request, Response};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tonic::body::Body;
use tonic::service::Routes;
use tower_service::Service as _;
use weir_config::Csds;
use weir_database::Database;

use crate::admission::Opened;
use crate::clients::Registry;
use crate::messages::{Bounds, Whole};
use crate::peer::Peer;
use crate::settings::Settings;
use crate::shared::Shared;

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
        let limit = shared.settings().downstream.max_response_size.get();
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

    /// Whether the answer may go on for long, so that it counts as a stream. Health checks are always answered.
    pub(crate) fn lasts(path: &str) -> bool {
        path.strip_prefix(HEALTH) != Some("Check")
    }

    /// The answer to a request for one of these services, which is read within `bounds`. It counts as a stream if it
    /// was opened; else it has to arrive in time.
    pub(crate) fn answer<B>(
        &self,
        request: Request<B>,
        bounds: Bounds,
        settings: &Settings,
        peer: &Peer,
        ending: CancellationToken,
        opened: Option<Opened>,
    ) -> BoxFuture<'static, Response<Body>>
    where
        B: http_body::Body<Data = bytes::Bytes> + Send + Unpin + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let mut routes = match self.routes(request.uri().path(), settings, peer) {
            Ok(routes) => routes.clone(),
            Err(refusal) => return Box::pin(async { refusal.into_http() }),
        };
        let (pace, lasts) = (bounds.pace, opened.is_some());
        let answer = routes.call(request.map(|body| Body::new(Whole::new(body, bounds))));
        Box::pin(async move {
            let answer = async {
                let Ok(response) = answer.await;
                response
            };
            tokio::select! {
                biased;
                response = answer => {
                    response.map(|body| Body::new(Ending::new(body, ending.clone(), opened)))
                }
                () = ending.cancelled() => Status::unavailable("the connection ends").into_http(),
                () = sleep(pace), if !lasts => late(pace).into_http(),
            }
        })
    }

    /// Who answers.
    fn routes(&self, path: &str, settings: &Settings, peer: &Peer) -> Result<&Routes, Status> {
        if path.starts_with(HEALTH) {
            return Ok(&self.health);
        }
        if path.starts_with(STATUS) {
            return refusal(settings.downstream.csds, peer).map_or(Ok(&self.status), Err);
        }
        let off = || Status::unimplemented("downstream.reflection is false");
        let made =
            || csds::reflection().inspect_err(|error| tracing::error!(%error, "there is no reflection"));
        let reflection = settings.downstream.reflection.then(|| {
            self.reflection.get_or_init(|| made().ok().map(|service| Routes::new(service).prepare()))
        });
        reflection.and_then(Option::as_ref).ok_or_else(off)
    }
}

fn late(pace: Duration) -> Status {
    Status::deadline_exceeded(format!(
        "the request has not arrived within {pace:?} (downstream.receive_timeout)"
    ))
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
    use std::future::ready;

    use bytes::Bytes;
    use futures_util::{StreamExt as _, stream};
    use http_body::Frame;
    use http_body_util::StreamBody;
    use tokio::time::{Instant, timeout};
    use tonic::Code;

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

    /// The code of the answer to a request of which this has `arrived`, and no more does, within an hour, and how many seconds it takes.
    async fn answer(
        method: &str,
        arrived: &'static [u8],
        lasts: bool,
        ending: CancellationToken,
    ) -> (i32, u64) {
        let database = Database::new(weir_database::Settings::default());
        let shared = Shared::new(Settings::default(), database);
        let operations = Operations::new(&shared, Arc::new(|| true));
        let arrived = ready(Ok::<_, Status>(Frame::data(Bytes::from_static(arrived))));
        let body = StreamBody::new(stream::once(arrived).chain(stream::pending()));
        let request = Request::post(format!("{HEALTH}{method}"));
        let request = request.header("content-type", "application/grpc");
        let request = request.body(body).unwrap();
        let opened = lasts.then(|| shared.gate.open(true).ok().unwrap());
        let bounds = Bounds::of(&shared.settings(), &shared.gate);
        let peer = Peer::new("10.0.0.1:1".parse().unwrap(), None);
        let (start, settings) = (Instant::now(), shared.settings());
        let answer = operations.answer(request, bounds, &settings, &peer, ending, opened);
        let answer = timeout(Duration::from_secs(3600), answer).await.expect("it is answered");
        (answer.headers()["grpc-status"].to_str().unwrap().parse().unwrap(), start.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn e05_a_request_that_does_not_go_on_is_not_waited_for() {
        let (late, pace) =
            (Code::DeadlineExceeded as i32, Settings::default().downstream.receive_timeout.get().as_secs());
        let half = &[0, 0, 0x10, 0, 0, 1, 2, 3];
        for (method, arrived, lasts) in
            [("Check", &[][..], false), ("Check", half, false), ("Watch", half, true)]
        {
            let found = answer(method, arrived, lasts, CancellationToken::new()).await;
            assert_eq!(found, (late, pace), "{method} {arrived:?}");
        }
        let huge = answer("Check", &[0, 0xff, 0, 0, 0], false, CancellationToken::new()).await;
        assert_eq!(huge, (Code::ResourceExhausted as i32, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_is_not_complete_ends_with_its_connection() {
        for (method, lasts) in [("Check", false), ("Watch", true)] {
            let ending = CancellationToken::new();
            ending.cancel();
            assert_eq!(answer(method, &[], lasts, ending).await, (Code::Unavailable as i32, 0), "{method}");
        }
    }
}
