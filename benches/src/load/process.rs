//! CPU time and memory of a process, as the operating system reports them.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

/// CPU time of a process since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cpu {
    /// Of all its threads: as exact as the scheduler's clock, to 10 ms where some have ended.
    pub(crate) total: Duration,
    /// `utime` and `stime`: the parts of the total, to 10 ms.
    pub(crate) user: Duration,
    pub(crate) system: Duration,
}

impl Cpu {
    /// Of the process with this id, in the whole.
    pub(crate) fn of(pid: u32) -> Result<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).context("read a process's times")?;
        let (user, system) = times(&stat).context("a process has times")?;
        // Those that have ended are part of the process's times only.
        Ok(Self { total: threads(pid, "")?.max(user + system), user, system })
    }

    /// What was spent since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            total: self.total.saturating_sub(earlier.total),
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
        }
    }
}

/// CPU time of those of a process's threads whose name starts with `prefix`. Zero where the kernel keeps no such
/// statistics.
pub(crate) fn threads(pid: u32, prefix: &str) -> Result<Duration> {
    let mut total = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task")).context("list a process's threads")? {
        let thread = thread?.path();
        let name = fs::read_to_string(thread.join("comm")).unwrap_or_default();
        if name.starts_with(prefix) {
            // A thread may have ended meanwhile.
            let statistics = fs::read_to_string(thread.join("schedstat")).unwrap_or_default();
            total += statistics.split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0);
        }
    }
    Ok(Duration::from_nanos(total))
}

/// `utime` and `stime` of a `/proc/PID/stat`. The name before them may contain anything.
fn times(stat: &str) -> Option<(Duration, Duration)> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let hertz = rustix::param::clock_ticks_per_second();
    let mut next = || Some(Duration::from_millis(fields.next()?.parse::<u64>().ok()? * 1000 / hertz));
    Some((next()?, next()?))
}

/// Resident memory of a process, in bytes.
pub(crate) fn resident(pid: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).context("read a process's memory")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.map(|kib| kib << 10).context("a process has resident memory")
}

/// Lets this process, and those that it starts, open as many files as the system allows, and states how many.
pub(crate) fn raise_file_limit() -> u64 {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Without it, a large swarm fails with an error that names the limit.
    let _ = setrlimit(Resource::Nofile, limit);
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Which processors this thread, and processes that it starts, may use from now on.
pub(crate) fn pin(processors: &[usize]) -> Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    processors.iter().for_each(|processor| set.set(*processor));
    rustix::thread::sched_setaffinity(None, &set).with_context(|| format!("pin to processors {processors:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_after_whatever_name() {
        let stat = "7 (a ) 1 (b) S 1 7 7 0 -1 4194304 1 0 0 0 150 25 0 0 20 0 1 0 100 0 0";
        let times = times(stat).unwrap();
        let hertz = rustix::param::clock_ticks_per_second();
        assert_eq!(times, (Duration::from_millis(150_000 / hertz), Duration::from_millis(25_000 / hertz)));
    }

    #[test]
    fn this_process_uses_something() {
        let pid = std::process::id();
        assert!(resident(pid).unwrap() > 1 << 16);
        assert!(Cpu::of(pid).unwrap().total > Duration::ZERO);
        assert_eq!(threads(pid, "no thread has this name").unwrap(), Duration::ZERO);
    }
}
