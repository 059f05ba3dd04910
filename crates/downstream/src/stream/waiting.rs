//! What a stream waits for: until a timer of its machine runs out, or until what is due has been sent.

use std::sync::{Arc, Weak};
use std::time::Instant;

use hyper::rt::Executor as _;
use tokio::time::sleep_until;
use tonic::Status;
use weir_database::ViewListener as _;

use super::{Open, Stream};
use weir_session::Wait;

use crate::shared::now;

impl Stream {
    /// Starts a timer for what the machine waits for, unless one runs that ends in time.
    pub(super) fn set_timer(self: &Arc<Self>, open: &mut Open) {
        let Some(deadline) = open.session.poll_timeout() else { return };
        if open.timer.is_none_or(|timer| timer > deadline) {
            open.timer = Some(deadline);
            self.within.execute(end_waits(Arc::downgrade(self), deadline));
        }
    }

    /// Ends the stream once everything that is due has been sent: the client sends no more requests.
    pub(super) fn half_close(&self) {
        let mut state = self.state.lock();
        let Some(open) = &mut state.open else {
            drop(state);
            return self.end(Status::ok(""));
        };
        open.half_closed = true;
        drop(state);
        self.signal.wake();
    }

    /// Ends the waits whose time is up, now that the timer of `deadline` has run out.
    fn time_out(&self, deadline: Instant) {
        let mut state = self.state.lock();
        let Some(open) = &mut state.open else { return };
        open.timer.take_if(|timer| *timer == deadline);
        for wait in open.session.handle_timeout(now()) {
            match wait {
                Wait::Warming => {
                    tracing::info!(
                        node = %open.client.id,
                        "cluster warming timed out; listeners and routes are sent"
                    );
                    self.shared.metrics.warming_timeout(self.dialect);
                }
                Wait::Leaving => {
                    tracing::info!(
                        node = %open.client.id,
                        "clusters or endpoints are removed that the client has not given up by name in time"
                    );
                    self.shared.metrics.removal_timeout(self.dialect);
                }
                Wait::FirstResponse => {
                    tracing::info!(
                        node = %open.client.id,
                        "first response is sent without names that the control plane has not answered"
                    );
                    self.shared.metrics.first_response_timeout(self.dialect);
                }
            }
        }
        // Also without any: what waits may wait for another time by now.
        self.signal.wake();
    }
}

async fn end_waits(stream: Weak<Stream>, deadline: Instant) {
    sleep_until(deadline.into()).await;
    if let Some(stream) = stream.upgrade() {
        stream.time_out(deadline);
    }
}
