//! Bursts of a control plane, made one change for clients.
//!
//! Owns what is collected of a stream, and until when. Time is an argument. Never keeps back a first answer: only
//! changes of what was answered before wait for more of them.

use std::collections::HashMap;
use std::time::Instant;

use weir_config::Debounce;
use weir_types::{Batch, VariantKey};

/// What is collected of one stream.
#[derive(Debug, Default)]
pub(crate) struct Collected(Vec<Burst>);

#[derive(Debug)]
struct Burst {
    batch: Batch,
    begun: Instant,
    last: Instant,
}

impl Burst {
    fn due(&self, settings: Debounce) -> Instant {
        (self.last + settings.quiet.get()).min(self.begun + settings.max)
    }
}

// === impl Collected ===

impl Collected {
    /// Whether `batch` may wait: it has nothing but changes, and none that count time.
    pub(crate) fn may_wait(batch: &Batch) -> bool {
        let Batch { heartbeats, undecided, absent, errors, answered, upserts, .. } = batch;
        let nothing_known = undecided.is_empty() && absent.is_empty() && answered.is_empty();
        let nothing_else = heartbeats.is_empty() && errors.is_empty();
        nothing_known && nothing_else && upserts.iter().all(|variant| variant.content().ttl.is_none())
    }

    /// Collects a batch that may wait. Whether it has become part of another one.
    pub(crate) fn add(&mut self, batch: Batch, now: Instant) -> bool {
        match self.of_type(&batch) {
            Some(burst) => {
                merge(&mut burst.batch, batch);
                burst.last = now;
                true
            }
            None => {
                self.0.push(Burst { batch, begun: now, last: now });
                false
            }
        }
    }

    fn of_type(&mut self, batch: &Batch) -> Option<&mut Burst> {
        let same = |burst: &&mut Burst| {
            burst.batch.type_url == batch.type_url && burst.batch.provenance == batch.provenance
        };
        self.0.iter_mut().find(same)
    }

    /// What is collected of the type of `batch`, to be committed before that.
    pub(crate) fn before(&mut self, batch: &Batch) -> Vec<Batch> {
        self.take(|burst| burst.batch.type_url == batch.type_url)
    }

    /// When something is due.
    pub(crate) fn deadline(&self, settings: Debounce) -> Option<Instant> {
        self.0.iter().map(|burst| burst.due(settings)).min()
    }

    /// What is due, in the order in which it began to come.
    pub(crate) fn take_due(&mut self, settings: Debounce, now: Instant) -> Vec<Batch> {
        self.take(|burst| burst.due(settings) <= now)
    }

    /// Everything.
    pub(crate) fn take_all(&mut self) -> Vec<Batch> {
        self.take(|_| true)
    }

    fn take(&mut self, which: impl Fn(&Burst) -> bool) -> Vec<Batch> {
        self.0.extract_if(.., |burst| which(burst)).map(|burst| burst.batch).collect()
    }
}

