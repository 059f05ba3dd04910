//! A program with a terminal in front of it, as people have one.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::process::Stdio;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use parking_lot::Mutex;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tokio::process::{Child, Command};

use crate::wait::{until, within};

/// A program that runs on a terminal of its own.
pub struct Terminal {
    child: Child,
    /// Everything that was written, escape sequences included.
    shown: Arc<Mutex<Vec<u8>>>,
    /// Ends when nobody can write any more.
    reader: JoinHandle<()>,
}

impl Terminal {
    /// Starts a program. It is killed when this is dropped.
    pub(super) fn start(command: &mut Command) -> Self {
        let (near, far) = pair().expect("there are terminals left");
        let end = || Stdio::from(far.try_clone().expect("a file can be shared"));
        let child = command.stdin(end()).stdout(end()).stderr(end()).kill_on_drop(true).spawn();
        // The command holds the far end as long as it lives, and with it the near one.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let shown = Arc::<Mutex<Vec<u8>>>::default();
        let seen = Arc::clone(&shown);
        let reader = thread::spawn(move || read(near, &seen));
        Self { child: child.expect("the program runs"), shown, reader }
    }

    /// Everything that was written so far.
    pub fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock()).into_owned()
    }

    /// Waits until this is on it. Panics if it does not come in time.
    pub async fn shows(&self, text: &str) {
        let what = format!("{text:?} on the terminal");
        until(&what, || async { self.shown().contains(text).then_some(()) }).await;
    }

    /// Waits for the end of the program, and gives its exit code. Panics if it does not end in time.
    pub async fn ended(&mut self) -> i32 {
        let status = within("the program to end", self.child.wait()).await.expect("it can be waited for");
        until("all of it to be read", || async { self.reader.is_finished().then_some(()) }).await;
        status.code().expect("it ends by itself")
    }
}

/// Both ends of a terminal: that of whoever looks, and that of the program.
fn pair() -> io::Result<(File, File)> {
    let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&near)?;
    unlockpt(&near)?;
    let path = ptsname(&near, Vec::new())?;
    let far = OpenOptions::new().read(true).write(true).open(path.to_string_lossy().as_ref())?;
    Ok((near.into(), far))
}

/// Until the far end is closed.
fn read(mut near: File, shown: &Mutex<Vec<u8>>) {
    let mut some = [0; 4096];
    while let Ok(length @ 1..) = near.read(&mut some) {
        shown.lock().extend_from_slice(&some[..length]);
    }
}
