//! How far long work has come, or that it waits, shown on a terminal while it lasts.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// How long work may take before it is worth a bar.
const PATIENCE: Duration = Duration::from_millis(500);

/// How often the bar moves.
const EACH: Duration = Duration::from_millis(100);

/// How wide the bar is.
const WIDTH: usize = 30;

/// How a bar looks that turns.
const TURNING: [char; 4] = ['|', '/', '-', '\\'];

/// The first column of a terminal's line, without what stood in it.
const ERASE: &str = "\r\x1b[K";

/// A bar on standard error, where that is a terminal; it goes away when this is dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    what: &'static str,
    all: usize,
    done: usize,
    is_shown: bool,
    /// Since when it is shown, if it were not for patience.
    since: Instant,
    /// When it may be drawn next; none where there is no terminal.
    next: Option<Instant>,
}

impl Progress {
    /// For so many steps, each of one of `what`.
    pub(crate) fn new(what: &'static str, all: usize) -> Self {
        let since = Instant::now();
        let next = io::stderr().is_terminal().then(|| since + PATIENCE);
        Self { what, all, done: 0, is_shown: false, since, next }
    }

    /// Nothing is done yet: `what` is waited for.
    pub(crate) fn wait(&mut self, what: &str) {
        let waited = self.since.elapsed();
        self.draw(|| waiting(what, waited));
    }

    /// One more is done.
    pub(crate) fn step(&mut self) {
        self.set(self.done + 1, self.all);
    }

    /// So many of so many are done.
    pub(crate) fn set(&mut self, done: usize, all: usize) {
        (self.done, self.all) = (done, all);
        let what = self.what;
        self.draw(|| format!("{} {what}", bar(done, all)));
    }

    fn draw(&mut self, line: impl FnOnce() -> String) {
        let now = Instant::now();
        if self.next.is_some_and(|next| next <= now) {
            self.next = Some(now + EACH);
            self.is_shown = true;
            // Where standard error is closed, nobody looks.
            _ = write!(io::stderr().lock(), "{ERASE}{}", line());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown {
            _ = write!(io::stderr().lock(), "{ERASE}");
        }
    }
}

/// `[######----] 3/5`, or `3` where nobody knows of how many.
fn bar(done: usize, all: usize) -> String {
    let Some(filled) = (WIDTH * done.min(all)).checked_div(all) else { return done.to_string() };
    format!("[{}{}] {done}/{all}", "#".repeat(filled), "-".repeat(WIDTH - filled))
}

/// `| waiting for the next change, 3 s`, with a bar that turns.
fn waiting(what: &str, waited: Duration) -> String {
    let turns = waited.as_millis() / EACH.as_millis();
    let turned = TURNING[usize::try_from(turns).unwrap_or_default() % TURNING.len()];
    format!("{turned} waiting for {what}, {} s", waited.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_full_as_the_work_is_done() {
        for (done, all, filled) in [(0, 4, 0), (1, 4, 7), (4, 4, 30), (5, 4, 30)] {
            let wanted = format!("[{}{}] {done}/{all}", "#".repeat(filled), "-".repeat(30 - filled));
            assert_eq!(bar(done, all), wanted);
        }
        assert_eq!(bar(7, 0), "7");
    }

    #[test]
    fn who_waits_sees_that_time_passes() {
        for (millis, line) in [
            (500, "/ waiting for it, 0 s"),
            (600, "- waiting for it, 0 s"),
            (700, "\\ waiting for it, 0 s"),
            (61_234, "| waiting for it, 61 s"),
        ] {
            assert_eq!(waiting("it", Duration::from_millis(millis)), line);
        }
    }
}
