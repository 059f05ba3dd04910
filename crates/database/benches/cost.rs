//! What a stream costs by how much it asks for, and for how long it holds the lock of its type.
//!
//! `cargo bench -p weir-database` prints CPU time per item at each size, and the longest hold of a lock: a cost that
//! grows faster than n log n shows as a rising row.
#![allow(missing_docs, clippy::expect_used, clippy::print_stdout, reason = "a bench prints what it measures")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use weir_database::{Database, Query, Settings, Shape, ViewHandle, ViewListener};
use weir_types::constraints::Expr;
use weir_types::{
    Absence, Batch, Constraints, Content, DynamicParameters, KnownVersions, Provenance, RefusalReason,
    Selector, SubscriptionChange, TypeUrl, Variant, VariantKey,
};

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];
const HOT: &str = "hot";

/// Does something with so many items.
type Case = fn(&World, usize);

struct Nobody;

impl ViewListener for Nobody {
    fn wake(&self) {}
}

struct World {
    database: Database,
    longest: Arc<AtomicU64>,
}

impl World {
    fn new() -> Self {
        let (database, longest) = (Database::new(Settings::default()), Arc::<AtomicU64>::default());
        let longest_of = Arc::clone(&longest);
        database.on_lock_hold(move |held| {
            let held = u64::try_from(held.as_nanos()).unwrap_or(u64::MAX);
            longest_of.fetch_max(held, Ordering::Relaxed);
        });
        Self { database, longest }
    }

    fn attach(&self, selectors: &[Selector]) -> ViewHandle {
        self.attach_with(SubscriptionChange::adding(selectors))
    }

    fn attach_with(&self, change: SubscriptionChange<'_>) -> ViewHandle {
        self.database.attach(&type_url(), change, Arc::new(Nobody)).expect("there are no limits")
    }
}

fn type_url() -> TypeUrl {
    TypeUrl::new("type.googleapis.com/acme.Widget")
}

fn shard(i: usize) -> DynamicParameters {
    [("shard", i.to_string())].into_iter().collect()
}

fn names(count: usize, parameters: &DynamicParameters) -> Vec<Selector> {
    (0..count).map(|i| Selector::plain(format!("name-{i}"), parameters.clone())).collect()
}

fn locators(count: usize) -> Vec<Selector> {
    (0..count).map(|i| Selector::located(HOT, shard(i))).collect()
}

fn variant(name: String, expr: Expr, body: usize) -> Variant {
    let mut bytes = vec![0; 300];
    bytes[..8].copy_from_slice(&body.to_le_bytes());
    let content = Content { body: Some(Bytes::from(bytes)), ..Content::default() };
    Variant::new(VariantKey::new(name, Constraints::new(expr)), content)
}

fn batch(upserts: Vec<Variant>) -> Batch {
    Batch { upserts, ..Batch::new(type_url(), Provenance::Named) }
}

/// The first answer of a stream.
fn diff(place: &mut ViewHandle) {
    let diff = place.diff(&Query::new(place.cursor(), Shape::Changes));
    place.advance(weir_types::Cursor { additions: diff.to, removals: diff.to });
}

fn subscribe(world: &World, count: usize) {
    diff(&mut world.attach(&names(count, &DynamicParameters::empty())));
}

fn subscribe_to_denied(world: &World, count: usize) {
    let selectors = names(count, &DynamicParameters::empty());
    let refused = selectors.iter().map(|selector| (selector.clone(), RefusalReason::Denied)).collect();
    let change = SubscriptionChange { refused: &refused, ..SubscriptionChange::adding(&selectors) };
    diff(&mut world.attach_with(change));
}

fn subscribe_to_unknown(world: &World, count: usize) {
    let selectors = names(count, &DynamicParameters::empty());
    let mut place = world.attach(&selectors);
    for some in selectors.chunks(500) {
        let mut refused = batch(Vec::new());
        some.iter().for_each(|selector| refused.mark_absent(&selector.locator, Absence::Known));
        world.database.commit(refused);
    }
    diff(&mut place);
}

/// A stream that states to hold what it asks for, of which nothing is there.
fn reconnect(world: &World, count: usize) {
    let located = |i| Selector::located(format!("name-{i}"), shard(0));
    let selectors: Vec<_> = (0..count).map(located).collect();
    let known: KnownVersions =
        selectors.iter().map(|selector| (selector.locator.name.clone(), "1")).collect();
    let mut place = world.attach(&selectors);
    for some in selectors.chunks(500) {
        let mut refused = batch(Vec::new());
        some.iter().for_each(|selector| refused.mark_absent(&selector.locator, Absence::Known));
        world.database.commit(refused);
        let diff = place.diff(&Query { known: Some(&known), ..Query::new(place.cursor(), Shape::Changes) });
        place.advance(weir_types::Cursor { additions: diff.to, removals: diff.to });
    }
}

fn locate_one_name(world: &World, count: usize) {
    let mut place = world.attach(&locators(count));
    world.database.commit(batch(vec![variant(HOT.to_owned(), Expr::All(Vec::new()), 0)]));
    diff(&mut place);
    drop(place);
    [0, 61].iter().for_each(|after| world.database.sweep(Instant::now() + Duration::from_secs(*after)));
}

fn bring_variants(world: &World, count: usize) {
    let mut place = world.attach(&[Selector::located(HOT, shard(0)), Selector::plain("*", shard(0))]);
    let of_shard = |i: usize| variant(HOT.to_owned(), Expr::value("shard", i.to_string()), i);
    let all =
        Batch { upserts: (0..count).map(of_shard).collect(), ..Batch::new(type_url(), Provenance::Local) };
    world.database.commit(all);
    diff(&mut place);
}

fn change_one_of_many(world: &World, count: usize) {
    let mut place = world.attach(&names(count, &DynamicParameters::empty()));
    for i in 0..count / 100 {
        let (add, remove) = (format!("more-{i}"), format!("name-{i}"));
        let [add, remove] = [add, remove].map(|name| Selector::plain(name, DynamicParameters::empty()));
        place.change(SubscriptionChange::new(&[add], &[remove])).expect("there are no limits");
    }
}

/// The CPU time of this thread, so that others on the machine do not count.
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let first = text.split(' ').next().and_then(|ns| ns.parse().ok());
    Duration::from_nanos(first.expect("a number"))
}

fn main() {
    let cases: [(&str, Case, &[usize]); 7] = [
        ("names of a stream", subscribe, &SIZES),
        ("denied names of a stream", subscribe_to_denied, &SIZES),
        ("unknown names of a stream", subscribe_to_unknown, &SIZES),
        ("names that a client states to hold, and that are gone", reconnect, &SIZES),
        ("locators of one name", locate_one_name, &SIZES),
        ("variants of one name", bring_variants, &SIZES),
        ("hundredths of the names of a stream changed one by one", change_one_of_many, &SIZES[..2]),
    ];
    println!("{:<56} {:>9} {:>12} {:>14}", "", "n", "us per item", "longest hold");
    for (what, case, sizes) in cases {
        for size in sizes {
            let world = World::new();
            let before = cpu_time();
            case(&world, *size);
            let each = (cpu_time() - before).as_secs_f64() * 1e6 / *size as f64;
            let longest = Duration::from_nanos(world.longest.load(Ordering::Relaxed));
            println!("{what:<56} {size:>9} {each:>12.2} {:>11.1} ms", longest.as_secs_f64() * 1e3);
        }
    }
}
