//! When a client is asked to connect anew, and how long its streams go on after that.
//!
//! A client moves in two steps: GOAWAY asks it to open streams elsewhere, and then, since xDS streams have no end
//! of their own, they are ended for it. Owns the times of both. Never ends a connection: that is the connection's.

use std::future::pending;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// How much earlier or later than at its age a connection is asked to go, as a share of the age.
const AGE_JITTER: f64 = 0.1;

/// Why a client was asked to go, as a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The connection has reached its age.
    Age,
    /// The server drains.
    Drain,
    /// The server stops.
    Stop,
}

impl Reason {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Age => "age",
            Self::Drain => "drain",
            Self::Stop => "stop",
        }
    }
}

/// What a server goes through at its end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Phases {
    /// Cancelled when clients are to be moved elsewhere.
    pub(crate) draining: CancellationToken,
    /// Cancelled when everything ends at once.
    pub(crate) stop: CancellationToken,
}

impl Phases {
    /// Waits until a client has to be asked to go: at its age, or within the time over which clients are spread, as it is
    /// then.
    pub(crate) async fn time_to_go(
        self,
        max_connection_age: Option<Duration>,
        over: impl Fn() -> Duration,
    ) -> Reason {
        // Boxed where it is needed: ten thousand idle connections wait here.
        let aged = async {
            match max_connection_age {
                Some(age) => Box::pin(sleep(jittered(age))).await,
                None => pending().await,
            }
        };
        let drained = async {
            self.draining.cancelled().await;
            Box::pin(sleep(over().mul_f64(fastrand::f64()))).await;
        };
        tokio::select! {
            () = self.stop.cancelled() => Reason::Stop,
            () = drained => Reason::Drain,
            () = aged => Reason::Age,
        }
    }
}

fn jittered(age: Duration) -> Duration {
    age.mul_f64(1.0 - AGE_JITTER + 2.0 * AGE_JITTER * fastrand::f64())
}

#[cfg(test)]
mod tests {
    use tokio::task::JoinSet;
    use tokio::time::Instant;

    use super::*;

    const OVER: Duration = Duration::from_secs(30);
    const AGE: Duration = Duration::from_secs(600);

    /// When each of many clients is asked to go; all of them for this reason.
    async fn asked(phases: &Phases, max_age: Option<Duration>, why: Reason) -> Vec<Duration> {
        let start = Instant::now();
        let mut clients = JoinSet::new();
        for _ in 0..300 {
            let phases = phases.clone();
            clients.spawn(async move {
                assert_eq!(phases.time_to_go(max_age, || OVER).await, why);
                start.elapsed()
            });
        }
        clients.join_all().await
    }

    #[tokio::test(start_paused = true)]
    async fn a_drain_is_spread_over_its_time() {
        let phases = Phases::default();
        phases.draining.cancel();
        let asked = asked(&phases, None, Reason::Drain).await;
        for third in 0..3 {
            let part = OVER / 3 * third..OVER / 3 * (third + 1);
            let count = asked.iter().filter(|after| part.contains(*after)).count();
            assert!((60..140).contains(&count), "{count} in {part:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn connections_of_one_age_do_not_end_at_one_time() {
        let asked = asked(&Phases::default(), Some(AGE), Reason::Age).await;
        for half in [AGE.mul_f64(0.9)..AGE, AGE..AGE.mul_f64(1.1)] {
            let count = asked.iter().filter(|after| half.contains(*after)).count();
            assert!((100..=200).contains(&count), "{count} in {half:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_does_not_wait() {
        let phases = Phases::default();
        phases.draining.cancel();
        phases.stop.cancel();
        let asked = asked(&phases, None, Reason::Stop).await;
        assert!(asked.iter().all(Duration::is_zero), "{asked:?}");
    }
}
