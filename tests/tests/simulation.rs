//! A whole tier in virtual time, by seeds.
//!
//! `WEIR_SIM_SEEDS` is how many seeds each test runs, `WEIR_SIM_SEED` which single one, and `WEIR_SIM_TRACE` how
//! much of what happened last is printed when one fails.

use weir_protocol::Dialect::{Delta, Sotw};
use weir_testkit::simulator::{Hop, Setup, Simulation, Tally};

/// At most one in so many things that are looked at may be excused.
const EXCUSED: u64 = 20;

fn simulate(hops: &'static [Hop]) {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match number("WEIR_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("WEIR_SIM_SEEDS").unwrap_or(500),
    };
    let mut tally = Tally::default();
    for seed in seeds {
        let sent = Sent(seed);
        tally += Simulation::run(Setup { hops }, seed).tally;
        std::mem::forget(sent);
    }
    println!("{tally:?}");
    // A single play may be an unlucky one.
    let enough = tally.checked > 10_000;
    assert!(!enough || tally.excused * EXCUSED <= tally.checked, "too much is excused: {tally:?}");
}

/// Prints how to run it again, if it ends early.
struct Sent(u64);

impl Drop for Sent {
    fn drop(&mut self) {
        eprintln!("run this test again with WEIR_SIM_SEED={}", self.0);
    }
}

const TP2_DELTA: Hop = Hop { dialect: Delta, native: true };
const TP2_SOTW: Hop = Hop { dialect: Sotw, native: true };
const NODE_DELTA: Hop = Hop { dialect: Delta, native: false };
const NODE_SOTW: Hop = Hop { dialect: Sotw, native: false };

#[test]
fn o02_u03_p14_clients_have_what_a_tp2_origin_has_through_delta() {
    simulate(&[TP2_DELTA]);
}

#[test]
fn o02_u03_p14_clients_have_what_a_tp2_origin_has_through_sotw() {
    simulate(&[TP2_SOTW]);
}

#[test]
fn o02_u03_p15_w02_clients_have_what_an_origin_has_for_their_node_through_delta() {
    simulate(&[NODE_DELTA]);
}

#[test]
fn o02_u03_p15_w02_clients_have_what_an_origin_has_for_their_node_through_sotw() {
    simulate(&[NODE_SOTW]);
}

#[test]
fn p16_clients_of_a_cascade_have_what_a_tp2_origin_has() {
    simulate(&[TP2_SOTW, TP2_DELTA]);
}

#[test]
fn p16_clients_of_a_cascade_have_what_an_origin_has_for_their_node() {
    simulate(&[NODE_DELTA, TP2_SOTW]);
}

#[test]
fn one_seed_is_one_play() {
    for seed in (0..20).chain([60]) {
        let run = || Simulation::run(Setup { hops: &[TP2_DELTA, TP2_SOTW] }, seed);
        assert_eq!(run(), run(), "seed {seed}");
    }
}
