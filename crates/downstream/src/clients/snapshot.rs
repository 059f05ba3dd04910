//! A stream at one moment.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::SystemTime;

use weir_database::{Barred, Unsettled};
use weir_session::{Nonce, TypeSubscription};
use weir_types::{Commit, Cursor, Fingerprint, Head, TypeUrl, Version};

use super::{DeliveryStatus, Millis};
use crate::node::Client;

/// A stream of a client, or a poll that waits.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Never given twice; the larger is the younger.
    pub id: u64,
    /// Whose it is.
    pub client: Arc<Client>,
    /// Where it comes from.
    pub peer: SocketAddr,
    /// The gRPC service, by its short name, or `rest`.
    pub service: &'static str,
    /// The generation of the API whose services it calls.
    pub transport: &'static str,
    /// `sotw`, `delta` or `rest`.
    pub dialect: &'static str,
    /// Since when it is open.
    pub since: SystemTime,
    /// What it is subscribed to, in the order in which additions leave.
    pub types: Vec<TypeStatus>,
}

/// How a client stands with a type, or with all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Condition {
    /// It has accepted everything that there is.
    InSync,
    /// There is something that it has not been sent, or not answered for.
    Behind,
    /// It has rejected something, and accepted nothing since.
    Rejecting,
}

/// How a client stands with one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// There is something newer than it was sent.
    Waiting,
    /// It was sent it, and has not answered.
    Unanswered,
    /// It has accepted it.
    Accepted,
    /// It has rejected it, or the response that it came in.
    Rejected,
}

/// A type on a stream.
#[derive(Clone, Debug)]
pub struct TypeStatus {
    /// Which one.
    pub type_url: TypeUrl,
    /// The view that the stream is attached to.
    pub view: u64,
    /// What identifies the set of what is subscribed.
    pub subscription: Fingerprint,
    /// How much is subscribed: names, locators and collections.
    pub selectors: usize,
    /// The newest commits that concern it.
    pub head: Head,
    /// Up to where the client has been sent changes.
    pub cursor: Cursor,
    /// What upstream has not answered yet.
    pub unsettled: Unsettled,
    /// What the client is not given, whatever there is.
    pub barred: Barred,
    /// The newest response; none if there was none yet.
    pub sent: Option<Sent>,
    /// Up to where the client has accepted everything that it was sent on this stream, and the version that it then
    /// had.
    pub accepted: Option<(Commit, Version)>,
    /// The newest rejection on this stream.
    pub rejection: Option<Held>,
    /// How it stands.
    pub condition: Condition,
}

/// A response.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Its nonce.
    pub nonce: Nonce,
    /// Its version.
    pub version: Version,
    /// When it left.
    pub at: SystemTime,
    /// Whether the client has accepted or rejected it.
    pub answered: bool,
}

/// A rejection that a stream remembers.
#[derive(Clone, Debug)]
pub struct Held {
    /// When it came.
    pub at: SystemTime,
    /// The response; none if it was not the newest one.
    pub nonce: Option<Nonce>,
    /// The version of the newest response.
    pub version: Version,
    /// The gRPC status code.
    pub code: i32,
    /// The client's error text.
    pub message: Arc<str>,
}

impl Condition {
    /// How a stream stands with a type.
    pub(crate) fn of(type_subscription: &TypeSubscription) -> Self {
        let attachment = type_subscription.view().attachment();
        let (head, cursor, unsettled) = (attachment.head(), attachment.cursor(), attachment.unsettled());
        let sent_all = head.additions <= cursor.additions && head.removals <= cursor.removals;
        let answered = type_subscription.outstanding().is_none_or(|(_, answered)| answered);
        let waits = unsettled.names + unsettled.collections > 0;
        match (type_subscription.rejects(), sent_all && answered && !waits) {
            (true, _) => Self::Rejecting,
            (false, false) => Self::Behind,
            (false, true) => Self::InSync,
        }
    }
}

impl Snapshot {
    /// The worst of its types.
    pub fn condition(&self) -> Condition {
        self.types.iter().map(|status| status.condition).max().unwrap_or(Condition::InSync)
    }
}

