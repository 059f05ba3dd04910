//! What an operator sees of this process: its logs and its metrics.
//!
//! Both are of the whole process, and tests run beside each other: logs are distinguished by the node, metrics
//! only ever go up.

use std::future::ready;
use std::io;
use std::sync::LazyLock;

use parking_lot::Mutex;
use serde_json::Value;
use tracing_subscriber::fmt::MakeWriter;
use weir_telemetry::Metrics;
use weir_testkit::wait::until;

static METRICS: LazyLock<Metrics> = LazyLock::new(|| {
    let subscriber = tracing_subscriber::fmt().json().flatten_event(true).with_writer(Capture);
    subscriber.with_max_level(tracing::Level::WARN).init();
    Metrics::install().expect("metrics start once")
});

static LOGS: Mutex<Vec<Value>> = Mutex::new(Vec::new());

/// Starts to observe, if nobody has yet.
pub fn start() {
    LazyLock::force(&METRICS);
}

/// The first warning in which these fields have these values.
pub async fn warning(fields: &[(&str, &str)]) -> Value {
    until(format!("a warning with {fields:?}"), || ready(warnings(fields).into_iter().next())).await
}

/// All warnings until now in which these fields have these values.
pub fn warnings(fields: &[(&str, &str)]) -> Vec<Value> {
    let logs = LOGS.lock();
    logs.iter().filter(|event| fields.iter().all(|(key, wanted)| event[key] == *wanted)).cloned().collect()
}

/// The sum of a metric over all its labels.
pub fn metric(name: &str) -> f64 {
    let text = METRICS.render().expect("metrics can be read");
    let samples = text.lines().filter(|line| line.split(['{', ' ']).next() == Some(name));
    samples.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

struct Capture;

impl<'a> MakeWriter<'a> for Capture {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        Self
    }
}

/// One write is one event.
impl io::Write for Capture {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        LOGS.lock().push(serde_json::from_slice(event)?);
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