/// Adds what came later: of each variant, that is what counts. Times are those of what came first.
fn merge(earlier: &mut Batch, later: Batch) {
    let mut at: HashMap<VariantKey, usize> =
        earlier.upserts.iter().enumerate().map(|(i, variant)| (variant.key().clone(), i)).collect();
    if !later.upserts.is_empty() {
        let back: std::collections::HashSet<&VariantKey> = later.upserts.iter().map(|v| v.key()).collect();
        earlier.removals.retain(|key| !back.contains(key));
    }
    for variant in later.upserts {
        match at.get(variant.key()) {
            Some(index) => earlier.upserts[*index] = variant,
            None => {
                at.insert(variant.key().clone(), earlier.upserts.len());
                earlier.upserts.push(variant);
            }
        }
    }
    let gone: std::collections::HashSet<&VariantKey> = later.removals.iter().collect();
    earlier.upserts.retain(|variant| !gone.contains(variant.key()));
    earlier.removals.retain(|key| !gone.contains(key));
    earlier.removals.extend(later.removals);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use weir_config::PositiveDuration;
    use weir_types::{Absence, Constraints, Content, Provenance, ResourceLocator, TypeUrl, Variant};

    use super::*;

    const SETTINGS: Debounce =
        Debounce { quiet: PositiveDuration::millis::<100>(), max: Duration::from_millis(250) };

    fn key(name: &str) -> VariantKey {
        VariantKey::new(name, Constraints::unconstrained())
    }

    /// `name=version` comes, `-name` goes.
    fn batch(type_name: &str, changes: &[&str]) -> Batch {
        let mut batch = Batch::new(TypeUrl::new(type_name), Provenance::Wildcard);
        for change in changes {
            match (change.strip_prefix('-'), change.split_once('=')) {
                (Some(gone), _) => batch.removals.push(key(gone)),
                (None, Some((name, version))) => {
                    let content = Content { upstream_version: version.into(), ..Content::default() };
                    batch.upserts.push(Variant::new(key(name), content));
                }
                _ => unreachable!(),
            }
        }
        batch
    }

    fn names(batch: &Batch) -> Vec<String> {
        let here = batch.upserts.iter().map(|v| format!("{}={}", v.name(), v.content().upstream_version));
        here.chain(batch.removals.iter().map(|key| format!("-{}", key.name))).collect()
    }

    #[test]
    fn u13_the_last_word_on_each_variant_counts() {
        for (first, second, wanted) in [
            (&["a=1"][..], &["b=1"][..], &["a=1", "b=1"][..]),
            (&["a=1"], &["a=2"], &["a=2"]),
            (&["a=1"], &["-a"], &["-a"]),
            (&["-a"], &["a=2"], &["a=2"]),
            (&["-a"], &["-a", "-b"], &["-a", "-b"]),
            (&["a=1", "-b"], &["b=2", "-a"], &["b=2", "-a"]),
        ] {
            let (mut collected, now) = (Collected::default(), Instant::now());
            assert!(!collected.add(batch("t", first), now) && collected.add(batch("t", second), now));
            let all = collected.take_all();
            assert_eq!((all.len(), names(&all[0])), (1, wanted.iter().map(ToString::to_string).collect()));
        }
    }

    #[test]
    fn u13_a_burst_ends_by_quiet_or_by_its_length() {
        let (mut collected, start) = (Collected::default(), Instant::now());
        let ms = |ms| start + Duration::from_millis(ms);
        collected.add(batch("t", &["a=1"]), ms(0));
        assert_eq!(collected.deadline(SETTINGS), Some(ms(100)));
        for at in [90, 180] {
            collected.add(batch("t", &["a=2"]), ms(at));
        }
        assert_eq!(collected.deadline(SETTINGS), Some(ms(250)), "it has lasted long enough");
        collected.add(batch("u", &["a=1"]), ms(200));
        assert!(collected.take_due(SETTINGS, ms(249)).is_empty());
        assert_eq!(collected.take_due(SETTINGS, ms(250)).len(), 1, "each type for itself");
        assert_eq!(collected.deadline(SETTINGS), Some(ms(300)));
    }

    #[test]
    fn u13_answers_and_what_counts_time_do_not_wait_and_come_after_what_does() {
        let mut answer = batch("t", &["a=1"]);
        assert!(Collected::may_wait(&answer));
        answer.mark_answered(&ResourceLocator::new("*", Default::default()));
        let mut absent = batch("t", &[]);
        absent.mark_absent(&ResourceLocator::new("a", Default::default()), Absence::Known);
        let mut mortal = batch("t", &[]);
        let content = Content { ttl: Some(Duration::from_secs(1)), ..Content::default() };
        mortal.upserts.push(Variant::new(key("a"), content));
        for batch in [&answer, &absent, &mortal] {
            assert!(!Collected::may_wait(batch), "{batch:?}");
        }
        let (mut collected, now) = (Collected::default(), Instant::now());
        collected.add(batch("t", &["a=1"]), now);
        collected.add(batch("u", &["a=1"]), now);
        assert_eq!((collected.before(&answer).len(), collected.take_all().len()), (1, 1));
    }
}
