//! Notifies the service manager that started the program (sd_notify(3)): serving, reloading, stopping, alive.
//!
//! A few lines over a datagram socket, and nothing where no `NOTIFY_SOCKET` is named. Never decides anything: whoever
//! does reports it here.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::time::{MissedTickBehavior, interval};

/// The service manager, if there is one. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServiceManager {
    socket: Option<Arc<UnixDatagram>>,
    /// How often the service manager expects a sign of life.
    watchdog: Option<Duration>,
}

impl ServiceManager {
    /// From the environment. Where it cannot be reached the program runs all the same.
    pub(crate) fn from_environment() -> Self {
        let Some(name) = std::env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else {
            return Self::default();
        };
        let socket = connect(&name).inspect_err(|error| {
            tracing::warn!(%error, socket = %name.display(), "service manager unreachable");
        });
        let number = |name: &str| std::env::var(name).ok()?.parse().ok();
        let is_ours = number("WATCHDOG_PID").is_none_or(|process| process == u64::from(std::process::id()));
        let watchdog = number("WATCHDOG_USEC").filter(|micros| is_ours && *micros > 0);
        Self { socket: socket.ok().map(Arc::new), watchdog: watchdog.map(Duration::from_micros) }
    }

    /// Clients are served, by the configuration that was read last.
    pub(crate) fn ready(&self) {
        self.send("READY=1");
    }

    /// The configuration is read again; over with [`Self::ready`].
    pub(crate) fn reloading(&self) {
        let now = clock_gettime(ClockId::Monotonic);
        let micros = now.tv_sec * 1_000_000 + now.tv_nsec / 1_000;
        self.send(&format!("RELOADING=1\nMONOTONIC_USEC={micros}"));
    }

    /// The end has begun.
    pub(crate) fn stopping(&self) {
        self.send("STOPPING=1");
    }

    /// Sends a sign of life for as long as the runtime is alive, twice as often as required. Never ends where that is
    /// asked for, and at once where it is not.
    pub(crate) async fn keep_alive(self) {
        let Some(every) = self.watchdog.filter(|_| self.socket.is_some()) else { return };
        let mut ticks = interval(every / 2);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.send("WATCHDOG=1");
        }
    }

    fn send(&self, what: &str) {
        if let Some(Err(error)) = self.socket.as_ref().map(|socket| socket.send(what.as_bytes())) {
            tracing::warn!(%error, what, "service manager notification failed");
        }
    }
}

/// A socket that reaches `name`: a path, or after `@` a name without a file.
fn connect(name: &OsStr) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    // The program waits for nobody.
    socket.set_nonblocking(true)?;
    let address = match name.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(name)?,
    };
    socket.connect_addr(&address)?;
    Ok(socket)
}
