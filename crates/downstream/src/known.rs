//! What clients state that they hold, kept once for all that state the same.
//!
//! A herd that reconnects states the same thousand names ten thousand times. The first one has its
//! statement read; the others share what was made of it, for as long as they need it.

use std::sync::Arc;
use std::time::Duration;

use moka::sync::Cache;
use weir_types::KnownVersions;
use weir_wire::request::{Statement, StatementFingerprint};
use weir_wire::scan::ScanError;

use weir_session::InitialVersions;

/// How many bytes of names are kept in all, and what is kept with each.
const CAPACITY: u64 = 20 << 20;
const BESIDE: usize = 64;

/// How long a statement is kept that nobody repeats: clients that lost one proxy come within a minute.
const IDLE: Duration = Duration::from_secs(60);

/// The statements that were read lately.
pub struct Statements(Cache<StatementFingerprint, Arc<KnownVersions>>);

impl Default for Statements {
    fn default() -> Self {
        let weight = |_: &_, known: &Arc<KnownVersions>| {
            let bytes = known.stated().map(|name| name.len() + BESIDE).sum::<usize>();
            u32::try_from(bytes).unwrap_or(u32::MAX)
        };
        Self(Cache::builder().max_capacity(CAPACITY).weigher(weight).time_to_idle(IDLE).build())
    }
}

impl InitialVersions for Statements {
    fn read(&self, statement: &Statement) -> Result<Option<Arc<KnownVersions>>, ScanError> {
        if statement.is_empty() {
            return Ok(None);
        }
        let fingerprint = statement.fingerprint();
        if let Some(known) = self.0.get(&fingerprint) {
            return Ok(Some(known));
        }
        let known = Arc::new(statement.read()?);
        // Where a name is stated twice the order counts, and the fingerprint does not know it.
        if known.len() == statement.len() {
            self.0.insert(fingerprint, Arc::clone(&known));
        }
        Ok(Some(known))
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;
    use weir_types::Version;
    use weir_wire::discovery::DeltaDiscoveryRequest;
    use weir_wire::request::DeltaRequest;

    use super::*;

    fn statement(entries: &[(&str, u64)]) -> Statement {
        let entries = entries.iter().map(|(name, version)| DeltaDiscoveryRequest {
            initial_resource_versions: [((*name).to_owned(), Version(*version).to_string())].into(),
            ..DeltaDiscoveryRequest::default()
        });
        let bytes: Vec<u8> = entries.flat_map(|entry| entry.encode_to_vec()).collect();
        DeltaRequest::decode(bytes.into()).unwrap().known
    }

    #[test]
    fn i05_clients_that_hold_the_same_share_what_was_made_of_it() {
        let statements = Statements::default();
        let read = |entries: &[_]| statements.read(&statement(entries)).unwrap().unwrap();
        let first = read(&[("a", 1), ("b", 2)]);
        assert!(Arc::ptr_eq(&first, &read(&[("b", 2), ("a", 1)])));
        let other = read(&[("a", 1), ("b", 3)]);
        assert!(!Arc::ptr_eq(&first, &other));
        assert!(other.is_current(&"b".into(), Version(3)) && first.is_current(&"b".into(), Version(2)));
        assert!(statements.read(&statement(&[])).unwrap().is_none());
    }

    #[test]
    fn e05_long_names_take_the_place_of_many() {
        let statements = Statements::default();
        for i in 0..100 {
            let name = format!("{i}{}", "x".repeat(1 << 20));
            statements.read(&statement(&[(&name, 1)])).unwrap();
        }
        statements.0.run_pending_tasks();
        let kept = statements.0.entry_count();
        assert!((1..=20).contains(&kept), "{kept} MiB are kept");
    }

    #[test]
    fn i05_what_is_stated_twice_is_taken_in_its_order() {
        let statements = Statements::default();
        for (entries, held) in [([("a", 1), ("a", 2)], 2), ([("a", 2), ("a", 1)], 1)] {
            let known = statements.read(&statement(&entries)).unwrap().unwrap();
            assert!(known.is_current(&"a".into(), Version(held)), "{entries:?}");
        }
    }
}
