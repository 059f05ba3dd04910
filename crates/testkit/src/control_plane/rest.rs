//! Polls over REST-JSON: each is answered at once, with everything or with 304.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::HeaderMap;
use prost::Message as _;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response, StatusCode};
use tonic::service::AxumBody;
use weir_wire::discovery::DiscoveryResponse;
use weir_wire::json::discovery::{request_from_json, response_to_json};

use super::Shared;
use super::service::Inbound as _;
use super::sotw::{encode, version_of};
use super::state::{self, Sent, Stream};
use super::wanted::{Wanted, Whom, has_legacy_wildcard, select};
use crate::client::Dialect;

/// What the paths of all types begin with.
pub(super) const PREFIX: &str = "/v3/discovery:";

pub(super) async fn answer(shared: Arc<Shared>, request: Request<AxumBody>) -> Response<Body> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await.expect("a whole request").to_bytes();
    let message = request_from_json(&body).expect("a well-formed request");
    let request = shared.change(|state| {
        let mut request = message.record(0);
        request.stream = stream_of(state, &path, &request);
        state.requests.push(request.clone());
        request
    });
    let mut changes = shared.state.subscribe();
    let state = changes.wait_for(|state| !state.paused).await.expect("the state outlives its server");
    let prepared = state.poll_answer.clone();
    drop(state);
    match prepared {
        Some((status, body)) => respond(status, body.into()),
        None => poll(&shared, &request),
    }
}

/// The polls of a client for a type are one stream.
fn stream_of(state: &mut state::State, path: &str, request: &state::Request) -> usize {
    let same = |stream: &Stream| stream.path == path && stream.node == request.node;
    state.streams.iter().position(same).unwrap_or_else(|| {
        let (path, node) = (path.to_owned(), request.node.clone());
        let headers = HeaderMap::new();
        state.streams.push(Stream { dialect: Dialect::Sotw, path, headers, node, open: false, up_to: None });
        state.streams.len() - 1
    })
}

fn poll(shared: &Shared, request: &state::Request) -> Response<Body> {
    let node = request.node.clone().unwrap_or_default();
    let whom = Whom { node, knows: shared.parameters };
    let mut wanted: BTreeSet<Wanted> = whom.wanted(&request.names, &request.locators);
    if wanted.is_empty() && has_legacy_wildcard(&request.type_url) {
        wanted.insert(Wanted::plain("*"));
    }
    let matches = shared.look(|state| select(&state.published, &request.type_url, &wanted, &whom));
    let version = version_of(&matches);
    if version == request.version {
        return respond(304, Bytes::new());
    }
    let message = DiscoveryResponse {
        type_url: request.type_url.clone(),
        resources: matches.iter().map(encode).collect(),
        ..DiscoveryResponse::default()
    };
    let json = response_to_json(&message.encode_to_vec(), &version).expect("resources with a JSON form");
    shared.change(|state| {
        let (stream, type_url, nonce) = (request.stream, request.type_url.clone(), version);
        let (after, resources) = (state.requests.len(), matches.len());
        state.sent.push(Sent { stream, type_url, nonce, after, resources });
    });
    respond(200, json)
}

fn respond(status: u16, body: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::new(Full::new(body)));
    *response.status_mut() = StatusCode::from_u16(status).expect("a status code");
    response
}
