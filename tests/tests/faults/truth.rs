//! What the control plane has, and what a client should therefore hold.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use weir_testkit::resource::PROBE;
use weir_testkit::resources::{constrained, text};
use weir_testkit::type_url;
use weir_tests::client::{ENVIRONMENTS, Held, NOTES, note_name, wanted};

/// How many clusters there may be.
const CLUSTERS: usize = 20;

/// All resources: clusters, which come and go and are subscribed to by wildcard, one of them in a variant for each
/// environment; and notes, which are subscribed to by name and change.
#[derive(Clone, Debug)]
pub(crate) struct Truth {
    clusters: BTreeMap<usize, u64>,
    variants: [u64; 2],
    notes: Vec<u64>,
    changes: u64,
}

impl Truth {
    pub(crate) fn new() -> Self {
        let clusters = (0..CLUSTERS / 2).map(|number| (number, 0)).collect();
        Self { clusters, variants: [0; 2], notes: vec![0; NOTES], changes: 0 }
    }

    /// Changes several things at once.
    pub(crate) fn change(&mut self, random: &mut fastrand::Rng) {
        for _ in 0..random.usize(1..6) {
            self.changes += 1;
            match random.u32(..4) {
                0 => self.variants[random.usize(..2)] = self.changes,
                1 => self.notes[random.usize(..NOTES)] = self.changes,
                2 => drop(self.clusters.insert(random.usize(..CLUSTERS), self.changes)),
                _ => drop(self.clusters.remove(&random.usize(..CLUSTERS))),
            }
        }
    }

    /// As they stand in a file.
    pub(crate) fn resources(&self) -> Vec<Value> {
        let clusters = self.clusters.iter().map(|(number, change)| cluster(&cluster_name(*number), *change));
        let variants = ENVIRONMENTS.iter().zip(self.variants);
        let variants = variants.map(|(env, change)| constrained("env", env, &cluster("variant", change)));
        let notes = self.notes.iter().enumerate();
        let notes = notes.map(|(number, change)| text(PROBE, &note_name(number), &change.to_string()));
        clusters.chain(variants).chain(notes).collect()
    }

    /// What the client with this number has to have.
    pub(crate) fn of_client(&self, client: usize) -> Held {
        let clusters = self.clusters.iter().map(|(number, change)| (cluster_name(*number), *change));
        let variant = ("variant".to_owned(), self.variants[client % 2]);
        let clusters =
            clusters.chain([variant]).map(|(name, change)| ((type_url("cds").to_owned(), name), change));
        let notes = wanted(client).map(|note| ((PROBE.to_owned(), note_name(note)), self.notes[note]));
        clusters.chain(notes).map(|(key, change)| (key, change.to_string())).collect()
    }
}

fn cluster_name(number: usize) -> String {
    format!("cluster-{number}")
}

fn cluster(name: &str, change: u64) -> Value {
    json!({
        "@type": type_url("cds"),
        "name": name,
        "alt_stat_name": change.to_string(),
        "type": "STATIC",
        "connect_timeout": "1s",
    })
}
