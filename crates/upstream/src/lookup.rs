//! What a host name stands for.
//!
//! Owns the order of the addresses. Remembers nothing: each call looks up anew.

use std::future::Future;
use std::io;
use std::net::SocketAddr;

use tokio::net::lookup_host;

/// Finds the addresses of a name.
pub(crate) trait Lookup: Clone + Send + Sync + 'static {
    /// In the order in which they are to be tried.
    fn addresses(&self, host: &str, port: u16) -> impl Future<Output = io::Result<Vec<SocketAddr>>> + Send;
}

/// As the operating system does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct System;

impl Lookup for System {
    async fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        lookup_host((host, port)).await.map(|found| in_turns(found.collect()))
    }
}

/// The addresses, of IPv6 and IPv4 in turns, beginning with the kind of the first.
fn in_turns(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let Some(first) = addresses.first().map(SocketAddr::is_ipv6) else { return addresses };
    let (preferred, others): (Vec<_>, Vec<_>) = addresses.into_iter().partition(|a| a.is_ipv6() == first);
    let (mut preferred, mut others) = (preferred.into_iter(), others.into_iter());
    let mut turns = Vec::new();
    loop {
        let pair = [preferred.next(), others.next()];
        if pair == [None, None] {
            return turns;
        }
        turns.extend(pair.into_iter().flatten());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn u03_addresses_of_both_kinds_take_turns() {
        let found = ["[::1]:1", "[::2]:1", "10.0.0.1:1", "[::3]:1"].map(address).to_vec();
        let wanted = ["[::1]:1", "10.0.0.1:1", "[::2]:1", "[::3]:1"].map(address).to_vec();
        assert_eq!(in_turns(found), wanted);
        assert!(in_turns(Vec::new()).is_empty());
    }
}
