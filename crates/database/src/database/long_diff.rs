//! The diff of a stream. A long one is made of a copy, so that others have the lock meanwhile.

use weir_types::Name;

use super::ViewHandle;
use super::slices::SLICE;
use crate::lock::Held;
use crate::type_cache::{Copying, Diff, Query, TypeCache, assemble};
use crate::view::ViewId;

impl ViewHandle {
    /// What the stream has to be sent.
    pub fn diff(&self, query: &Query<'_>) -> Diff {
        let mut cache = self.cache.lock();
        if cache.is_long(self.view, query, SLICE)
            && let Some(parts) = copy(&mut cache, self.view, query)
        {
            drop(cache);
            return assemble(parts).diff(query);
        }
        cache.diff(self.view, query)
    }
}

/// Copies in slices what a diff of `view` reads. None where it reads more than can be copied.
fn copy(cache: &mut Held<'_>, view: ViewId, query: &Query<'_>) -> Option<(TypeCache, Copying)> {
    let mut copying = cache.begin_copy(view)?;
    let (selections, names) = cache.unlocked(|| {
        let names: Vec<Name> = query.known.into_iter().flat_map(|known| known.names()).cloned().collect();
        copying.covers(query).then(|| (copying.make_room(&names), names))
    })?;
    for slice in selections.chunks(SLICE) {
        cache.copy(&mut copying, slice);
        cache.pause();
    }
    for slice in names.chunks(SLICE) {
        cache.copy_names(&mut copying, slice);
        cache.pause();
    }
    loop {
        let changed = cache.changed_meanwhile(&mut copying);
        if changed.len() <= SLICE {
            cache.copy(&mut copying, &changed);
            return cache.complete_copy(copying, query.after.removals);
        }
        for slice in changed.chunks(SLICE) {
            cache.copy(&mut copying, slice);
            cache.pause();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::{Arc, Barrier};

    use bytes::Bytes;
    use weir_types::{
        Batch, Constraints, Content, Cursor, DynamicParameters, Provenance, Selector, SubscriptionChange,
        TypeUrl, Variant, VariantKey,
    };

    use super::*;
    use crate::view::ViewListener;
    use crate::{Database, Removed, Settings, Shape};

    const NAMES: usize = 40;

    struct Nobody;

    impl ViewListener for Nobody {
        fn wake(&self) {}
    }

    fn type_url() -> TypeUrl {
        TypeUrl::new("type.googleapis.com/acme.Widget")
    }

    fn name(i: usize) -> String {
        format!("name-{i:02}")
    }

    /// A commit that changes a name, or removes it.
    fn batch(round: usize) -> Batch {
        let mut batch = Batch::new(type_url(), Provenance::Local);
        let key = VariantKey::new(name(round * 7 % NAMES), Constraints::default());
        if round.is_multiple_of(3) {
            batch.removals.push(key);
        } else {
            let body = Some(Bytes::from(round.to_le_bytes().to_vec()));
            batch.upserts.push(Variant::new(key, Content { body, ..Content::default() }));
        }
        batch
    }

    /// What a client has that is sent these diffs, one after the other.
    fn apply(held: &mut BTreeMap<String, Bytes>, diff: &Diff) {
        for removed in &diff.removed {
            if let Removed::Name(name) = removed {
                held.remove(&**name);
            }
        }
        for (variant, _) in &diff.resources {
            let body = variant.content().body.clone().unwrap_or_default();
            held.insert(variant.name().to_string(), body);
        }
    }

    #[test]
    fn d14_a_long_diff_loses_nothing_that_is_committed_meanwhile() {
        let database = Database::new(Settings::default());
        let all: Vec<_> = (0..NAMES).map(|i| Selector::plain(name(i), DynamicParameters::empty())).collect();
        let attach =
            || database.attach(&type_url(), SubscriptionChange::adding(&all), Arc::new(Nobody)).unwrap();
        let step = |place: &mut ViewHandle, held: &mut BTreeMap<String, Bytes>| {
            let diff = place.diff(&Query::new(place.cursor(), Shape::Changes));
            apply(held, &diff);
            place.advance(Cursor { additions: diff.to, removals: diff.to });
        };
        for episode in 0..200 {
            let start = Barrier::new(2);
            let (mut place, mut held) = (attach(), BTreeMap::new());
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    start.wait();
                    (0..NAMES / 2).for_each(|n| _ = database.commit(batch(episode * NAMES / 2 + n)));
                });
                start.wait();
                step(&mut place, &mut held);
            });
            step(&mut place, &mut held);
            let mut truth = BTreeMap::new();
            step(&mut attach(), &mut truth);
            assert_eq!(held, truth, "in episode {episode}");
        }
        database.audit().unwrap();
    }
}
