//! A collector of traces and metrics, over OTLP: gRPC and HTTP on one port.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http_body_util::{BodyExt as _, Full};
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_server::{
    MetricsService, MetricsServiceServer,
};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::trace::v1::{Span, span};
use prost::Message as _;
use tokio::sync::watch;
use tonic::body::Body;
use tonic::codegen::http::{self, HeaderMap, Request, Response};
use tonic::service::{AxumBody, Routes};
use tonic::{Status, async_trait};

use crate::listener::Port;
use crate::wait::within;

/// What was received.
#[derive(Debug, Default)]
pub struct Exports {
    /// Spans, in order of their ends.
    pub spans: Vec<ExportedSpan>,
    /// Metrics, each as often as it was sent, with the attributes of the resource.
    pub metrics: Vec<(Attributes, Metric)>,
    /// The header fields or metadata of each request, and how it was made: `grpc` or a path.
    pub requests: Vec<(String, HeaderMap)>,
}

/// Values as texts, by key.
pub type Attributes = BTreeMap<String, String>;

/// A span, readable.
#[derive(Clone, Debug)]
pub struct ExportedSpan {
    /// Its name.
    pub name: String,
    /// Which trace it is of.
    pub trace: String,
    /// Its id.
    pub id: String,
    /// Its parent's; empty if it has none.
    pub parent: String,
    /// About it.
    pub attributes: Attributes,
    /// The sender.
    pub resource: Attributes,
    /// Names and attributes of what happened in it.
    pub events: Vec<(String, Attributes)>,
    /// The traces and spans that it is linked to.
    pub links: Vec<(String, String)>,
    /// What is wrong; none if nothing is.
    pub error: Option<String>,
    /// How long it took, in seconds.
    pub seconds: f64,
}

/// A running collector.
pub struct Collector {
    shared: Shared,
    port: Port,
}

#[derive(Clone)]
struct Shared(Arc<watch::Sender<Exports>>);

impl Collector {
    /// Starts one.
    pub async fn start() -> Self {
        let shared = Shared(Arc::new(watch::Sender::new(Exports::default())));
        let (port, incoming) = Port::listen(SocketAddr::from(([127, 0, 0, 1], 0)), None).await;
        let routes = Routes::new(TraceServiceServer::new(shared.clone()))
            .add_service(MetricsServiceServer::new(shared.clone()))
            .into_axum_router()
            .fallback_service(Http(shared.clone()));
        let server = tonic::transport::Server::builder().accept_http1(true).add_routes(Routes::from(routes));
        tokio::spawn(server.serve_with_incoming(incoming));
        Self { shared, port }
    }

    /// Where it is.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.port.address())
    }

    /// Looks at what was received.
    pub fn look<T>(&self, look: impl FnOnce(&Exports) -> T) -> T {
        look(&self.shared.0.borrow())
    }

    /// Waits until `find` finds something.
    pub async fn wait_for<T>(&self, what: &str, mut find: impl FnMut(&Exports) -> Option<T>) -> T {
        let mut exports = self.shared.0.subscribe();
        let mut found = None;
        let waiting = exports.wait_for(|exports| {
            found = find(exports);
            found.is_some()
        });
        within(format!("the collector to receive {what}"), waiting).await.expect("the sender is ours");
        found.expect("waited until it was found")
    }

    /// The first span like this. Its children came before it, unless they end later.
    pub async fn span(&self, what: &str, mut wanted: impl FnMut(&ExportedSpan) -> bool) -> ExportedSpan {
        self.wait_for(what, |exports| exports.spans.iter().find(|span| wanted(span)).cloned()).await
    }

    /// The spans below one, by name, once there are as many.
    pub async fn children(&self, of: &ExportedSpan, count: usize) -> Vec<ExportedSpan> {
        let what = format!("{count} children of {of:?}");
        let children = |exports: &Exports| {
            let mut children: Vec<_> = exports
                .spans
                .iter()
                .filter(|span| span.trace == of.trace && span.parent == of.id)
                .cloned()
                .collect();
            children.sort_by(|a, b| a.name.cmp(&b.name));
            (children.len() >= count).then_some(children)
        };
        self.wait_for(&what, children).await
    }
}

