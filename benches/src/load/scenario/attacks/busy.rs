//! A plain process that uses CPU time and does nothing else: what a victim feels of it is the machine's scheduling.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::child::{self, Child};
use crate::load::options::Options;

/// How often it works and rests.
const PERIOD: Duration = Duration::from_millis(100);

/// Uses so many processors (`--share`) until the process is killed.
pub(crate) fn serve(options: &Options) -> Result<()> {
    let share = options.share.context("a busy process needs --share")?;
    let threads = (share.ceil() as usize).max(1);
    let work = PERIOD.mul_f64((share / threads as f64).clamp(0.0, 1.0));
    let others: Vec<_> = (1..threads).map(|_| std::thread::spawn(move || burn(work))).collect();
    burn(work);
    drop(others);
    Ok(())
}

/// Works for a part of each period.
fn burn(work: Duration) {
    loop {
        let begun = Instant::now();
        while begun.elapsed() < work {
            std::hint::spin_loop();
        }
        // Nothing unparks the thread.
        std::thread::park_timeout(PERIOD.saturating_sub(begun.elapsed()));
    }
}

/// Starts a process that uses `share` processors.
pub(super) fn start(share: f64) -> Result<Child> {
    child::start(&["busy", "--share", &format!("{share:.3}")])
}
