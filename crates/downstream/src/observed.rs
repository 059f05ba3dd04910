//! What is looked at whenever metrics are read: what the database holds.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use opentelemetry::KeyValue;
use opentelemetry::metrics::AsyncInstrument;
use parking_lot::Mutex;
use weir_database::{Database, Statistics};
use weir_metrics::Instrument;

/// How long a count serves: one reading of the metrics asks for several numbers of it.
const FRESH: Duration = Duration::from_millis(500);

/// One of the numbers that are counted.
type Number = fn(&Statistics) -> usize;

/// What was counted, by the short name of the type.
type Counted = Vec<(&'static str, Statistics)>;

/// Shows what there is in `database`.
pub(crate) fn observe(database: &Database) {
    let of = |count: fn(&Database) -> u64| {
        let database = database.clone();
        move |observer: &dyn AsyncInstrument<u64>| observer.observe(count(&database), &[])
    };
    weir_metrics::DATABASE_DEMAND.observe(of(Database::demand));
    weir_metrics::DATABASE_EXPIRED.observe(of(Database::expired));
    weir_metrics::DATABASE_UNCACHEABLE_REFETCHES.observe(of(Database::renewals));
    weir_metrics::DATABASE_AMBIGUOUS_MATCHES.observe(of(Database::ambiguities));
    let lock_holds = weir_metrics::DATABASE_LOCK_HOLD_TIME.histogram();
    database.on_lock_hold(move |held| lock_holds.record(held.as_secs_f64(), &[]));
    let refusing = database.clone();
    weir_metrics::DATABASE_REFUSED.observe(move |observer| {
        for ((authority, limit), count) in refusing.refused() {
            let labels = [KeyValue::new("authority", authority), KeyValue::new("limit", limit)];
            observer.observe(count, &labels);
        }
    });

    let displacing = database.clone();
    weir_metrics::DATABASE_PARAMETER_SETS_DISPLACED.observe(move |observer| {
        for (authority, count) in displacing.displaced_sets() {
            observer.observe(count, &[KeyValue::new("authority", authority)]);
        }
    });

    let counts = Arc::new(Counts { database: database.clone(), last: Mutex::default() });
    let shown: [(&Instrument, Number); 6] = [
        (&weir_metrics::DATABASE_RESOURCES, |statistics| statistics.variants),
        (&weir_metrics::DATABASE_SIZE, |statistics| statistics.bytes),
        (&weir_metrics::DATABASE_SUBSCRIPTIONS, |statistics| statistics.streams),
        (&weir_metrics::DATABASE_SELECTIONS, |statistics| statistics.selections),
        (&weir_metrics::DATABASE_VIEWS, |statistics| statistics.views),
        (&weir_metrics::DATABASE_TOMBSTONES, |statistics| statistics.tombstones),
    ];
    for (instrument, number) in shown {
        let counts = Arc::clone(&counts);
        instrument.observe(move |observer| {
            for (of_type, number) in counts.by_type(number) {
                observer.observe(number as u64, &[KeyValue::new("type", of_type)]);
            }
        });
    }
}

/// What was counted last.
struct Counts {
    database: Database,
    last: Mutex<Option<(Instant, Counted)>>,
}

impl Counts {
    /// A number of each type, by its short name; all types that have none share one.
    fn by_type(&self, number: Number) -> BTreeMap<&'static str, usize> {
        let mut last = self.last.lock();
        if last.as_ref().is_none_or(|(at, _)| at.elapsed() > FRESH) {
            let counted = self.database.statistics_by_type();
            let named = counted.into_iter().map(|(type_url, counted)| (type_url.short_name(), counted));
            *last = Some((Instant::now(), named.collect()));
        }
        let mut sums = BTreeMap::new();
        for (of_type, statistics) in last.iter().flat_map(|(_, counted)| counted) {
            *sums.entry(*of_type).or_default() += number(statistics);
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use weir_types::{Batch, Constraints, Content, Provenance, TypeUrl, Variant, VariantKey};

    use super::*;

    #[test]
    fn types_without_a_name_are_one() {
        let database = Database::new(weir_database::Settings::default());
        for type_url in ["type.googleapis.com/acme.A", "type.googleapis.com/acme.B"] {
            let mut batch = Batch::new(TypeUrl::new(type_url), Provenance::Local);
            let content = Content { body: Some(Bytes::from_static(b"body")), ..Content::default() };
            batch.upserts.push(Variant::new(VariantKey::new("a", Constraints::unconstrained()), content));
            database.commit(batch);
        }
        let counts = Counts { database, last: Mutex::default() };
        let one = |number| counts.by_type(number).into_iter().collect::<Vec<_>>();
        assert_eq!(one(|statistics| statistics.variants), [("other", 2)]);
        assert_eq!(one(|statistics| statistics.bytes), [("other", 8)]);
    }
}
