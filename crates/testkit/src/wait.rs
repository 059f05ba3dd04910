//! Waiting for what must happen, for as long as a slow machine may need, and no longer.

use std::fmt::Display;
use std::future::Future;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, timeout};

/// How long anything may take before a test gives up.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How often something that cannot notify us of its changes is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// The outcome of `future`; panics after [`PATIENCE`].
pub async fn within<T>(what: impl Display, future: impl Future<Output = T>) -> T {
    match timeout(PATIENCE, future).await {
        Ok(outcome) => outcome,
        Err(_) => panic!("waited {} s in vain: {what}", PATIENCE.as_secs()),
    }
}

/// Looks again and again until `look` finds something. For what can only be asked, as another process's
/// admin interface; what can notify us is waited for instead.
pub async fn until<T, F: Future<Output = Option<T>>>(what: impl Display, look: impl FnMut() -> F) -> T {
    until_within(PATIENCE, what, look).await
}

/// As [`until`], with a limit of its own.
pub async fn until_within<T, F: Future<Output = Option<T>>>(
    limit: Duration,
    what: impl Display,
    mut look: impl FnMut() -> F,
) -> T {
    let mut ticks = interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let looking = async {
        loop {
            ticks.tick().await;
            if let Some(found) = look().await {
                break found;
            }
        }
    };
    match timeout(limit, looking).await {
        Ok(found) => found,
        Err(_) => panic!("looked for {:.1} s in vain: {what}", limit.as_secs_f64()),
    }
}
