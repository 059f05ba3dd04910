//! The newest rejections, whoever they came from.

use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use weir_types::{Newest, TypeUrl};

use crate::node::Client;

/// A rejection.
#[derive(Clone, Debug)]
pub struct Nack {
    /// Counts all rejections since the start.
    pub number: u64,
    /// When it came.
    pub at: SystemTime,
    /// The stream that it came on; none where it was a poll.
    pub stream: Option<u64>,
    /// Who rejects: the id of its node. The rest of it is kept for as long as it is here, and no longer.
    pub node: String,
    /// And the cluster of that.
    pub cluster: String,
    /// What of.
    pub type_url: TypeUrl,
    /// The nonce of the response that it rejects; none if it is not the newest one.
    pub nonce: Option<String>,
    /// The gRPC status code.
    pub code: i32,
    /// The client's error text.
    pub message: Arc<str>,
}

impl Nack {
    /// A rejection that came just now.
    pub(crate) fn new(
        stream: Option<u64>,
        client: &Client,
        type_url: &TypeUrl,
        nonce: Option<String>,
        nack: &weir_session::Nack,
    ) -> Self {
        Self {
            number: 0,
            at: SystemTime::now(),
            stream,
            node: client.id.clone(),
            cluster: client.cluster.clone(),
            type_url: type_url.clone(),
            nonce,
            code: nack.code,
            message: nack.message.as_str().into(),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn nack(message: &str) -> Nack {
        Nack {
            number: 0,
            at: SystemTime::UNIX_EPOCH,
            stream: Some(1),
            node: String::new(),
            cluster: String::new(),
            type_url: TypeUrl::new("acme.Widget"),
            nonce: None,
            code: 3,
            message: message.into(),
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
}
