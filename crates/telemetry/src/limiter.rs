//! How many lines of one kind are logged: what comes from outside comes as often as somebody likes.
//!
//! A kind is a place in the code. Each may log [`BURST`] lines at once and [`RATE`] a second; the others are counted, and
//! the counts are logged. Messages at `debug` and below are never limited: whoever turns them on wants all of them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tracing::callsite::Identifier;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// How many lines of a kind may come at once.
const BURST: u32 = 100;

/// How many lines of a kind may come a second, over time.
const RATE: u32 = 10;

/// Limits the events of the layers beside it. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limiter(Arc<Mutex<HashMap<Identifier, Kind>>>);

/// What was logged of a kind.
#[derive(Debug)]
struct Kind {
    /// Until when the lines so far use up the rate.
    busy_until: Instant,
    suppressed: u64,
    /// The text of the first of the suppressed messages.
    message: String,
}

impl Limiter {
    /// Whether a line of this kind is logged now.
    fn admits(&self, event: &Event<'_>, now: Instant) -> bool {
        let line = Duration::from_secs(1) / RATE;
        let mut kinds = self.0.lock();
        let fresh = || Kind { busy_until: now, suppressed: 0, message: String::new() };
        let kind = kinds.entry(event.metadata().callsite()).or_insert_with(fresh);
        let busy_until = kind.busy_until.max(now) + line;
        if busy_until <= now + line * BURST {
            kind.busy_until = busy_until;
            return true;
        }
        if kind.suppressed == 0 {
            kind.message = message(event);
        }
        kind.suppressed += 1;
        false
    }

    /// Logs how many lines were not logged since it was called last, by kind.
    pub(crate) fn report(&self) {
        for (of, lines) in self.take() {
            tracing::warn!(of, lines, "log lines suppressed: too many of one kind");
        }
    }

    /// The first message of each kind that was suppressed, and how many there were.
    fn take(&self) -> Vec<(String, u64)> {
        let mut kinds = self.0.lock();
        let suppressed = kinds.values_mut().filter(|kind| kind.suppressed > 0);
        suppressed
            .map(|kind| (std::mem::take(&mut kind.message), std::mem::take(&mut kind.suppressed)))
            .collect()
    }
}

impl<S: Subscriber> Layer<S> for Limiter {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        let admitted = *event.metadata().level() > Level::INFO || self.admits(event, Instant::now());
        if !admitted {
            crate::queue::SUPPRESSED.add(1);
        }
        admitted
    }
}

/// The message of an event, without its values.
fn message(event: &Event<'_>) -> String {
    struct Message(String);
    impl Visit for Message {
        fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
            if field.name() == "message" {
                self.0 = format!("{value:?}");
            }
        }
    }
    let mut message = Message(String::new());
    event.record(&mut message);
    message.0
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    /// Counts what is let through.
    struct Count(Arc<AtomicU32>);

    impl<S: Subscriber> Layer<S> for Count {
        fn on_event(&self, _: &Event<'_>, _: Context<'_, S>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_flood_of_one_kind_is_counted_and_hides_no_other() {
        let (limiter, logged) = (Limiter::default(), Arc::new(AtomicU32::new(0)));
        let layers = tracing_subscriber::registry().with(limiter.clone()).with(Count(Arc::clone(&logged)));
        // If there is one dispatcher only, a filter that is changed on another thread, as other tests do, turns off what
        // this thread logs.
        let _second = tracing::Dispatch::new(tracing_subscriber::registry());
        let begun = Instant::now();
        tracing::subscriber::with_default(layers, || {
            for name in 0..100_000 {
                tracing::warn!(name, "denied");
            }
            let most = BURST + RATE * (u32::try_from(begun.elapsed().as_secs()).unwrap() + 1);
            let flooded = logged.swap(0, Ordering::Relaxed);
            assert!((BURST..=most).contains(&flooded), "{flooded}");
            let suppressed = [("denied".to_owned(), u64::from(100_000 - flooded))];
            assert_eq!(limiter.take(), suppressed);
            for name in 0..1000 {
                tracing::info!(name, "another kind");
            }
            assert!(logged.swap(0, Ordering::Relaxed) < 1000);
            tracing::info!("a third kind");
            for _ in 0..1000 {
                tracing::debug!("wanted");
            }
            assert_eq!(logged.load(Ordering::Relaxed), 1001);
            limiter.report();
            assert_eq!(logged.swap(0, Ordering::Relaxed), 1002);
            limiter.report();
            assert_eq!(logged.load(Ordering::Relaxed), 0, "nothing is suppressed");
            assert_eq!(limiter.take(), []);
        });
    }
}
