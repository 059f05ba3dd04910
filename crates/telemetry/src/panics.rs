//! Panics, in the log: the library writes them to standard error itself, and would wait for who reads it.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::{self, PanicHookInfo};
use std::time::Duration;

use tracing::field::display;

/// How long the message may take to be written: the process may end behind it.
const PATIENCE: Duration = Duration::from_millis(500);

/// Logs panics from now on.
pub(crate) fn log() {
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let thread = std::thread::current();
        let thread = thread.name().unwrap_or("unnamed");
        let backtrace = Backtrace::capture();
        let backtrace = (backtrace.status() == BacktraceStatus::Captured).then_some(display(backtrace));
        tracing::error!(place, thread, reason = reason(panic), backtrace, "panic");
        _ = crate::queue::flush(PATIENCE);
    }));
}

fn reason<'a>(panic: &'a PanicHookInfo<'_>) -> &'a str {
    let payload = panic.payload();
    let text = payload.downcast_ref::<&'static str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no text")
}