impl Shared {
    fn traces(&self, request: ExportTraceServiceRequest) {
        self.0.send_modify(|exports| {
            for resource in request.resource_spans {
                let attributes = attributes(resource.resource.map(|r| r.attributes).unwrap_or_default());
                let spans = resource.scope_spans.into_iter().flat_map(|scope| scope.spans);
                exports.spans.extend(spans.map(|span| ExportedSpan::new(span, &attributes)));
            }
        });
    }

    fn metrics(&self, request: ExportMetricsServiceRequest) {
        self.0.send_modify(|exports| {
            for resource in request.resource_metrics {
                let attributes = attributes(resource.resource.map(|r| r.attributes).unwrap_or_default());
                let metrics = resource.scope_metrics.into_iter().flat_map(|scope| scope.metrics);
                exports.metrics.extend(metrics.map(|metric| (attributes.clone(), metric)));
            }
        });
    }

    fn requested(&self, how: &str, headers: &HeaderMap) {
        self.0.send_modify(|exports| exports.requests.push((how.to_owned(), headers.clone())));
    }
}

impl ExportedSpan {
    fn new(span: Span, resource: &Attributes) -> Self {
        let events = span.events.into_iter().map(|event| (event.name, attributes(event.attributes)));
        let links = span.links.iter().map(|link| (hex(&link.trace_id), hex(&link.span_id)));
        let error = span.status.filter(|status| status.code == 2).map(|status| status.message);
        assert_ne!(span.kind, span::SpanKind::Unspecified as i32, "{}", span.name);
        Self {
            name: span.name,
            trace: hex(&span.trace_id),
            id: hex(&span.span_id),
            parent: hex(&span.parent_span_id),
            attributes: attributes(span.attributes),
            resource: resource.clone(),
            events: events.collect(),
            links: links.collect(),
            error,
            seconds: span.end_time_unix_nano.saturating_sub(span.start_time_unix_nano) as f64 / 1e9,
        }
    }

    /// The attribute of its resource under a key; empty if there is none.
    pub fn attribute(&self, key: &str) -> &str {
        self.attributes.get(key).map_or("", String::as_str)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// As texts.
pub fn attributes(pairs: Vec<KeyValue>) -> Attributes {
    pairs.into_iter().map(|pair| (pair.key, text(pair.value))).collect()
}

fn text(value: Option<AnyValue>) -> String {
    match value.and_then(|value| value.value) {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::DoubleValue(number)) => number.to_string(),
        Some(Value::BoolValue(truth)) => truth.to_string(),
        other => format!("{other:?}"),
    }
}

#[async_trait]
impl TraceService for Shared {
    async fn export(
        &self,
        request: tonic::Request<ExportTraceServiceRequest>,
    ) -> Result<tonic::Response<ExportTraceServiceResponse>, Status> {
        self.requested("grpc", request.metadata().as_ref());
        self.traces(request.into_inner());
        Ok(tonic::Response::new(ExportTraceServiceResponse::default()))
    }
}

#[async_trait]
impl MetricsService for Shared {
    async fn export(
        &self,
        request: tonic::Request<ExportMetricsServiceRequest>,
    ) -> Result<tonic::Response<ExportMetricsServiceResponse>, Status> {
        self.requested("grpc", request.metadata().as_ref());
        self.metrics(request.into_inner());
        Ok(tonic::Response::new(ExportMetricsServiceResponse::default()))
    }
}

/// Protobuf over HTTP.
#[derive(Clone)]
struct Http(Shared);

impl tonic::codegen::Service<Request<AxumBody>> for Http {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<AxumBody>) -> Self::Future {
        let shared = self.0.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.expect("a whole request").to_bytes();
            let path = head.uri.path();
            shared.requested(path, &head.headers);
            let status = match path {
                "/v1/traces" => {
                    shared.traces(ExportTraceServiceRequest::decode(body).expect("spans"));
                    http::StatusCode::OK
                }
                "/v1/metrics" => {
                    shared.metrics(ExportMetricsServiceRequest::decode(body).expect("metrics"));
                    http::StatusCode::OK
                }
                _ => http::StatusCode::NOT_FOUND,
            };
            let mut response = Response::new(Body::new(Full::default()));
            *response.status_mut() = status;
            Ok(response)
        })
    }
}
