//! The same for a long time, with more clients, and a Weir that nobody kills: its memory must not grow.
//!
//! `WEIR_SOAK` is for how many seconds, `WEIR_FAULTS_CLIENTS` with how many clients.

use std::time::{Duration, Instant};

use weir_tests::client::Pace;

use super::trouble::{Party, Trouble};
use super::world::World;
use super::{SEED, setting};

const SECONDS: u64 = 3600;
const CLIENTS: usize = 2000;
/// As in operation, rather than as it suits a test.
const STEADY: Pace = Pace { keepalive: Duration::from_secs(10), patience: Duration::from_secs(20) };
/// How often everything changes between two faults, and how quickly.
const CHANGES: usize = 10;
const PERIOD: Duration = Duration::from_secs(1);
/// How much more memory the last quarter may have than the second, once everything has happened before.
const GROWTH: f64 = 1.1;

/// What was seen at one moment.
struct Sample {
    after: Duration,
    memory: f64,
}

/// Any fault that Weir outlives.
fn draw(world: &mut World) -> Trouble {
    loop {
        match Trouble::draw(world.random(), STEADY) {
            Trouble::Kill(Party::Weir | Party::WeirAndControlPlanes) => {}
            trouble => return trouble,
        }
    }
}

async fn churn(world: &mut World) {
    let mut period = tokio::time::interval(PERIOD);
    for _ in 0..CHANGES {
        period.tick().await;
        world.change();
    }
}

async fn look(world: &World, start: Instant, faults: usize) -> Sample {
    let (after, memory) = (start.elapsed(), world.metric("process_memory_usage").await);
    let streams = world.metric("weir_downstream_streams").await;
    let files = world.metric("process_unix_file_descriptor_count").await;
    println!(
        "{:>5} s: {faults} faults, {streams} streams, {:.1} MB, {files} open files",
        after.as_secs(),
        memory / 1e6
    );
    Sample { after, memory }
}

/// The middle one of those within this part of the time.
fn median(samples: &[Sample], from: Duration, to: Duration) -> f64 {
    let within = samples.iter().filter(|sample| (from..to).contains(&sample.after));
    let mut memory: Vec<_> = within.map(|sample| sample.memory).collect();
    memory.sort_by(f64::total_cmp);
    memory[memory.len() / 2]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes an hour"]
async fn i05_u03_memory_stays_as_it_is_for_as_long_as_it_runs() {
    let time = Duration::from_secs(setting("WEIR_SOAK", SECONDS));
    let (clients, seed) = (setting("WEIR_FAULTS_CLIENTS", CLIENTS), setting("WEIR_FAULTS_SEED", SEED));
    println!("{} s, {clients} clients, seed {seed}", time.as_secs());
    let mut world = World::start("ads-delta", clients, seed, STEADY).await;
    world.converge("the start").await;
    let (start, mut samples, mut faults) = (Instant::now(), Vec::new(), 0);
    while start.elapsed() < time {
        churn(&mut world).await;
        let trouble = draw(&mut world);
        faults += 1;
        let what = format!("fault {faults}: {trouble:?}");
        println!("{what}");
        world.suffer(trouble).await;
        world.converge(&what).await;
        samples.push(look(&world, start, faults).await);
    }
    let (second, last) = (median(&samples, time / 4, time / 2), median(&samples, time * 3 / 4, time * 2));
    println!("second quarter {:.1} MB, last quarter {:.1} MB", second / 1e6, last / 1e6);
    assert!(last < second * GROWTH, "from {second} to {last} bytes");
    world.end().await;
}
