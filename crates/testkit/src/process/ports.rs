//! Ports for processes that must be told which to use.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

/// A range below the one that the system gives to outgoing connections, which would race with us otherwise.
const FIRST: u16 = 10_000;
const COUNT: u16 = 20_000;

/// A port on which nothing listens now, and that this process is not given again soon.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Processes that run side by side start far apart.
    let offset = std::process::id().wrapping_mul(977) % u32::from(COUNT);
    for _ in 0..COUNT {
        let step = u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = FIRST + u16::try_from((offset + step) % u32::from(COUNT)).expect("below the count");
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no port is free between {FIRST} and {}", FIRST + COUNT);
}
