//! `grpc.health.v1.Health`: whether clients can be served.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream;
use futures_util::stream;
use tonic::{Request, Response, Status};
use tonic_health::ServingStatus;
use tonic_health::pb::health_check_response::ServingStatus as Serving;
use tonic_health::pb::health_server::{Health, HealthServer};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};
use weir_wire::services::SERVICES;

/// Whether clients can be served.
pub(crate) type Readiness = Arc<dyn Fn() -> bool + Send + Sync>;

/// How often it is looked whether that has changed, for those who watch.
const LOOK: Duration = Duration::from_secs(1);

pub(super) fn service(readiness: Readiness) -> HealthServer<Checks> {
    HealthServer::new(Checks(readiness))
}

pub(super) struct Checks(Readiness);

fn response(ready: bool) -> HealthCheckResponse {
    let status = if ready { ServingStatus::Serving } else { ServingStatus::NotServing };
    HealthCheckResponse { status: Serving::from(status) as i32 }
}

/// Whether there is a service of this name; the empty one stands for all of them.
fn is_known(name: &str) -> bool {
    name.is_empty() || SERVICES.iter().any(|service| service.name == name)
}

type Watched = Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send>>;

#[tonic::async_trait]
impl Health for Checks {
    type WatchStream = Watched;

    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        let name = request.into_inner().service;
        match is_known(&name) {
            true => Ok(Response::new(response(self.0()))),
            false => Err(Status::not_found(format!("there is no service {name:?}"))),
        }
    }

    async fn watch(&self, request: Request<HealthCheckRequest>) -> Result<Response<Watched>, Status> {
        if !is_known(&request.into_inner().service) {
            let unknown = HealthCheckResponse { status: Serving::ServiceUnknown as i32 };
            // The stream stays open, in case there is one later; there will not be.
            let stream = stream::once(async move { Ok(unknown) });
            return Ok(Response::new(Box::pin(futures_util::StreamExt::chain(stream, stream::pending()))));
        }
        let readiness = Arc::clone(&self.0);
        let changes = stream::unfold((readiness, None), async |(readiness, last)| {
            let mut ready = readiness();
            while last == Some(ready) {
                tokio::time::sleep(LOOK).await;
                ready = readiness();
            }
            Some((Ok(response(ready)), (readiness, Some(ready))))
        });
        Ok(Response::new(Box::pin(changes)))
    }
}
