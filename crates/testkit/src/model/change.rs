//! One response of an upstream, as a value that can be printed and applied twice.

use std::time::{Duration, Instant};

use weir_types::{Absent, Answered, Batch, Content, Heartbeat, Provenance, TypeUrl, Variant, VariantKey};

/// A [`Batch`] that can be cloned.
#[derive(Clone, Debug)]
pub struct Change {
    /// The one type it is about.
    pub type_url: TypeUrl,
    /// Through which kind of subscription it came.
    pub provenance: Provenance,
    /// Variants that are new or may have changed.
    pub upserts: Vec<(VariantKey, Content)>,
    /// Variants that are refreshed without being sent.
    pub heartbeats: Vec<Heartbeat>,
    /// Variants that are gone.
    pub removals: Vec<VariantKey>,
    /// Names that nothing matches.
    pub absent: Vec<Absent>,
    /// The collections that are answered.
    pub answered: Vec<Answered>,
    /// When it was received: times to live count from then, if they are to count.
    pub received: Option<Instant>,
}

impl Change {
    /// Changes nothing yet.
    pub fn new(type_url: TypeUrl, provenance: Provenance) -> Self {
        let (upserts, heartbeats, removals, absent, answered, received) = Default::default();
        Self { type_url, provenance, upserts, heartbeats, removals, absent, answered, received }
    }

    /// The same with one more variant that is new or changed.
    #[must_use]
    pub fn with(mut self, key: VariantKey, content: Content) -> Self {
        self.upserts.push((key, content));
        self
    }

    /// The same with one more variant that is gone.
    #[must_use]
    pub fn without(mut self, key: VariantKey) -> Self {
        self.removals.push(key);
        self
    }

    /// The same with one more variant that lives on, for `ttl`.
    #[must_use]
    pub fn refreshing(mut self, key: VariantKey, ttl: Duration) -> Self {
        self.heartbeats.push(Heartbeat { key, ttl });
        self
    }

    /// As a database takes it.
    pub fn batch(&self) -> Batch {
        let mut batch = Batch::new(self.type_url.clone(), self.provenance);
        let upserts = self.upserts.iter().cloned();
        batch.upserts = upserts.map(|(key, content)| Variant::new(key, content)).collect();
        batch.heartbeats.clone_from(&self.heartbeats);
        batch.received = self.received;
        batch.removals.clone_from(&self.removals);
        batch.absent.clone_from(&self.absent);
        batch.answered.clone_from(&self.answered);
        batch
    }
}
