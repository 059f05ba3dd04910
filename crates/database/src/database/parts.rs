//! Batches about many names, which are committed in parts, between which others have the lock.
//!
//! What upstream states of one name does not depend on what it states of another one, where both were asked for by name: each
//! part is about other names. Collections are whole or they are not, so batches for wildcards are never divided.

use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

use weir_types::{Batch, Name, Provenance};

/// About how many names a part is: a few milliseconds' worth. Few in debug builds, so that what tests do there goes this way.
const NAMES: usize = if cfg!(debug_assertions) { 4 } else { 500 };

/// Whether `batch` is committed in parts.
pub(super) fn is_divided(batch: &Batch) -> bool {
    let unaliased = || batch.upserts.iter().all(|variant| variant.content().aliases.is_empty());
    batch.provenance == Provenance::Named && size(batch) > NAMES && unaliased()
}

fn size(batch: &Batch) -> usize {
    let Batch { upserts, heartbeats, removals, undecided, absent, errors, .. } = batch;
    upserts.len() + heartbeats.len() + removals.len() + undecided.len() + absent.len() + errors.len()
}

/// The parts of `batch`, in the order in which they are to be committed. All there is of one name is in one of them.
pub(super) fn of(batch: Batch) -> Vec<Batch> {
    if !is_divided(&batch) {
        return vec![batch];
    }
    // Equal batches have equal parts, so that a simulation can be played again.
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let count = size(&batch).div_ceil(NAMES);
    let part = || Batch { received: batch.received, ..Batch::new(batch.type_url.clone(), batch.provenance) };
    let mut parts: Vec<Batch> = (0..count).map(|_| part()).collect();
    let at = |name: &Name| usize::try_from(hasher.hash_one(name) % count as u64).unwrap_or_default();
    batch.upserts.into_iter().for_each(|of| parts[at(of.name())].upserts.push(of));
    batch.heartbeats.into_iter().for_each(|of| parts[at(&of.key.name)].heartbeats.push(of));
    batch.removals.into_iter().for_each(|of| parts[at(&of.name)].removals.push(of));
    batch.undecided.into_iter().for_each(|of| parts[at(&of.name)].undecided.push(of));
    batch.absent.into_iter().for_each(|of| parts[at(&of.name)].absent.push(of));
    batch.errors.into_iter().for_each(|of| parts[at(&of.name)].errors.push(of));
    // A glob is answered when all its members are there.
    parts[count - 1].answered = batch.answered;
    parts
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use weir_types::{Answered, Constraints, Content, TypeUrl, Variant, VariantKey};

    use super::*;

    fn batch(provenance: Provenance, names: usize) -> Batch {
        let mut batch = Batch::new(TypeUrl::new("type.googleapis.com/acme.Widget"), provenance);
        for n in 0..names {
            let key = VariantKey::new(format!("name-{n}"), Constraints::default());
            let other = VariantKey::new(
                format!("name-{n}"),
                Constraints::new(weir_types::constraints::Expr::value("k", "v")),
            );
            batch.upserts.push(Variant::new(key, Content::default()));
            batch.removals.push(other);
        }
        batch.answered.push(Answered::all());
        batch
    }

    #[test]
    fn d14_all_of_a_name_is_in_one_part_and_collections_are_answered_at_last() {
        let parts = of(batch(Provenance::Named, 2000));
        assert_eq!(parts.len(), 4000 / NAMES);
        let mut seen = HashSet::new();
        for part in &parts {
            let upserts: HashSet<_> = part.upserts.iter().map(|variant| variant.name().clone()).collect();
            let removals: HashSet<_> = part.removals.iter().map(|key| key.name.clone()).collect();
            assert_eq!(upserts, removals);
            assert!(upserts.len() < 8 * NAMES);
            assert!(upserts.into_iter().all(|name| seen.insert(name)));
        }
        assert_eq!(seen.len(), 2000);
        let last = parts.iter().rposition(|part| !part.answered.is_empty());
        assert_eq!((last, parts.iter().flat_map(|part| &part.answered).count()), (Some(parts.len() - 1), 1));
    }

    #[test]
    fn equal_batches_have_equal_parts() {
        let parts = || format!("{:?}", of(batch(Provenance::Named, 100)));
        assert_eq!(parts(), parts());
    }

    #[test]
    fn d14_wildcards_aliases_and_short_batches_stay_whole() {
        assert_eq!(of(batch(Provenance::Wildcard, 2000)).len(), 1);
        assert_eq!(of(batch(Provenance::Named, NAMES / 2)).len(), 1);
        let mut aliased = batch(Provenance::Named, 2000);
        let content = Content { aliases: vec!["alias".into()].into(), ..Content::default() };
        aliased.upserts.push(Variant::new(VariantKey::new("x", Constraints::default()), content));
        assert_eq!(of(aliased).len(), 1);
    }
}
