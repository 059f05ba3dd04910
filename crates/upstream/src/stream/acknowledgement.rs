//! When Weir acknowledges responses of a control plane, and whether it passes on rejections.
//!
//! Owns which acknowledgements of a stream wait for subscribers, since when, and until when. Time is an argument.
//! Never sends anything: what is due is released by whoever has the stream.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use weir_config::{AfterSubscribers, NackUpstream};
use weir_database::{Tally, Watch};
use weir_protocol::client::Ticket;
use weir_types::{Batch, Name, TypeUrl};

/// How many names a NACK lists; the rest is counted.
const MAX_NAMES: usize = 5;

/// How much of a subscriber's message a NACK quotes, in characters.
const MAX_QUOTE: usize = 2000;

/// When Weir sends the ACK of a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Acknowledge {
    /// Once it is applied.
    #[default]
    OnReceipt,
    /// Once the subscribers that it concerns have accepted it.
    AfterSubscribers(AcknowledgePolicy),
}

/// How subscribers are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcknowledgePolicy {
    /// How many of them, and for how long.
    pub subscribers: AfterSubscribers,
    /// What becomes of their rejections.
    pub nack: NackUpstream,
}

impl AcknowledgePolicy {
    fn rejects(&self, tally: &Tally) -> bool {
        let answered = tally.accepted + tally.rejected;
        tally.rejected > 0
            && match self.nack {
                NackUpstream::Never => false,
                NackUpstream::Any => true,
                NackUpstream::Percent(percent) => {
                    tally.rejected * 100 >= answered * usize::from(percent.get())
                }
            }
    }
}

/// Why an acknowledgement is not held back any longer.
#[derive(Debug)]
pub(crate) struct CompletedAck {
    /// Which one.
    pub ticket: Ticket,
    /// The error that is sent to the control plane, if any.
    pub rejection: Option<String>,
    /// How long it was held.
    pub held: Duration,
    /// Whether the deadline has passed.
    pub late: bool,
    /// What subscribers have answered.
    pub tally: Tally,
}

/// The acknowledgements of one stream that are held back.
#[derive(Debug, Default)]
pub(crate) struct DeferredAcks(Vec<Held>);

#[derive(Debug)]
struct Held {
    ticket: Ticket,
    about: About,
    watch: Watch,
    policy: AcknowledgePolicy,
    since: Instant,
}

/// What a response was about.
#[derive(Debug)]
pub(crate) struct About {
    names: Vec<Name>,
    /// How many more there are.
    more: usize,
}

impl About {
    pub(crate) fn new(batch: &Batch) -> Self {
        let names = batch.upserts.iter().map(|variant| variant.name());
        let names: Vec<&Name> = names.chain(batch.removals.iter().map(|key| &key.name)).collect();
        let more = names.len().saturating_sub(MAX_NAMES);
        Self { names: names.into_iter().take(MAX_NAMES).cloned().collect(), more }
    }

    /// The text of the NACK: how many of how many rejected what, with the error of one of them.
    fn rejection(&self, type_url: &TypeUrl, tally: &Tally) -> String {
        let (rejected, answered) = (tally.rejected, tally.rejected + tally.accepted);
        let subscribers = if answered == 1 { "subscriber" } else { "subscribers" };
        let mut message = format!("{rejected} of {answered} {subscribers} rejected {type_url}");
        for (i, name) in self.names.iter().enumerate() {
            _ = write!(message, "{} {name}", if i == 0 { ":" } else { "," });
        }
        if self.more > 0 {
            _ = write!(message, " and {} more", self.more);
        }
        if let Some(reason) = &tally.reason {
            let quote: String = reason.chars().take(MAX_QUOTE).collect();
            _ = write!(message, "; one error: {quote}");
        }
        message
    }
}

// === impl DeferredAcks ===

impl DeferredAcks {
    pub(crate) fn add(
        &mut self,
        ticket: Ticket,
        about: About,
        watch: Watch,
        policy: AcknowledgePolicy,
        now: Instant,
    ) {
        self.0.push(Held { ticket, about, watch, policy, since: now });
    }

    /// When something is due at the latest.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.0.iter().map(|held| held.since + held.policy.subscribers.deadline.get()).min()
    }

    /// Takes out what need not wait any longer.
    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<CompletedAck> {
        let due = self.0.extract_if(.., |held| {
            held.watch.is_over() || held.since + held.policy.subscribers.deadline.get() <= now
        });
        due.map(|held| held.complete(now)).collect()
    }
}

impl Held {
    fn complete(self, now: Instant) -> CompletedAck {
        let tally = self.watch.tally();
        let rejected = self.policy.rejects(&tally);
        CompletedAck {
            rejection: rejected.then(|| self.about.rejection(self.ticket.type_url(), &tally)),
            held: now.saturating_duration_since(self.since),
            late: !self.watch.is_over(),
            ticket: self.ticket,
            tally,
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_config::Percent;

    use super::*;

    fn tally(accepted: usize, rejected: usize) -> Tally {
        let reason = (rejected > 0).then(|| "bad".to_owned());
        Tally { subscribers: 10, accepted, rejected, left: 0, reason }
    }

    #[test]
    fn e04_a_rejection_is_reported_from_a_share_of_those_that_have_answered() {
        for (nack, accepted, rejected, applies) in [
            (NackUpstream::Never, 0, 10, false),
            (NackUpstream::Any, 9, 1, true),
            (NackUpstream::Any, 10, 0, false),
            (NackUpstream::Percent(Percent::of::<50>()), 3, 2, false),
            (NackUpstream::Percent(Percent::of::<50>()), 2, 2, true),
            (NackUpstream::Percent(Percent::of::<50>()), 0, 0, false),
            (NackUpstream::Percent(Percent::of::<100>()), 1, 9, false),
            (NackUpstream::Percent(Percent::of::<100>()), 0, 3, true),
        ] {
            let policy = AcknowledgePolicy { subscribers: AfterSubscribers::default(), nack };
            assert_eq!(policy.rejects(&tally(accepted, rejected)), applies, "{nack:?} {accepted} {rejected}");
        }
    }

    #[test]
    fn e04_a_rejection_says_how_many_of_how_many_what_and_why() {
        let type_url = TypeUrl::from_short_name("cds").unwrap();
        let names = |names: &[&str]| names.iter().map(|name| Name::from(*name)).collect::<Vec<_>>();
        let about = About { names: names(&["a", "b"]), more: 0 };
        assert_eq!(
            about.rejection(&type_url, &tally(3, 2)),
            "2 of 5 subscribers rejected type.googleapis.com/envoy.config.cluster.v3.Cluster: a, b; one error: bad"
        );
        let about = About { names: names(&["a"]), more: 7 };
        let long = Tally { reason: Some("ä".repeat(3000)), ..tally(0, 1) };
        let message = about.rejection(&type_url, &long);
        assert!(message.starts_with("1 of 1 subscriber rejected"), "{message}");
        assert!(message.contains(": a and 7 more; one error: ä") && message.len() < 4200, "{message}");
    }
}
