//! Which variant is for whom: memoised and worked out, for 1, 10 and 1,000 variants of a name.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use weir_bench::{flat, nested, parameters, variant};
use weir_database::matching::VariantSet;
use weir_types::constraints::Expr;

fn set(variants: usize, expr: fn(usize) -> Expr) -> VariantSet {
    let mut set = VariantSet::default();
    for n in 0..variants {
        set.insert(Arc::new(variant("backend", expr(n), 100, n as u64)));
    }
    // The index is made with the first answer.
    set.select(&parameters(variants));
    set
}

fn matching(c: &mut Criterion) {
    for (shape, expr) in [("flat", flat as fn(usize) -> Expr), ("nested", nested)] {
        for variants in [1, 10, 1000] {
            let mut memoised = set(variants, expr);
            let asked = parameters(variants / 2);
            c.bench_function(&format!("memoised/{shape}/{variants}"), |b| {
                b.iter(|| black_box(memoised.select(black_box(&asked))).is_some());
            });
            // Each parameter set is asked once: none is remembered.
            let mut fresh = set(variants, expr);
            let mut next = 0;
            c.bench_function(&format!("unmemoised/{shape}/{variants}"), |b| {
                b.iter_batched(
                    || {
                        next += 1;
                        let pod = [("pod", format!("other-{next}"))].into_iter().collect();
                        let own: weir_types::DynamicParameters = pod;
                        own.with_defaults(&parameters(next % variants))
                    },
                    |asked| black_box(fresh.select(&asked)).is_some(),
                    BatchSize::SmallInput,
                );
            });
        }
    }
    let mut many = set(1000, flat);
    let sets: Vec<_> = (0..4000).map(parameters).collect();
    c.bench_function("memoised/flat/1000/of 4000 parameter sets", |b| {
        let mut asked = sets.iter().cycle();
        b.iter(|| asked.next().map(|parameters| black_box(many.select(parameters)).is_some()));
    });
}

criterion_group!(benches, matching);
criterion_main!(benches);
