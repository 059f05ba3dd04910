//! Which trace a message of the log belongs to.

use std::fmt;

use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, TraceContextExt};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// Writes as `F` does, and adds the ids of the trace and the span that the thread is in, if it is in any.
pub(crate) struct Correlated<F> {
    pub(crate) format: F,
    /// Whether a message is a JSON object.
    pub(crate) json: bool,
}

impl<S, N, F> FormatEvent<S, N> for Correlated<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let Some(span) = current() else { return self.format.format_event(context, writer, event) };
        let mut text = String::new();
        self.format.format_event(context, Writer::new(&mut text), event)?;
        let (trace, span) = (span.trace_id(), span.span_id());
        match text.trim_end().strip_suffix('}').filter(|_| self.json) {
            Some(fields) => writeln!(writer, "{fields},\"trace_id\":\"{trace}\",\"span_id\":\"{span}\"}}"),
            None => writeln!(writer, "{} trace_id={trace} span_id={span}", text.trim_end()),
        }
    }
}

/// The span that this thread is in.
fn current() -> Option<SpanContext> {
    Context::map_current(|context| {
        let active = context.has_active_span().then(|| context.span().span_context().clone());
        active.filter(SpanContext::is_valid)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use opentelemetry::trace::{SpanId, TraceFlags, TraceId, TraceState};
    use tracing_subscriber::fmt::format;
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl Written {
        fn take(&self) -> String {
            String::from_utf8(std::mem::take(&mut self.0.lock().unwrap())).unwrap()
        }
    }

    fn in_a_trace() -> Context {
        let (trace, span) = (TraceId::from(0xabc), SpanId::from(0x12));
        let flags = TraceFlags::SAMPLED;
        let remote = SpanContext::new(trace, span, flags, true, TraceState::default());
        Context::new().with_remote_span_context(remote)
    }

    #[test]
    fn a_message_says_what_trace_it_belongs_to() {
        let written = Written::default();
        let (json, text) = (written.clone(), written.clone());
        let layer = tracing_subscriber::fmt::layer().json().flatten_event(true).with_current_span(false);
        let layer = layer.map_event_format(|format| Correlated { format, json: true });
        let json = tracing_subscriber::registry().with(layer.with_writer(move || json.clone()));
        tracing::subscriber::with_default(json, || {
            tracing::info!(node = "a", "rejected");
            let outside: String = written.take();
            assert!(outside.ends_with("}\n") && !outside.contains("trace_id"), "{outside}");
            let _inside = in_a_trace().attach();
            tracing::info!(node = "a", "rejected");
            let inside = written.take();
            let ids =
                ",\"trace_id\":\"00000000000000000000000000000abc\",\"span_id\":\"0000000000000012\"}\n";
            assert!(inside.starts_with('{') && inside.ends_with(ids), "{inside}");
        });
        let layer =
            tracing_subscriber::fmt::layer().event_format(Correlated { format: format(), json: false });
        let layer = layer.with_ansi(false).with_writer(move || text.clone());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            let _inside = in_a_trace().attach();
            tracing::info!("{{}}");
            let text = written.take();
            let ids = "{} trace_id=00000000000000000000000000000abc span_id=0000000000000012\n";
            assert!(text.ends_with(ids), "{text}");
        });
    }
}
