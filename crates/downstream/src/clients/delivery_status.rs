//! What a stream remembers of one type for operators, beside what the protocol makes it remember.

use std::sync::Arc;

use weir_session::{Nack, Nonce, Verdict};
use weir_types::{Commit, Version};

use super::Millis;

/// Of one type: the newest response, and the newest verdicts. There are about five for each Envoy.
#[derive(Debug, Default)]
pub(crate) struct DeliveryStatus {
    pub(super) sent_at: Millis,
    pub(super) sent: Version,
    /// Up to where the client has accepted everything that it was sent.
    pub(super) accepted_to: Commit,
    pub(super) accepted: Version,
    pub(super) rejection: Option<Box<Rejection>>,
}

/// A client's newest rejection, which stands when it has accepted something since.
#[derive(Clone, Debug)]
pub(super) struct Rejection {
    pub(super) at: Millis,
    pub(super) nonce: Option<Nonce>,
    pub(super) version: Version,
    pub(super) code: i32,
    pub(super) message: Arc<str>,
}

impl DeliveryStatus {
    /// A response has left.
    pub(crate) fn send(&mut self, version: Version) {
        self.sent_at = Millis::now();
        self.sent = version;
    }

    /// The client has answered for one.
    pub(crate) fn record_verdict(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Ack(nonce) => {
                self.accepted_to = nonce.commit;
                self.accepted = self.sent;
            }
            Verdict::Nack { nonce, nack: Nack { code, message } } => {
                self.rejection = Some(Box::new(Rejection {
                    at: Millis::now(),
                    nonce: *nonce,
                    version: self.sent,
                    code: *code,
                    message: message.as_str().into(),
                }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_on_a_stream_is_remembered_in_few_bytes() {
        assert_eq!(size_of::<DeliveryStatus>(), 40);
    }

    #[test]
    fn e04_a_rejection_stands_beside_what_was_accepted_before_and_after() {
        let mut delivery = DeliveryStatus::default();
        let nonce = |commit| Nonce { commit: Commit(commit), part: 0 };
        delivery.send(Version(1));
        delivery.record_verdict(&Verdict::Ack(nonce(7)));
        delivery.send(Version(2));
        let nack = Nack { code: 3, message: "no".to_owned() };
        delivery.record_verdict(&Verdict::Nack { nonce: Some(nonce(8)), nack });
        assert_eq!((delivery.accepted_to, delivery.accepted), (Commit(7), Version(1)));
        delivery.send(Version(3));
        delivery.record_verdict(&Verdict::Ack(nonce(9)));
        assert_eq!((delivery.accepted_to, delivery.accepted), (Commit(9), Version(3)));
        let rejection = delivery.rejection.unwrap();
        assert_eq!((rejection.version, rejection.nonce), (Version(2), Some(nonce(8))));
        assert_eq!((rejection.code, &*rejection.message), (3, "no"));
    }
}
