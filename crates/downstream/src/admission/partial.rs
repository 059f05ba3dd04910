//! What has arrived of requests that are not complete, of all clients together: so many bytes and no more.
//!
//! Small requests go before large ones: a quarter is for them alone, and a large one may hold no more than it leaves to
//! others. So those that are large and slow run out of room first. Owns the bytes, and the count of them.

use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

use super::{Gate, Refusal, Shortage};

/// What is small, in bytes: the first request of an Envoy, with its node, and almost all others.
const SMALL: usize = 64 << 10;

/// From how many bytes on there is room for all of a small request. Untouched, it costs no memory; to move on and on to
/// where there is more does, since what is left behind, of thousands of clients that come at once, lies scattered.
const ENOUGH_TO_DECIDE: usize = 1 << 10;

/// How many bytes there are.
#[derive(Debug, Default)]
pub(super) struct Held(AtomicUsize);

impl Held {
    /// Adds `more` to what is held, of a request that then has `own`, if there is room.
    fn take(&self, more: usize, own: usize, limit: usize) -> bool {
        let fits = |held: usize| {
            let held = held.checked_add(more).filter(|held| *held <= limit)?;
            let is_modest = held <= limit - limit / 4 && own <= limit - held;
            (own <= SMALL || is_modest).then_some(held)
        };
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// What is kept of one request. Counted for as long as it lives.
pub(crate) struct Partial {
    gate: Gate,
    bytes: Vec<u8>,
    counted: usize,
}

impl Partial {
    pub(super) fn new(gate: Gate) -> Self {
        Self { gate, bytes: Vec::new(), counted: 0 }
    }

    /// Room for `more` bytes, of at most `to_come`; what is written there is kept.
    ///
    /// # Errors
    /// When others hold so much that there is none.
    pub(crate) fn room(&mut self, more: usize, to_come: usize) -> Result<&mut Vec<u8>, Refusal> {
        let (needed, whole) = (self.bytes.len() + more, self.bytes.len() + to_come);
        if needed > self.counted {
            let target = needed.max((2 * self.counted).min(whole));
            self.count(target)?;
            let room = if needed > ENOUGH_TO_DECIDE { target.max(whole.min(SMALL)) } else { target };
            self.bytes.reserve_exact(room - self.bytes.len());
        }
        Ok(&mut self.bytes)
    }

    /// Counts `bytes` from now on, no fewer than before, wherever they are kept.
    ///
    /// # Errors
    /// When others hold so much that there is no room.
    pub(crate) fn count(&mut self, bytes: usize) -> Result<(), Refusal> {
        let limit = self.gate.partial_requests();
        if !self.gate.0.partial.take(bytes - self.counted, bytes, limit) {
            return Err(self.gate.turn_away(Shortage::PartialRequests(limit)));
        }
        self.counted = bytes;
        Ok(())
    }

    /// The whole of it.
    pub(crate) fn finish(mut self) -> Bytes {
        std::mem::take(&mut self.bytes).into()
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        self.gate.0.partial.give_back(self.counted);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weir_config::Limits;

    use super::super::Room;
    use super::*;
    use crate::metrics::Metrics;

    const KIB: usize = 1 << 10;

    fn gate(limit: usize) -> Gate {
        let limits = Limits { max_partial_requests: limit.try_into().unwrap(), ..Limits::default() };
        Gate::new(Room { limits, ..Room::default() }, Arc::new(Metrics::new()))
    }

    /// Sends `bytes` in pieces; how many there is room for.
    fn arrive(partial: &mut Partial, bytes: usize) -> usize {
        let piece = [7; 4 * KIB];
        let arrived = (0..bytes / piece.len()).take_while(|arrived| {
            let to_come = bytes - arrived * piece.len();
            partial.room(piece.len(), to_come).is_ok_and(|room| {
                room.extend_from_slice(&piece);
                true
            })
        });
        arrived.count() * piece.len()
    }

    #[test]
    fn what_arrives_is_counted_until_it_is_complete_or_given_up() {
        let gate = gate(1024 * KIB);
        let held = || gate.0.partial.0.load(Ordering::Relaxed);
        let mut one = gate.partial();
        assert_eq!(arrive(&mut one, 100 * KIB), 100 * KIB);
        assert_eq!(
            (held(), one.bytes.capacity()),
            (100 * KIB, 100 * KIB),
            "no more than the request will be"
        );
        let mut other = gate.partial();
        arrive(&mut other, 40 * KIB);
        assert_eq!(held(), 140 * KIB);
        assert_eq!(one.finish().len(), 100 * KIB);
        drop(other);
        assert_eq!(held(), 0);
    }

    #[test]
    fn large_ones_run_out_of_room_first_and_all_of_them_have_no_more_than_there_is() {
        let limit = 1024 * KIB;
        let gate = gate(limit);
        let mut large = [(); 3].map(|()| gate.partial());
        let arrived = large.each_mut().map(|large| arrive(large, limit));
        assert_eq!(arrived, [512 * KIB, 256 * KIB, SMALL], "each leaves as much as it takes");
        let refusal = large[2].room(512 * KIB, limit).err().unwrap();
        assert_eq!(refusal.shortage, Shortage::PartialRequests(limit));
        let mut small = Vec::new();
        let refused = (0..1000).position(|_| {
            small.push(gate.partial());
            arrive(small.last_mut().unwrap(), 16 * KIB) < 16 * KIB
        });
        assert!(
            refused.is_some_and(|refused| refused >= 8),
            "small ones have a part of their own: {refused:?}"
        );
        assert!(gate.0.partial.0.load(Ordering::Relaxed) <= limit);
        drop((large, small));
        assert_eq!(arrive(&mut gate.partial(), limit / 2), limit / 2);
    }
}
