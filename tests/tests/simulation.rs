//! A whole tier in virtual time, by seeds. `WEIR_SIM_SEED` runs one again, `WEIR_SIM_SEEDS` sets how many.

use weir_protocol::Dialect;
use weir_testkit::simulator::{Setup, Simulation};

fn simulate(setup: Setup) {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match number("WEIR_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("WEIR_SIM_SEEDS").unwrap_or(125),
    };
    for seed in seeds {
        let told = Told { setup, seed };
        Simulation::run(setup, seed);
        std::mem::forget(told);
    }
}

/// Says how to run it again, if it ends early.
struct Told {
    setup: Setup,
    seed: u64,
}

impl Drop for Told {
    fn drop(&mut self) {
        eprintln!("{:?}: run it again with WEIR_SIM_SEED={}", self.setup, self.seed);
    }
}

#[test]
fn p14_p16_clients_have_what_a_tp2_origin_has_through_delta() {
    simulate(Setup { upstream: Dialect::Delta, native: true });
}

#[test]
fn p14_p16_clients_have_what_a_tp2_origin_has_through_sotw() {
    simulate(Setup { upstream: Dialect::Sotw, native: true });
}

#[test]
fn p15_w02_clients_have_what_an_origin_has_for_their_node_through_delta() {
    simulate(Setup { upstream: Dialect::Delta, native: false });
}

#[test]
fn p15_w02_clients_have_what_an_origin_has_for_their_node_through_sotw() {
    simulate(Setup { upstream: Dialect::Sotw, native: false });
}
