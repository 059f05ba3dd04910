//! Bounds how many connections are in their TLS handshake.
//!
//! Nothing is known of a client before its handshake is complete. Where there is no room for one more, the oldest handshake
//! of the address with the most of them ends, so that newcomers get in whoever fills the room.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};

use tokio_util::sync::CancellationToken;

use super::{Gate, Shortage};

/// The handshakes under way.
#[derive(Default)]
pub(super) struct Handshakes {
    /// By address, the oldest first.
    of_address: HashMap<IpAddr, BTreeMap<u64, CancellationToken>>,
    /// The addresses, by how many handshakes they have; of two with as many, the one with the older handshake is last.
    by_count: BTreeSet<(usize, Reverse<u64>, IpAddr)>,
    len: usize,
    next: u64,
}

impl Handshakes {
    /// Adds a handshake. Beyond `limit` handshakes, another one ends: returns whether one does.
    fn begin(&mut self, address: IpAddr, limit: usize) -> (u64, CancellationToken, bool) {
        let (number, token) = (self.next, CancellationToken::new());
        self.next += 1;
        self.update(address, |own| _ = own.insert(number, token.clone()));
        let evicts = self.len > limit;
        if evicts {
            self.evict();
        }
        (number, token, evicts)
    }

    /// Removes a handshake that is over.
    fn end(&mut self, address: IpAddr, number: u64) {
        self.update(address, |own| _ = own.remove(&number));
    }

    fn evict(&mut self) {
        let Some((_, Reverse(oldest), address)) = self.by_count.last().copied() else { return };
        self.update(address, |own| {
            if let Some(token) = own.remove(&oldest) {
                token.cancel();
            }
        });
    }

    fn update(&mut self, address: IpAddr, change: impl FnOnce(&mut BTreeMap<u64, CancellationToken>)) {
        let own = self.of_address.entry(address).or_default();
        let rank =
            |own: &BTreeMap<u64, _>| own.keys().next().map(|oldest| (own.len(), Reverse(*oldest), address));
        if let Some(rank) = rank(own) {
            self.by_count.remove(&rank);
            self.len -= own.len();
        }
        change(own);
        match rank(own) {
            Some(rank) => {
                self.by_count.insert(rank);
                self.len += own.len();
            }
            None => drop(self.of_address.remove(&address)),
        }
    }
}

/// Addresses that one client can have at will are one: those of an IPv6 network of 64 bits.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        v4 => v4,
    }
}

/// A handshake under way. Counted for as long as it lives.
pub(crate) struct Handshake {
    gate: Gate,
    address: IpAddr,
    number: u64,
    token: CancellationToken,
}

impl Handshake {
    /// Adds a handshake of a client at `address`.
    pub(super) fn begin(gate: &Gate, address: IpAddr) -> Self {
        let address = network(address);
        let limit = gate.0.room.read().limits.max_handshakes.get();
        let (number, token, evicts) = gate.0.handshakes.lock().begin(address, limit);
        if evicts {
            // The client that is cut off cannot be sent a reason.
            let _unsent = gate.turn_away(Shortage::Handshakes);
        }
        Self { gate: gate.clone(), address, number, token }
    }

    /// Waits until the handshake has to end, to make room for another one.
    pub(crate) async fn evicted(&self) {
        self.token.cancelled().await;
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        self.gate.0.handshakes.lock().end(self.address, self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weir_config::{Count, Limits};

    use super::super::Room;
    use super::*;
    use crate::metrics::Metrics;

    fn gate<const N: usize>() -> Gate {
        let limits = Limits { max_handshakes: Count::of::<N>(), ..Limits::default() };
        Gate::new(Room { limits, ..Room::default() }, Arc::new(Metrics::new()))
    }

    fn begin(gate: &Gate, address: &str) -> Handshake {
        gate.handshake(address.parse().unwrap())
    }

    fn evicted(handshakes: &[Handshake]) -> Vec<usize> {
        let evicted = handshakes.iter().enumerate().filter(|(_, handshake)| handshake.token.is_cancelled());
        evicted.map(|(place, _)| place).collect()
    }

    #[test]
    fn the_oldest_handshake_of_the_address_with_the_most_makes_room() {
        let gate = gate::<4>();
        let mut open: Vec<_> =
            ["10.0.0.9", "10.0.0.1", "10.0.0.1", "10.0.0.2"].map(|address| begin(&gate, address)).into();
        assert!(evicted(&open).is_empty());
        open.push(begin(&gate, "10.0.0.3"));
        assert_eq!(evicted(&open), [1]);
        // Each address has one now: the oldest of all goes.
        open.push(begin(&gate, "10.0.0.4"));
        assert_eq!(evicted(&open), [0, 1]);
        // The newcomer's own address has the most.
        open.push(begin(&gate, "10.0.0.4"));
        assert_eq!(evicted(&open), [0, 1, 5]);
    }

    #[test]
    fn a_handshake_that_is_over_leaves_nothing() {
        let gate = gate::<2>();
        let over = [begin(&gate, "10.0.0.1"), begin(&gate, "10.0.0.1"), begin(&gate, "10.0.0.1")];
        assert_eq!(gate.0.handshakes.lock().len, 2);
        drop(over);
        let handshakes = gate.0.handshakes.lock();
        assert_eq!(handshakes.len, 0);
        assert!(handshakes.of_address.is_empty() && handshakes.by_count.is_empty());
    }

    #[test]
    fn an_ipv6_network_counts_as_one_address() {
        let gate = gate::<2>();
        let open = ["2001:db8::1", "::ffff:10.0.0.1", "2001:db8::2"].map(|address| begin(&gate, address));
        assert_eq!(evicted(&open), [0]);
        assert_eq!(network("::ffff:10.0.0.1".parse().unwrap()), "10.0.0.1".parse::<IpAddr>().unwrap());
    }
}
