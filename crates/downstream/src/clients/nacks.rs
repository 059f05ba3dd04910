//! The newest rejections, whoever they came from.

use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use weir_types::{Newest, TypeUrl};

use crate::node::Client;

/// The longest text of a client that is kept, in bytes: Envoys have been seen to quote whole resources.
const LONGEST: usize = 4096;

/// A rejection.
#[derive(Clone, Debug)]
pub struct Nack {
    /// Counts all rejections since the start.
    pub number: u64,
    /// When it came.
    pub at: SystemTime,
    /// The stream that it came on; none where it was a poll.
    pub stream: Option<u64>,
    /// Who rejects.
    pub client: Arc<Client>,
    /// What of.
    pub type_url: TypeUrl,
    /// The nonce of the response that it rejects; none if it is not the newest one.
    pub nonce: Option<String>,
    /// The gRPC status code.
    pub code: i32,
    /// What the client says, cut where it is longer than 4 KiB.
    pub message: Arc<str>,
}

impl Nack {
    /// A rejection that came just now.
    pub(crate) fn new(
        stream: Option<u64>,
        client: &Arc<Client>,
        type_url: &TypeUrl,
        nonce: Option<String>,
        nack: &weir_protocol::server::Nack,
    ) -> Self {
        Self {
            number: 0,
            at: SystemTime::now(),
            stream,
            client: Arc::clone(client),
            type_url: type_url.clone(),
            nonce,
            code: nack.code,
            message: shortened(&nack.message),
        }
    }
}

/// The newest of them.
#[derive(Debug, Default)]
pub(super) struct Nacks(Mutex<Newest<Nack>>);

impl Nacks {
    /// Remembers one; its number is given here.
    pub(super) fn add(&self, nack: Nack) {
        self.0.lock().add(|number| Nack { number, ..nack });
    }

    /// All that are remembered, the newest first.
    pub(super) fn all(&self) -> Vec<Nack> {
        self.0.lock().iter().cloned().collect()
    }
}

/// As much of what a client says as is kept.
pub(super) fn shortened(message: &str) -> Arc<str> {
    if message.len() <= LONGEST {
        return message.into();
    }
    let end = (0..=LONGEST).rev().find(|at| message.is_char_boundary(*at)).unwrap_or_default();
    format!("{}…", &message[..end]).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nack(message: &str) -> Nack {
        Nack {
            number: 0,
            at: SystemTime::UNIX_EPOCH,
            stream: Some(1),
            client: Arc::default(),
            type_url: TypeUrl::new("acme.Widget"),
            nonce: None,
            code: 3,
            message: shortened(message),
        }
    }

    #[test]
    fn e04_the_newest_are_remembered() {
        let nacks = Nacks::default();
        for i in 0..261 {
            nacks.add(nack(&i.to_string()));
        }
        let all = nacks.all();
        assert_eq!((all.len(), all[0].number, &*all[0].message), (256, 261, "260"));
        assert_eq!(&*all[255].message, "5");
    }

    #[test]
    fn e05_long_texts_are_cut_between_characters() {
        assert_eq!(&*shortened("short"), "short");
        let long = shortened(&"ä".repeat(LONGEST));
        assert_eq!(long.len(), LONGEST + "…".len());
        assert_eq!(shortened(&format!("x{}", "ä".repeat(LONGEST))).len(), LONGEST - 1 + "…".len());
    }
}
