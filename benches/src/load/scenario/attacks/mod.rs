//! One client attacks, and another one waits for its changes: alone, beside the attack, and beside a plain process that uses
//! as much CPU time as the attacker.

mod attacker;
mod busy;
mod child;
mod kind;
mod victim;

use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;

pub(crate) use self::attacker::serve as serve_attacker;
pub(crate) use self::busy::serve as serve_busy;
pub(crate) use self::kind::Attack;
use self::kind::TYPE;
use self::victim::Changes;
use crate::load::options::Options;
use crate::load::plan::Wanted;
use crate::load::report::Run;
use crate::load::scrape::LockHolds;
use crate::load::server::Extras;
use crate::load::world::{Gate, World};

/// How many names an attack has.
pub(crate) const SIZE: usize = 100_000;

const ALONE: [&str; 3] = ["victim alone, p50", "  p99", "  worst"];
const ATTACKED: [&str; 3] = ["victim attacked, p50", "  p99, attacked", "  worst, attacked"];
const BUSY: [&str; 3] = ["victim beside a busy process, p50", "  p99, busy", "  worst, busy"];

/// Runs the attacks that were asked for, or all of them.
pub(crate) fn run(options: &Options, n: usize) -> Result<Vec<Run>> {
    let attacks = match &*options.attack {
        [] => Attack::value_variants(),
        some => some,
    };
    attacks.iter().map(|attack| run_one(options, *attack, n)).collect()
}

fn run_one(options: &Options, attack: Attack, n: usize) -> Result<Run> {
    eprintln!("{}", attack.name());
    let span = Duration::from_secs(options.seconds);
    let extras = Extras {
        tables: format!("[admin]\nlisten = '127.0.0.1:0'\n{}", attack.tables()),
        counts_log: true,
        ..Extras::default()
    };
    let mut world = World::start_with(options, &extras)?;
    world.swarm.shared.habits.sample_every = 1;
    world.publish(TYPE, 0..=attack.published(n), 300)?;
    world.crowd_alike(1, Gate::Synced, &[Wanted::named(TYPE, [0])])?;
    world.settle()?;

    let mut run = Run::new("attacks", attack.name(), 1);
    // The first changes pay for what is made once.
    measure(&mut world, span / 5)?;
    run.add_latencies(ALONE, &mut measure(&mut world, span)?);

    let (holds, logged) = (LockHolds::of(&world.server)?, world.server.logged());
    let watch = world.watch()?;
    let attacker = attacker::start(attack, &world.server.address.to_string(), n)?;
    let mut changes = Changes::begin(&mut world);
    changes.publish_for(&mut world, span)?;
    let (used, rounds) = (attacker.cpu()?, attacker.written());
    let spent = watch.stop(&world)?;
    drop(attacker);
    // The time after the attacker left counts until the victim has everything.
    let mut attacked = changes.finish(&mut world)?;
    run.add_latencies(ATTACKED, &mut attacked);
    let share = used.as_secs_f64() / spent.wall.as_secs_f64().max(1e-9);
    world.settle()?;
    let held = LockHolds::of(&world.server)?.longest_since(&holds);
    let logged = world.server.logged() - logged;

    let busy = busy::start(share)?;
    run.add_latencies(BUSY, &mut measure(&mut world, span)?);
    drop(busy);

    run.add("rounds of the attack", rounds as f64, "");
    run.add("attacker", share, "cores");
    run.add(
        "server, attacked",
        spent.server.total.as_secs_f64() / spent.wall.as_secs_f64().max(1e-9),
        "cores",
    );
    run.add("longest hold of a lock, at most", held * 1e3, "ms");
    run.add_bytes("log", logged as f64);
    run.add("RSS at the end", world.server.process.resident()? as f64 / f64::from(1 << 20), "MiB");
    Ok(run)
}

/// How late the changes of `span` reach the victim, in µs.
fn measure(world: &mut World, span: Duration) -> Result<Vec<u32>> {
    let mut changes = Changes::begin(world);
    changes.publish_for(world, span)?;
    changes.finish(world)
}
