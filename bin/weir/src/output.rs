//! Messages for the person at the terminal.

use std::io::{self, Write};
use std::process::ExitCode;

use weir_telemetry::printable;

/// Exit code where the answer is no: something is missing, different, wrong or rejected.
pub(crate) const NO: u8 = 1;

/// Exit code where there is no answer: a bad argument, a file that cannot be read, nobody who can be asked.
pub(crate) const TROUBLE: u8 = 2;

/// Exit code where what was waited for did not come in time.
pub(crate) const LATE: u8 = 3;

/// Success where it is so, else the exit code for no.
pub(crate) fn whether(good: bool) -> ExitCode {
    if good { ExitCode::SUCCESS } else { ExitCode::from(NO) }
}

/// Prints an error, a line for each problem.
pub(crate) fn complain(error: &anyhow::Error) {
    let mut stderr = io::stderr().lock();
    for line in describe(error).lines() {
        // Where standard error is closed, nobody listens.
        _ = writeln!(stderr, "weir: {}", printable(line));
    }
}

/// Prints a message that is not an error.
pub(crate) fn note(text: &str) {
    // Where standard error is closed, nobody listens.
    _ = writeln!(io::stderr().lock(), "weir: {}", printable(text));
}

/// The error with its causes, each printed once: some errors already contain their cause.
pub(crate) fn describe(error: &anyhow::Error) -> String {
    weir_types::with_causes(error.to_string(), error.source())
}

/// Whether the reader of our output went away, as `weir get … | head` does.
pub(crate) fn is_closed(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// `1 file`, `2 files`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn causes_are_stated_once() {
        let inner = || anyhow!("no such host");
        assert_eq!(describe(&inner().context("connect to a:1")), "connect to a:1: no such host");
        assert_eq!(describe(&inner().context("connect: no such host")), "connect: no such host");
    }
}
