//! A process of this program that runs beside the server until it is killed.

use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::load::server::Measured;

/// A child process, killed on drop, and the number of bytes that it has written.
pub(super) struct Child {
    process: Measured,
    written: Arc<AtomicUsize>,
}

impl Child {
    /// Its CPU time so far.
    pub(super) fn cpu(&self) -> Result<Duration> {
        Ok(self.process.cpu()?.total)
    }

    /// How many bytes it has written to standard output.
    pub(super) fn written(&self) -> usize {
        self.written.load(Ordering::Relaxed)
    }
}

/// Starts this program with `arguments`.
pub(super) fn start(arguments: &[&str]) -> Result<Child> {
    let mut command = Command::new(std::env::current_exe().context("find this program")?);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("start {arguments:?}"))?;
    let mut output = child.stdout.take().context("its output is piped")?;
    let written = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&written);
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(read) = output.read(&mut buffer)
            && read > 0
        {
            count.fetch_add(read, Ordering::Relaxed);
        }
    });
    Ok(Child { process: Measured(child), written })
}
