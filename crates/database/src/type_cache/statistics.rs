//! How much there is of a type, counted in slices.

use weir_types::Provenance;

use super::TypeCache;
use crate::view::SelectionId;

/// How much a database holds, over all types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Names of which there are variants or subscriptions.
    pub names: usize,
    /// Variants of all resources.
    pub variants: usize,
    /// The bytes of their bodies, in bytes; what variants of one name share counts once.
    pub bytes: usize,
    /// Of the variants, the ones that are kept only while somebody subscribes to them.
    pub subscribed_variants: usize,
    /// Distinct locators that are wanted from upstream.
    pub selections: usize,
    /// Distinct subscriptions of streams.
    pub views: usize,
    /// Logical streams.
    pub streams: usize,
    /// Variants that are gone, and whose removal some stream still has to be sent.
    pub tombstones: usize,
}

impl TypeCache {
    /// Adds what there is to `statistics`: of names and selections `count` from a place on, of the rest all with the first.
    /// Returns the next place, if there is one.
    pub(crate) fn count_from(
        &self,
        place: usize,
        count: usize,
        statistics: &mut Statistics,
    ) -> Option<usize> {
        let next = place.saturating_add(count);
        for (_, variants) in self.variants.iter_from(place).take(count) {
            let [named, wildcard, local] = [Provenance::Named, Provenance::Wildcard, Provenance::Local]
                .map(|provenance| variants.of(provenance).held().count());
            statistics.names += 1;
            statistics.variants += named + wildcard + local;
            statistics.bytes += variants.bytes();
            statistics.subscribed_variants += named + wildcard;
        }
        let asked = self.selections.names_from(place).take(count);
        statistics.names += asked.filter(|name| self.variants.of(name).is_none()).count();
        let selections = (place..next.min(self.selections.places()))
            .filter_map(|place| self.selections.get(SelectionId(place)));
        statistics.tombstones +=
            selections.map(|selection| selection.members.tombstone_count()).sum::<usize>();
        if place == 0 {
            statistics.selections += self.selections.len();
            statistics.views += self.views.len();
            statistics.streams += self.views.iter().map(|(_, view)| view.streams).sum::<usize>();
        }
        let most = self.variants.len().max(self.selections.name_count()).max(self.selections.places());
        (next < most).then_some(next)
    }
}
