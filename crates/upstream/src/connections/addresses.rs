//! Which address of an endpoint the next connection goes to.
//!
//! Owns how many connections each address has, and which address has failed. Never looks up a name.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// For how long an address that could not be connected to comes after all others.
const AVOIDED: Duration = Duration::from_secs(30);

/// The addresses that connections go to.
#[derive(Debug, Default)]
pub(crate) struct Addresses(Mutex<HashMap<SocketAddr, Load>>);

#[derive(Debug, Default)]
struct Load {
    connections: usize,
    failed: Option<Instant>,
}

/// A connection to an address, for as long as it lasts.
#[derive(Debug)]
pub(crate) struct Used {
    addresses: Arc<Addresses>,
    address: SocketAddr,
}

impl Addresses {
    /// In the order in which they are to be tried: those with the fewest connections first, of equal ones as they are given.
    pub(crate) fn order(&self, addresses: &mut [SocketAddr]) {
        let loads = self.0.lock();
        addresses.sort_by_key(|address| {
            let load = loads.get(address);
            let failed = load.and_then(|load| load.failed).is_some_and(|at| at.elapsed() < AVOIDED);
            (failed, load.map_or(0, |load| load.connections))
        });
    }

    /// Notes that an address could not be connected to.
    pub(crate) fn failed(&self, address: SocketAddr) {
        let mut loads = self.0.lock();
        loads.retain(|_, load| load.connections > 0 || load.failed.is_some_and(|at| at.elapsed() < AVOIDED));
        loads.entry(address).or_default().failed = Some(Instant::now());
    }

    /// Notes a connection.
    pub(crate) fn opened(self: &Arc<Self>, address: SocketAddr) -> Used {
        let mut loads = self.0.lock();
        let load = loads.entry(address).or_default();
        load.connections += 1;
        load.failed = None;
        Used { addresses: Arc::clone(self), address }
    }
}

impl Drop for Used {
    fn drop(&mut self) {
        let mut loads = self.addresses.0.lock();
        if let Some(load) = loads.get_mut(&self.address) {
            load.connections -= 1;
            if load.connections == 0 && load.failed.is_none() {
                loads.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn u16_connections_are_spread_and_an_address_that_failed_comes_last_for_a_time() {
        let addresses = Arc::new(Addresses::default());
        let [a, b, c] = [1, 2, 3].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        let order = || {
            let mut ordered = [a, b, c];
            addresses.order(&mut ordered);
            ordered
        };
        assert_eq!(order(), [a, b, c]);
        let first = addresses.opened(a);
        assert_eq!(order(), [b, c, a]);
        let _second = addresses.opened(b);
        addresses.failed(c);
        assert_eq!(order(), [a, b, c]);
        drop(first);
        tokio::time::advance(AVOIDED).await;
        assert_eq!(order(), [a, c, b]);
        addresses.failed(a);
        let _third = addresses.opened(a);
        assert_eq!(order(), [c, a, b], "it works again");
    }
}
