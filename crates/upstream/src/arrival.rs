//! How a response came: when, and what trace it belongs to.

use std::time::{Instant, SystemTime};

use opentelemetry::propagation::Extractor;
use opentelemetry::trace::{SpanContext, TraceContextExt};
use opentelemetry::{Context, global};
use tonic::codec::{Codec, DecodeBuf, Decoder};
use tonic::metadata::MetadataMap;
use tonic_prost::ProstCodec;
use weir_wire::discovery::TraceContext;

/// A point in time, on both clocks: that of the day is for people, the other one for durations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) instant: Instant,
    pub(crate) time: SystemTime,
}

impl Moment {
    pub(crate) fn now() -> Self {
        Self { instant: tokio::time::Instant::now().into_std(), time: SystemTime::now() }
    }
}

/// How a response came.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    /// When all of its bytes were there.
    pub(crate) at: Moment,
    /// When they were taken apart.
    pub(crate) decoded: Moment,
    /// What the response states that it belongs to.
    pub(crate) parent: Option<SpanContext>,
    /// What the stream that it came on belongs to.
    pub(crate) stream: Option<SpanContext>,
}

impl Arrival {
    /// Of a response that came at `at`, and is taken apart now.
    pub(crate) fn new(at: Moment, parent: Option<SpanContext>, stream: Option<SpanContext>) -> Self {
        Self { at, decoded: Moment::now(), parent, stream }
    }
}

/// What a response itself contains.
pub(crate) fn of_message(context: &TraceContext) -> Option<SpanContext> {
    extract(&Message(context))
}

/// From the head of a stream, or of an HTTP response.
pub(crate) fn of_head(headers: &http::HeaderMap) -> Option<SpanContext> {
    extract(&Head(headers))
}

/// As [`of_head`], in terms of gRPC.
pub(crate) fn of_metadata(metadata: &MetadataMap) -> Option<SpanContext> {
    of_head(metadata.as_ref())
}

/// By the propagator of the process; nothing where there is none.
fn extract(carrier: &dyn Extractor) -> Option<SpanContext> {
    let context = global::get_text_map_propagator(|propagator| {
        propagator.extract_with_context(&Context::new(), carrier)
    });
    let found = context.span().span_context().clone();
    found.is_valid().then_some(found)
}

struct Message<'a>(&'a TraceContext);

impl Extractor for Message<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        let value = match key {
            "traceparent" => &self.0.traceparent,
            "tracestate" => &self.0.tracestate,
            _ => return None,
        };
        (!value.is_empty()).then_some(value)
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent", "tracestate"]
    }
}

struct Head<'a>(&'a http::HeaderMap);

impl Extractor for Head<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(http::HeaderName::as_str).collect()
    }
}

/// Notes when messages were there, before they are decoded.
pub(crate) struct Timed<Q, R>(ProstCodec<Q, R>);

impl<Q, R> Default for Timed<Q, R>
where
    ProstCodec<Q, R>: Default,
{
    fn default() -> Self {
        Self(ProstCodec::default())
    }
}

impl<Q, R> Codec for Timed<Q, R>
where
    Q: prost::Message + Send + 'static,
    R: prost::Message + Default + Send + 'static,
{
    type Encode = Q;
    type Decode = (Moment, R);
    type Encoder = <ProstCodec<Q, R> as Codec>::Encoder;
    type Decoder = TimedDecoder<<ProstCodec<Q, R> as Codec>::Decoder>;

    fn encoder(&mut self) -> Self::Encoder {
        self.0.encoder()
    }

    fn decoder(&mut self) -> Self::Decoder {
        TimedDecoder(self.0.decoder())
    }
}

pub(crate) struct TimedDecoder<D>(D);

impl<D: Decoder<Error = tonic::Status>> Decoder for TimedDecoder<D> {
    type Item = (Moment, D::Item);
    type Error = tonic::Status;

    fn decode(&mut self, bytes: &mut DecodeBuf<'_>) -> Result<Option<Self::Item>, tonic::Status> {
        let at = Moment::now();
        Ok(self.0.decode(bytes)?.map(|message| (at, message)))
    }
}
