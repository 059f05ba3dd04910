//! The server's own metrics, read from its admin interface.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result};

use super::server::Server;

/// The buckets of the histogram of the times for which a lock of the database was held.
const BUCKETS: &str = "weir_database_lock_hold_time_seconds_bucket";
/// How long the server may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often locks were held for at most so long: upper bounds in seconds, and cumulative counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LockHolds(Vec<(f64, u64)>);

impl LockHolds {
    /// Reads them from `server`.
    pub(crate) fn of(server: &Server) -> Result<Self> {
        let admin = server.admin.context("the server has no admin interface")?;
        let mut socket = TcpStream::connect(admin).context("connect to the admin interface")?;
        socket.set_read_timeout(Some(PATIENCE))?;
        write!(socket, "GET /metrics HTTP/1.1\r\nHost: {admin}\r\nConnection: close\r\n\r\n")?;
        let mut text = String::new();
        socket.read_to_string(&mut text).context("read the metrics")?;
        Ok(Self::parse(&text))
    }

    fn parse(text: &str) -> Self {
        let bucket = |line: &str| {
            let (labels, count) = line.strip_prefix(BUCKETS)?.rsplit_once(' ')?;
            let bound = labels.split_once("le=\"")?.1.split_once('"')?.0;
            let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().ok()? };
            Some((bound, count.parse().ok()?))
        };
        Self(text.lines().filter_map(bucket).collect())
    }

    /// The upper bound of the bucket with the longest hold since `earlier`, in seconds; zero if there was none.
    pub(crate) fn longest_since(&self, earlier: &Self) -> f64 {
        let before = |bound: f64| earlier.0.iter().find(|(b, _)| *b == bound).map_or(0, |(_, count)| *count);
        let mut below = 0;
        let mut longest = 0.0;
        for (bound, count) in &self.0 {
            let new = count.saturating_sub(before(*bound));
            if new > below {
                longest = *bound;
            }
            below = new;
        }
        longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(counts: [u64; 3]) -> LockHolds {
        let [a, b, c] = counts;
        LockHolds::parse(&format!(
            "# HELP {BUCKETS}\n{BUCKETS}{{otel=\"x\",le=\"0.001\"}} {a}\n{BUCKETS}{{otel=\"x\",le=\"0.005\"}} {b}\n\
             {BUCKETS}{{otel=\"x\",le=\"+Inf\"}} {c}\nother 1\n"
        ))
    }

    #[test]
    fn the_longest_hold_is_in_the_last_bucket_that_grew() {
        assert_eq!(holds([1, 1, 1]).longest_since(&LockHolds::default()), 0.001);
        assert_eq!(holds([5, 7, 7]).longest_since(&holds([5, 6, 6])), 0.005);
        assert_eq!(holds([5, 7, 8]).longest_since(&holds([5, 6, 6])), f64::INFINITY);
        assert_eq!(holds([5, 7, 8]).longest_since(&holds([5, 7, 8])), 0.0);
    }
}
