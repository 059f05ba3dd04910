//! The way of lines to standard error: through a bounded queue and a thread of its own, so that a reader who does not read
//! stops nobody. What has no room is dropped and counted.

use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tracing_subscriber::fmt::MakeWriter;

use crate::limiter::Limiter;

/// How many bytes wait at most, beside those that are being written.
const ROOM: usize = 1 << 20;

/// How often it is logged how many lines were not.
const EVERY: Duration = Duration::from_secs(10);

/// How long to wait before standard error is tried again that takes nothing and cannot be waited for.
const PAUSE: Duration = Duration::from_millis(10);

/// Lines that had no room.
pub(crate) static DROPPED: Count = Count(AtomicU64::new(0));

/// Lines that were too many of their kind.
pub(crate) static SUPPRESSED: Count = Count(AtomicU64::new(0));

/// The queue of this process.
static INSTALLED: OnceLock<Queue> = OnceLock::new();

/// A count for the metrics.
#[derive(Debug)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, lines: u64) {
        self.0.fetch_add(lines, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Waits until the lines so far are written: false where they are not within this time.
pub fn flush(within: Duration) -> bool {
    INSTALLED.get().is_none_or(|queue| queue.flush(within))
}

/// Lines that wait to be written. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// There is something to write.
    filled: Condvar,
    /// All is written.
    emptied: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<u8>,
    writing: bool,
    /// Lines that were dropped since it was last logged.
    dropped: u64,
}

impl Queue {
    /// That of this process, to standard error.
    ///
    /// # Errors
    /// When there can be no thread.
    pub(crate) fn install(limiter: Limiter) -> io::Result<Self> {
        let queue = Self::default();
        _ = INSTALLED.set(queue.clone());
        queue.clone().write_to(io::stderr(), limiter)?;
        Ok(queue)
    }

    /// Writes to `out` from now on.
    fn write_to(self, mut out: impl Write + Send + 'static, limiter: Limiter) -> io::Result<()> {
        let run = move || {
            let mut next = Instant::now() + EVERY;
            loop {
                let lines = self.take(next);
                if !lines.is_empty() {
                    self.written(write_all(&mut out, &lines).is_ok());
                }
                if Instant::now() >= next {
                    next = Instant::now() + EVERY;
                    limiter.report();
                }
            }
        };
        thread::Builder::new().name("weir-log".to_owned()).spawn(run).map(drop)
    }

    /// What waits; nothing if nothing comes until `next`.
    fn take(&self, next: Instant) -> Vec<u8> {
        let mut state = self.0.state.lock();
        while state.waiting.is_empty() {
            if self.0.filled.wait_until(&mut state, next).timed_out() {
                break;
            }
        }
        state.writing = !state.waiting.is_empty();
        std::mem::take(&mut state.waiting)
    }

    /// What was taken is written, or cannot be.
    fn written(&self, written: bool) {
        let mut state = self.0.state.lock();
        state.writing = false;
        let dropped = if written { std::mem::take(&mut state.dropped) } else { 0 };
        if state.waiting.is_empty() {
            self.0.emptied.notify_all();
        }
        drop(state);
        if dropped > 0 {
            tracing::warn!(lines = dropped, "log lines dropped: standard error was not read");
        }
    }

    fn push(&self, line: &[u8]) {
        let mut state = self.0.state.lock();
        if state.waiting.len() + line.len() > ROOM {
            state.dropped += 1;
            DROPPED.add(1);
            return;
        }
        state.waiting.extend_from_slice(line);
        self.0.filled.notify_one();
    }

    fn flush(&self, within: Duration) -> bool {
        let end = Instant::now() + within;
        let mut state = self.0.state.lock();
        while state.writing || !state.waiting.is_empty() {
            if self.0.emptied.wait_until(&mut state, end).timed_out() {
                return false;
            }
        }
        true
    }
}

/// Also where `out` does not block.
fn write_all(out: &mut impl Write, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match out.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::park_timeout(PAUSE),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl Write for Queue {
    /// A line: the library writes each at once.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.push(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Queue {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_reader_who_does_not_read_stops_nobody() {
        let (mut reader, writer) = UnixStream::pair().unwrap();
        let queue = Queue::default();
        queue.clone().write_to(writer, Limiter::default()).unwrap();
        let line = [&[b'x'; 1023][..], b"\n"].concat();
        let before = DROPPED.get();
        // More than there is room for in the queue and in the socket.
        for _ in 0..10_000 {
            queue.push(&line);
        }
        assert!(DROPPED.get() - before > 5000);
        assert!(!queue.flush(Duration::from_millis(1)), "it waits no longer than it may");
        let read = thread::spawn(move || {
            let (mut text, mut chunk) = (Vec::new(), [0; 4096]);
            while !text.ends_with(b"the last\n") {
                let read = reader.read(&mut chunk).unwrap();
                text.extend_from_slice(&chunk[..read]);
            }
            String::from_utf8(text).unwrap()
        });
        assert!(queue.flush(Duration::from_secs(60)));
        queue.push(b"the last\n");
        assert!(queue.flush(Duration::from_secs(60)));
        let text = read.join().unwrap();
        assert!(text.lines().rev().skip(1).all(|line| line.len() == 1023), "whole lines");
    }

    #[test]
    fn who_closes_standard_error_ends_nothing() {
        let (reader, writer) = UnixStream::pair().unwrap();
        drop(reader);
        let queue = Queue::default();
        queue.clone().write_to(writer, Limiter::default()).unwrap();
        queue.push(b"a line\n");
        assert!(queue.flush(Duration::from_secs(60)));
    }
}
