//! What a line of the log looks like, as text and as JSON, with the trace that it belongs to.
//!
//! Values may come from outside: they are cut where they are long, and what could forge a line is escaped.

use std::fmt::{self, Debug};

use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, TraceContextExt};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::format::{self, Writer};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::printable::{cut, json, printable};

/// Lines for people.
pub(crate) struct Text(format::Format);

impl Text {
    pub(crate) fn new() -> Self {
        Self(format::format().with_target(false))
    }
}

impl<S, N> FormatEvent<S, N> for Text
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let Some(span) = current() else { return self.0.format_event(context, writer, event) };
        let mut text = String::new();
        self.0.format_event(context, Writer::new(&mut text), event)?;
        writeln!(writer, "{} trace_id={} span_id={}", text.trim_end(), span.trace_id(), span.span_id())
    }
}

/// The values of an event, for people.
pub(crate) struct TextFields;

impl<'w> FormatFields<'w> for TextFields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut visitor = TextVisitor { writer, begun: false, result: Ok(()) };
        fields.record(&mut visitor);
        visitor.result
    }
}

struct TextVisitor<'w> {
    writer: Writer<'w>,
    begun: bool,
    result: fmt::Result,
}

impl Visit for TextVisitor<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.record_debug(field, &format_args!("{value}")),
            _ => self.record_debug(field, &value),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let (space, text) = (if self.begun { " " } else { "" }, printable(&cut(&format_args!("{value:?}"))));
        self.begun = true;
        let written = match name(field) {
            "message" => write!(self.writer, "{space}{text}"),
            name if self.writer.has_ansi_escapes() => {
                write!(self.writer, "{space}\x1b[3m{name}\x1b[0m\x1b[2m=\x1b[0m{text}")
            }
            name => write!(self.writer, "{space}{name}={text}"),
        };
        self.result = self.result.and(written);
    }
}

/// An object a line.
pub(crate) struct Json;

impl<S, N> FormatEvent<S, N> for Json
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut timestamp = String::new();
        SystemTime.format_time(&mut Writer::new(&mut timestamp))?;
        let mut line = JsonVisitor(String::new());
        line.add("timestamp", &json(&timestamp));
        line.add("level", &json(event.metadata().level().as_str()));
        event.record(&mut line);
        line.add("target", &json(event.metadata().target()));
        if let Some(span) = current() {
            line.add("trace_id", &json(&span.trace_id().to_string()));
            line.add("span_id", &json(&span.span_id().to_string()));
        }
        writeln!(writer, "{}}}", line.0)
    }
}

/// An object, but for its end.
struct JsonVisitor(String);

impl JsonVisitor {
    fn add(&mut self, name: &str, value: &str) {
        let before = if self.0.is_empty() { '{' } else { ',' };
        self.0.push_str(&format!("{before}{}:{value}", json(name)));
    }
}

impl Visit for JsonVisitor {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(name(field), &serde_json::Value::from(value).to_string());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(name(field), &value.to_string());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(name(field), &value.to_string());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(name(field), &value.to_string());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(name(field), &json(&cut(&value)));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.add(name(field), &json(&cut(&format_args!("{value:?}"))));
    }
}

/// Words of Rust are written `r#type`.
fn name(field: &Field) -> &'static str {
    field.name().trim_start_matches("r#")
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
    fn a_message_names_its_trace() {
        let written = Written::default();
        let (json, text) = (written.clone(), written.clone());
        let layer = tracing_subscriber::fmt::layer().event_format(Json);
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
        let layer = tracing_subscriber::fmt::layer().event_format(Text::new()).fmt_fields(TextFields);
        let layer = layer.with_ansi(false).with_writer(move || text.clone());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            let _inside = in_a_trace().attach();
            tracing::info!("{{}}");
            let text = written.take();
            let ids = "{} trace_id=00000000000000000000000000000abc span_id=0000000000000012\n";
            assert!(text.ends_with(ids), "{text}");
        });
    }

    /// What is written of one message with hostile values.
    fn hostile(ansi: bool, as_json: bool) -> String {
        let written = Written::default();
        let writer = written.clone();
        let layer = tracing_subscriber::fmt::layer().fmt_fields(TextFields).with_ansi(ansi);
        let subscriber: Box<dyn Subscriber + Send + Sync> = if as_json {
            let layer = layer.event_format(Json).with_writer(move || writer.clone());
            Box::new(tracing_subscriber::registry().with(layer))
        } else {
            let layer = layer.event_format(Text::new()).with_writer(move || writer.clone());
            Box::new(tracing_subscriber::registry().with(layer))
        };
        tracing::subscriber::with_default(subscriber, || {
            let (node, quoted) = ("a\x1b[2J\n2026 ERROR forged\x07", "q\u{9b}");
            tracing::warn!(%node, quoted, r#type = 1, ratio = 0.5, whole = true, "denied: {node} {}", "x".repeat(30_000));
        });
        written.take()
    }

    #[test]
    fn nobody_forges_a_line_or_commands_a_terminal() {
        let text = hostile(false, false);
        assert!(!text.trim_end_matches('\n').contains(|c: char| c.is_control()), "{text:?}");
        assert!(text.contains(" WARN denied: a\\u{1b}[2J\\n2026 ERROR forged\\u{7} xxx"), "{text}");
        assert!(text.contains("… (30033 bytes) node=a\\u{1b}[2J"), "{text}");
        assert!(text.ends_with(" quoted=\"q\\u{9b}\" type=1 ratio=0.5 whole=true\n"), "{text}");
        let painted = hostile(true, false);
        assert!(!painted.contains(['\x07', '\u{9b}']) && !painted.contains("\x1b[2J"), "{painted:?}");
        assert_eq!((text.lines().count(), painted.lines().count()), (1, 1));
    }

    #[test]
    fn json_has_exactly_what_was_sent() {
        let json = hostile(false, true);
        assert!(!json.trim_end_matches('\n').contains(|c: char| c.is_control()), "{json:?}");
        let line: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(line["node"], "a\x1b[2J\n2026 ERROR forged\x07");
        assert_eq!((&line["type"], &line["ratio"], &line["whole"]), (&1.into(), &0.5.into(), &true.into()));
        assert_eq!(line["message"].as_str().unwrap().len(), 2048 + "… (30033 bytes)".len());
    }
}
