//! A message of which some has arrived.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, Sleep, sleep};
use tonic::Status;

use super::Bounds;
use super::omit::{HEAD, Omit};
use crate::admission::{Partial, Refusal};

/// How much of a message has to come in the time that a client has, in bytes.
const PACE: usize = 64 << 10;

/// A message of which some has arrived.
pub(super) struct Begun {
    /// How much is to come.
    pub(super) left: usize,
    kept: Partial,
    omit: Option<Omit>,
    /// How much has to come before the deadline.
    due: usize,
    deadline: Pin<Box<Sleep>>,
}

impl Begun {
    /// A message of `length` bytes.
    pub(super) fn new(length: usize, omit: Option<Omit>, bounds: &Bounds) -> Self {
        let deadline = Box::pin(sleep(bounds.pace));
        Self { left: length, kept: bounds.gate.partial(), omit, due: PACE, deadline }
    }

    /// Adds what has arrived, and gives the client so much `time` for what is next.
    ///
    /// # Errors
    /// When there is no room for it.
    pub(super) fn add(&mut self, bytes: &[u8], time: Duration) -> Result<(), Refusal> {
        match &mut self.omit {
            Some(omit) => {
                let mut kept = Vec::new();
                omit.pass(bytes, &mut kept);
                // Of a field that may be left out, the head is kept back until that is known.
                self.kept.room(kept.len(), self.left + HEAD)?.extend_from_slice(&kept);
            }
            None => self.kept.room(bytes.len(), self.left)?.extend_from_slice(bytes),
        }
        self.left -= bytes.len();
        self.due = self.due.saturating_sub(bytes.len());
        if self.due == 0 {
            self.due = PACE;
            self.deadline.as_mut().reset(Instant::now() + time);
        }
        Ok(())
    }

    /// Ready when too little has come in the `time` that the client had.
    pub(super) fn poll_late(&mut self, cx: &mut Context<'_>, time: Duration) -> Poll<Status> {
        self.deadline.as_mut().poll(cx).map(|()| {
            Status::deadline_exceeded(format!(
                "of a request that has begun, less than {PACE} bytes have arrived within {time:?} \
                 (downstream.receive_timeout)"
            ))
        })
    }

    /// The whole message.
    ///
    /// # Errors
    /// When there is no room for it.
    pub(super) fn finish(mut self) -> Result<Bytes, Refusal> {
        if let Some(omit) = &mut self.omit {
            omit.finish(self.kept.room(0, 0)?);
        }
        Ok(self.kept.finish())
    }
}
