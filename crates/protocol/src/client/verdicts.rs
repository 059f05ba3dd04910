//! The answers that responses still have to get, in order; some are held back until those who have to be asked
//! first have spoken.

use std::collections::VecDeque;
use std::sync::Arc;

use weir_types::TypeUrl;

use super::ClientStream;

/// Which response an answer is for; never given twice by one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    pub(super) type_url: TypeUrl,
    pub(super) number: u64,
}

impl Ticket {
    /// Of which type the response is.
    pub fn type_url(&self) -> &TypeUrl {
        &self.type_url
    }
}

/// The answer that a response still has to get.
#[derive(Debug)]
pub(super) struct Verdict {
    /// None when the stream is gone that it came on: nobody is to be answered, but what comes after it waits.
    pub(super) nonce: Option<Arc<str>>,
    /// What is accepted with it, in SotW.
    pub(super) version: Arc<str>,
    pub(super) nack: Option<String>,
    number: u64,
    held: bool,
}

/// The answers of one type that are still to be given, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Verdicts(VecDeque<Verdict>);

impl Verdicts {
    pub(super) fn push(&mut self, number: u64, nonce: Arc<str>, version: Arc<str>, nack: Option<String>) {
        self.0.push_back(Verdict { nonce: Some(nonce), version, nack, number, held: false });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether there is one to give now.
    pub(super) fn is_due(&self) -> bool {
        self.0.front().is_some_and(|first| !first.held)
    }

    /// Whether one has to wait.
    pub(super) fn is_held(&self) -> bool {
        self.0.front().is_some_and(|first| first.held)
    }

    /// The one to give now.
    pub(super) fn pop(&mut self) -> Option<Verdict> {
        self.is_due().then(|| self.0.pop_front()).flatten()
    }

    /// What is left of them when their stream is gone.
    pub(super) fn outliving(self) -> Self {
        let held = self.0.into_iter().filter(|verdict| verdict.held);
        Self(held.map(|verdict| Verdict { nonce: None, ..verdict }).collect())
    }

    fn find(&mut self, ticket: &Ticket) -> Option<&mut Verdict> {
        self.0.iter_mut().find(|verdict| verdict.number == ticket.number)
    }

    fn release(&mut self, ticket: &Ticket, rejection: Option<String>) {
        if let Some(verdict) = self.find(ticket) {
            verdict.held = false;
            verdict.nack = verdict.nack.take().or(rejection);
        }
        while self.0.front().is_some_and(|first| !first.held && first.nonce.is_none()) {
            self.0.pop_front();
        }
    }
}

impl ClientStream {
    /// Holds back the answer to a response, and with it those to later ones of its type, until it is released.
    /// To be called before the next [`poll_transmit`](Self::poll_transmit). Outlives the stream: what a new one
    /// brings is not answered before either.
    pub fn hold(&mut self, ticket: &Ticket) {
        let logical = self.types.get_mut(&ticket.type_url);
        if let Some(verdict) = logical.and_then(|logical| logical.conversation.verdicts.find(ticket)) {
            verdict.held = true;
        }
    }

    /// Lets a held answer go: the response is accepted, or rejected for a reason. What it has brought is held
    /// all the same, so that in SotW no version stands for that any more.
    pub fn release(&mut self, ticket: &Ticket, rejection: Option<String>) {
        let Some(logical) = self.types.get_mut(&ticket.type_url) else { return };
        if rejection.is_some() {
            logical.version = None;
        }
        let conversation = &mut logical.conversation;
        conversation.verdicts.release(ticket, rejection);
        if !conversation.verdicts.is_held() {
            conversation.unsubscribe.append(&mut conversation.unheard);
        }
    }
}
