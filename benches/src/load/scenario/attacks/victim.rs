//! The victim: one client of one cluster that changes every 100 ms, and how late each change reaches it.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::kind::TYPE;
use crate::load::swarm::micros;
use crate::load::world::World;

/// How often the cluster changes.
const INTERVAL: Duration = Duration::from_millis(100);
/// The clock is read several times, one after the other.
const SLACK: Duration = Duration::from_millis(2);
/// Bytes of the cluster.
const BYTES: usize = 300;

/// Changes of the victim's cluster, by when each was published, since the start of the run.
pub(super) struct Changes {
    published: Vec<Duration>,
}

impl Changes {
    /// Starts to count anew.
    pub(super) fn begin(world: &mut World) -> Self {
        world.swarm.shared.begin();
        Self { published: Vec::new() }
    }

    /// Changes the cluster for `span`.
    pub(super) fn publish_for(&mut self, world: &mut World, span: Duration) -> Result<()> {
        let (begun, mut due) = (Instant::now(), Duration::ZERO);
        while due < span {
            self.published.push(world.swarm.shared.start.elapsed());
            world.publish(TYPE, [0], BYTES)?;
            due += INTERVAL;
            world.swarm.turn_until(begun + due, |_| false)?;
        }
        Ok(())
    }

    /// Waits for the last change, and returns how late each one was, in µs.
    pub(super) fn finish(self, world: &mut World) -> Result<Vec<u32>> {
        let Some(last) = self.published.last().copied() else { return Ok(Vec::new()) };
        let deadline = Instant::now() + world.options.patience();
        let came = world.swarm.turn_until(deadline, |tally| {
            tally.lost > 0 || arrivals(tally).next_back().is_some_and(|(_, content)| content + SLACK >= last)
        })?;
        let lost = world.swarm.shared.loss.as_deref();
        ensure!(
            came && lost.is_none(),
            "the victim lost its stream or its changes: {}",
            lost.unwrap_or("stalled")
        );
        Ok(latencies(&self.published, &arrivals(&world.swarm.shared).collect::<Vec<_>>()))
    }
}

/// When each change came, and when what came was published, since the start of the run.
fn arrivals(tally: &crate::load::swarm::Tally) -> impl DoubleEndedIterator<Item = (Duration, Duration)> + '_ {
    let since = tally.since.saturating_duration_since(tally.start);
    tally.deliveries.iter().zip(&tally.ages).map(move |(after, age)| {
        let came = since + Duration::from_micros((*after).into());
        (came, came.saturating_sub(Duration::from_micros((*age).into())))
    })
}

/// How long each change took to show: it shows with whatever is as new.
fn latencies(published: &[Duration], arrivals: &[(Duration, Duration)]) -> Vec<u32> {
    let shown = |at: &Duration| arrivals.iter().find(|(_, content)| *content + SLACK >= *at);
    published.iter().filter_map(|at| Some(micros(shown(at)?.0.saturating_sub(*at)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_that_coalesced_is_as_late_as_what_came_in_its_place() {
        let ms = Duration::from_millis;
        let published = [ms(0), ms(100), ms(200)];
        let arrivals = [(ms(2), ms(0)), (ms(203), ms(200))];
        assert_eq!(latencies(&published, &arrivals), [2000, 103_000, 3000]);
    }
}
