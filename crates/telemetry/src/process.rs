//! Figures of this process from the operating system: processor, memory, open files.
//!
//! Read from `/proc` whenever metrics are read; where there is none, nothing is shown.

use std::fs;
use std::time::Instant;

use opentelemetry::KeyValue;

use crate::queue;

/// Shows it from now on.
pub(crate) fn observe() {
    let started = Instant::now();
    weir_metrics::PROCESS_UPTIME
        .observe_f64(move |observer| observer.observe(started.elapsed().as_secs_f64(), &[]));
    weir_metrics::PROCESS_CPU_TIME.observe_f64(|observer| {
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        let times = read("/proc/self/stat").as_deref().and_then(cpu_times);
        for (mode, spent) in times.into_iter().flatten() {
            observer.observe(spent as f64 / ticks, &[KeyValue::new("cpu.mode", mode)]);
        }
    });
    weir_metrics::LOG_DROPPED.observe(|observer| observer.observe(queue::DROPPED.get(), &[]));
    weir_metrics::LOG_SUPPRESSED.observe(|observer| observer.observe(queue::SUPPRESSED.get(), &[]));
    let page = rustix::param::page_size() as u64;
    weir_metrics::PROCESS_MEMORY_VIRTUAL.observe(move |observer| {
        memory().into_iter().for_each(|[all, _]| observer.observe(all * page, &[]));
    });
    weir_metrics::PROCESS_MEMORY_USAGE.observe(move |observer| {
        memory().into_iter().for_each(|[_, resident]| observer.observe(resident * page, &[]));
    });
    weir_metrics::PROCESS_UNIX_FILE_DESCRIPTOR_COUNT.observe(|observer| {
        // The one that this is read by does not count.
        let open = fs::read_dir("/proc/self/fd").map(|open| open.count().saturating_sub(1) as u64);
        open.into_iter().for_each(|open| observer.observe(open, &[]));
    });
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// In ticks, from `/proc/self/stat`: the program's name, in parentheses, may hold anything.
fn cpu_times(stat: &str) -> Option<[(&'static str, u64); 2]> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    Some([("user", fields.next()?.parse().ok()?), ("system", fields.next()?.parse().ok()?)])
}

/// All of it, and what is resident, in pages.
fn memory() -> Option<[u64; 2]> {
    let text = read("/proc/self/statm")?;
    let mut fields = text.split_whitespace();
    Some([fields.next()?.parse().ok()?, fields.next()?.parse().ok()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_program_may_hold_anything() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 250 31 0 0 20 0 3 0 1234 99 88";
        assert_eq!(cpu_times(stat), Some([("user", 250), ("system", 31)]));
        assert_eq!(cpu_times("7 (weir) S 1"), None);
    }

    #[test]
    fn this_process_has_memory() {
        let [all, resident] = memory().unwrap();
        assert!(all >= resident && resident > 0, "{all} {resident}");
    }
}
