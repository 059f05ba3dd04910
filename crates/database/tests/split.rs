//! Differences in parts (i08).

#![allow(clippy::expect_used, reason = "a test ends at the first thing that is not as it should be")]

mod support;

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use support::*;
use weir_database::{Diff, Piece, Removed};
use weir_types::{Form, Variant, VariantKey};

/// A difference about some of eight names; of one name there may be two variants, and removals of others.
fn any_diff() -> impl Strategy<Value = Diff> {
    let resource = (0u8..8, prop::bool::ANY, 0usize..40);
    let removed = (0u8..8, 0u8..3);
    (prop::collection::btree_set(resource, 0..10), prop::collection::btree_set(removed, 0..10)).prop_map(
        |(resources, removed)| {
            let mut seen = BTreeSet::new();
            let resources = resources.into_iter().filter(|(name, located, _)| seen.insert((*name, *located)));
            let resources = resources.map(|(name, located, size)| {
                let name = format!("n{name}");
                let key = if located { only(&name, "prod") } else { anyone(&name) };
                let form = if located { Form::Located } else { Form::Plain };
                (Arc::new(variant(key, &"x".repeat(size))), form)
            });
            let removed: BTreeSet<Removed> = removed
                .into_iter()
                .map(|(name, kind)| match (format!("n{name}"), kind) {
                    (name, 0) => Removed::Name(name.into()),
                    (name, 1) => Removed::Locator(name.into()),
                    (name, _) => Removed::Variant(only(&name, "test")),
                })
                .collect();
            Diff { resources: resources.collect(), removed: removed.into_iter().collect(), ..Diff::default() }
        },
    )
}

fn weight(piece: Piece<'_>) -> usize {
    match piece {
        Piece::Resource(variant, _) => 1 + variant.content().body.as_ref().map_or(0, |body| body.len()),
        Piece::Heartbeat(..) => 2,
        Piece::Removed(_) | Piece::Failing(_) => 3,
    }
}

fn identity((variant, form): &(Arc<Variant>, Form)) -> (VariantKey, Form) {
    (variant.key().clone(), *form)
}

proptest! {
    #[test]
    fn i08_p08_parts_say_together_what_the_whole_says_and_keep_names_together(
        diff in any_diff(),
        limit in 1usize..100,
    ) {
        let parts = diff.split(limit, weight);
        let resources: Vec<_> = parts.iter().flat_map(|part| part.resources.iter().map(identity)).collect();
        prop_assert_eq!(resources, diff.resources.iter().map(identity).collect::<Vec<_>>());
        let mut removed: Vec<_> = parts.iter().flat_map(|part| part.removed.clone()).collect();
        removed.sort();
        prop_assert_eq!(removed, diff.removed.clone());

        let mut seen = BTreeSet::new();
        let mut only_removals = false;
        for part in &parts {
            let names: BTreeSet<_> = part
                .resources
                .iter()
                .map(|(variant, _)| variant.name().clone())
                .chain(part.removed.iter().map(|removed| removed.name().clone()))
                .collect();
            let pieces = part.resources.iter().map(|(v, form)| Piece::Resource(v, *form));
            let total: usize = pieces.chain(part.removed.iter().map(Piece::Removed)).map(weight).sum();
            prop_assert!(total <= limit || names.len() == 1, "{part:?} weighs {total}");
            for name in names {
                prop_assert!(seen.insert(name.clone()), "{name} is in two parts");
            }
            prop_assert!(!only_removals || part.resources.is_empty(), "additions come first");
            only_removals |= part.resources.is_empty();
        }
        prop_assert!(!parts.is_empty());
    }
}
