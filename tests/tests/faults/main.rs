//! A campaign of faults: two control planes, a Weir with a store, and many clients, with networks in between. A seed
//! breaks the networks and kills the parties while everything changes; after each fault, everyone has what the
//! control planes have, and in the end nothing is left over.
//!
//! `WEIR_FAULTS` is how many faults, `WEIR_FAULTS_CLIENTS` how many clients, `WEIR_FAULTS_SEED` which campaign.
//! A campaign that fails prints its seed, and each fault with its number.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "a test ends at the first thing that is wrong"
)]

mod fleet;
mod soak;
mod trouble;
mod truth;
mod world;

use std::str::FromStr;
use std::time::Duration;

use weir_tests::client::Pace;

use self::trouble::Trouble;
use self::world::World;

/// What a run of all tests can afford.
const FAULTS: usize = 50;
const CLIENTS: usize = 40;
/// Any other is a campaign of its own.
const SEED: u64 = 1;
/// Many faults in a short time.
const HASTY: Pace = Pace { keepalive: Duration::from_secs(1), patience: Duration::from_secs(4) };

fn setting<T: FromStr>(variable: &str, otherwise: T) -> T {
    let given = std::env::var(variable).ok().map(|text| text.parse());
    given.map_or(otherwise, |parsed| parsed.unwrap_or_else(|_| panic!("{variable} is no number")))
}

/// Half of them, of a seed of its own.
async fn campaign(protocol: &str, half: u64) {
    let faults = setting("WEIR_FAULTS", FAULTS) / 2;
    let clients = setting("WEIR_FAULTS_CLIENTS", CLIENTS);
    let seed = setting("WEIR_FAULTS_SEED", SEED) * 2 + half;
    println!("{faults} faults, {clients} clients, seed {seed}, {protocol} upstream");
    let mut world = World::start(protocol, clients, seed, HASTY).await;
    world.converge("the start").await;
    for number in 1..=faults {
        let trouble = Trouble::draw(world.random(), HASTY);
        let what = format!("fault {number}: {trouble:?}");
        println!("{what}");
        world.suffer(trouble).await;
        world.converge(&what).await;
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i05_u03_u09_clients_converge_after_every_fault_of_an_incremental_upstream() {
    campaign("ads-delta", 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s01_u03_u09_clients_converge_after_every_fault_of_a_state_of_the_world_upstream() {
    campaign("ads-sotw", 1).await;
}