impl TypeStatus {
    /// How the client stands with what was committed at `changed`.
    pub fn standing(&self, changed: Commit) -> Standing {
        let answered = self.sent.is_none_or(|sent| sent.answered);
        let rejects = self.condition == Condition::Rejecting;
        let accepted = match (rejects, answered) {
            // Everything that it was sent, also without a response where it had it already.
            (false, true) => self.cursor.additions,
            _ => self.accepted.map_or(Commit::NONE, |(commit, _)| commit),
        };
        // Of a newer response it has answered nothing yet.
        let rejected = self.rejection.as_ref().and_then(|held| held.nonce).map(|nonce| nonce.commit);
        let is_rejected = rejects && (answered || rejected.is_some_and(|commit| changed <= commit));
        if changed > self.cursor.additions {
            Standing::Waiting
        } else if changed <= accepted {
            Standing::Accepted
        } else if is_rejected {
            Standing::Rejected
        } else {
            Standing::Unanswered
        }
    }

    /// The state of a type, from `delivery`.
    pub(crate) fn of(type_subscription: &TypeSubscription, delivery: &DeliveryStatus) -> Self {
        let attachment = type_subscription.view().attachment();
        let (head, cursor, unsettled) = (attachment.head(), attachment.cursor(), attachment.unsettled());
        let outstanding = type_subscription.outstanding();
        let sent =
            |(nonce, answered)| Sent { nonce, version: delivery.sent, at: delivery.sent_at.into(), answered };
        Self {
            type_url: type_subscription.type_url().clone(),
            view: attachment.view(),
            subscription: attachment.subscription().fingerprint(),
            selectors: attachment.subscription().len(),
            head,
            cursor,
            unsettled,
            barred: attachment.barred(),
            sent: outstanding.filter(|_| delivery.sent_at != Millis::default()).map(sent),
            accepted: (delivery.accepted_to > Commit::NONE)
                .then_some((delivery.accepted_to, delivery.accepted)),
            rejection: delivery.rejection.as_deref().map(|rejection| Held {
                at: rejection.at.into(),
                nonce: rejection.nonce,
                version: rejection.version,
                code: rejection.code,
                message: Arc::clone(&rejection.message),
            }),
            condition: Condition::of(type_subscription),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Accepted up to 5, rejected at 8, and then sent what there is up to `sent`, which is `answered` or not.
    fn rejecting(sent: u64, answered: bool) -> TypeStatus {
        let nonce = |commit| Nonce { commit: Commit(commit), part: 0 };
        let at = SystemTime::UNIX_EPOCH;
        let to = Commit(sent);
        let held = Held { at, nonce: Some(nonce(8)), version: Version(2), code: 3, message: Arc::from("no") };
        TypeStatus {
            type_url: TypeUrl::new("acme.Widget"),
            view: 0,
            subscription: Fingerprint::default(),
            selectors: 1,
            head: Head { additions: Commit(9), removals: Commit(9), ..Head::default() },
            cursor: Cursor { additions: to, removals: to },
            unsettled: Unsettled::default(),
            barred: Barred::default(),
            sent: Some(Sent { nonce: nonce(sent), version: Version(2), at, answered }),
            accepted: Some((Commit(5), Version(1))),
            rejection: Some(held),
            condition: Condition::Rejecting,
        }
    }

    #[test]
    fn e04_what_came_after_a_rejection_is_not_rejected_before_it_is_answered() {
        use Standing::{Accepted, Rejected, Unanswered, Waiting};
        for (sent, answered, standings) in [
            (8, true, [Accepted, Rejected, Waiting]),
            (9, false, [Accepted, Rejected, Unanswered]),
            (9, true, [Accepted, Rejected, Rejected]),
        ] {
            let status = rejecting(sent, answered);
            let standing = |changed| status.standing(Commit(changed));
            assert_eq!([5, 8, 9].map(standing), standings, "{sent} {answered}");
        }
    }
}
