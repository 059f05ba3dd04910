//! Until when the program runs: signals, and what they set off.

use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use weir_downstream::Control;

use crate::service_manager::ServiceManager;

/// The signals that end the program.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

/// SIGHUP, which from now on does not kill the program.
///
/// # Errors
/// When the system refuses.
pub(crate) fn hangups() -> Result<Signal> {
    signal(SignalKind::hangup()).context("listen for signals")
}

impl Signals {
    /// From now on they no longer kill it.
    pub(crate) fn listen() -> Result<Self> {
        let listen = |kind| signal(kind).context("listen for signals");
        Ok(Self { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())? })
    }

    /// The next one.
    async fn next(&mut self) -> StopCause {
        tokio::select! {
            _ = self.terminate.recv() => StopCause::Terminate,
            _ = self.interrupt.recv() => StopCause::Interrupt,
        }
    }
}

/// What begins the shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StopCause {
    /// By who runs it: there is time.
    Terminate,
    /// By a person, who waits.
    Interrupt,
    /// By an operator, over the admin interface: there is time.
    Operator,
}

/// How clients are moved elsewhere before the end.
#[derive(Clone)]
pub(crate) struct Drain {
    /// Cancelled when that begins; whoever cancels it has it begin.
    pub(crate) draining: CancellationToken,
    /// Whose clients they are.
    pub(crate) clients: Control,
    /// How much longer it may take than it should.
    pub(crate) patience: Duration,
    /// Notified when the shutdown begins.
    pub(crate) manager: ServiceManager,
}

impl Drain {
    /// Waits until the program has to end. The first of `tasks` that ends by itself is a failure; once clients are
    /// moved elsewhere, it is the one that served them.
    ///
    /// # Errors
    /// When a task has failed.
    pub(crate) async fn until_stopped(
        &self,
        signals: &mut Signals,
        tasks: &mut JoinSet<Result<()>>,
    ) -> Result<()> {
        let cause = tokio::select! {
            cause = signals.next() => cause,
            () = self.draining.cancelled() => StopCause::Operator,
            Some(ended) = tasks.join_next() => return Err(unexpected(ended)),
        };
        self.manager.stopping();
        if cause == StopCause::Interrupt {
            tracing::info!("stopping");
            return Ok(());
        }
        let limit = self.limit();
        self.draining.cancel();
        self.clients.drain();
        tracing::info!(seconds = limit.as_secs(), "draining clients");
        tokio::select! {
            () = second_signal(cause, signals) => tracing::info!("second signal received: stopping now"),
            Some(ended) = tasks.join_next() => match ended {
                Ok(Ok(())) => tracing::info!("the last client has gone"),
                failed => return Err(unexpected(failed)),
            },
            () = tokio::time::sleep(limit) => tracing::warn!("drain timed out; stopping"),
        }
        Ok(())
    }

    /// How long it takes from its beginning to the end of the program, at most.
    pub(crate) fn limit(&self) -> Duration {
        self.clients.settings().drain.longest() + self.patience
    }
}

/// Waits for who has no more time. An operator's wish is often followed by a SIGTERM that means the same: that of
/// Kubernetes, after the hook with the wish.
async fn second_signal(cause: StopCause, signals: &mut Signals) {
    if cause == StopCause::Operator && signals.next().await == StopCause::Terminate {
        tracing::info!("already draining");
    } else if cause == StopCause::Operator {
        return;
    }
    signals.next().await;
}

/// Why a part that should run for good has ended.
fn unexpected(ended: Result<Result<()>, JoinError>) -> anyhow::Error {
    match ended {
        Ok(Ok(())) => anyhow!("a part of the program ended by itself"),
        Ok(Err(error)) => error,
        Err(error) => anyhow!(error),
    }
}
