//! The same content in one variant and in a hundred: its bytes are to be held once.

use anyhow::Result;

use crate::load::options::Options;
use crate::load::report::Run;
use crate::load::world::{Gate, World};

pub(crate) const RATIO: &str = "RSS growth / bytes of one variant";
const VARIANTS: usize = 100;

pub(crate) fn run(options: &Options, count: usize) -> Result<Vec<Run>> {
    [1, VARIANTS].into_iter().map(|variants| run_once(options, variants, count)).collect()
}

fn run_once(options: &Options, variants: usize, count: usize) -> Result<Run> {
    // What is kept of encoded responses is bounded by itself, and of no interest here.
    let frame_cache = "1KiB".to_owned();
    let options = &Options { locators: variants, frame_cache, ..options.clone() };
    let size = options.size_or(64 << 10);
    let wanted = super::shared(options, "eds", count);
    let mut world = World::start(options)?;
    // One client for each variant. What they hold, beside the resources, is measured by tiny ones first.
    world.publish(wanted.short, 0..count, 1)?;
    world.crowd_alike(variants * options.per_connection, Gate::Synced, std::slice::from_ref(&wanted))?;
    world.settle()?;
    let before = world.server.process.resident()?;
    (0..count).try_for_each(|number| world.publish(wanted.short, [number], size))?;
    world.settle()?;
    let grown = world.server.process.resident()? as f64 - before as f64;

    let mut run = Run::new("variants", format!("{variants} variants"), variants);
    run.add("bytes of one variant", (count * size) as f64 / f64::from(1 << 20), "MiB");
    run.add("RSS growth", grown / f64::from(1 << 20), "MiB");
    run.add(RATIO, grown / (count * size) as f64, "x");
    Ok(run)
}
