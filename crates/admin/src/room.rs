//! Room for the connections of operators.
//!
//! A newcomer takes the place of whoever has asked nothing for the longest time, so that idle connections keep no probe
//! out; and all requests but probes together leave connections that can be idle.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// How many connections there may be. Clients need the open files, and operators are few.
pub(crate) const CONNECTIONS: usize = 512;

/// How many requests that are no probes may be under way.
pub(crate) const REQUESTS: usize = 256;

/// The connections there are. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Room(Arc<Mutex<Seats>>);

#[derive(Debug, Default)]
struct Seats {
    taken: HashMap<u64, Taken>,
    /// Counts connections, and the times at which one becomes idle.
    clock: u64,
}

#[derive(Debug)]
struct Taken {
    /// None while a request is answered.
    idle_since: Option<u64>,
    evicted: Arc<Notify>,
}

/// The place of a connection; free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    room: Room,
    id: u64,
    evicted: Arc<Notify>,
}

/// While it lives, the connection is not idle.
#[derive(Debug)]
pub(crate) struct Busy(Arc<Seat>);

impl Room {
    /// A place for a newcomer; none where all connections are busy.
    pub(crate) fn enter(&self) -> Option<Arc<Seat>> {
        let mut seats = self.0.lock();
        if seats.taken.len() >= CONNECTIONS {
            let idle = seats.taken.iter().filter_map(|(id, taken)| Some((taken.idle_since?, *id)));
            let (_, longest) = idle.min()?;
            let evicted = seats.taken.remove(&longest)?;
            evicted.evicted.notify_one();
        }
        seats.clock += 1;
        let (id, evicted) = (seats.clock, Arc::new(Notify::new()));
        seats.taken.insert(id, Taken { idle_since: Some(id), evicted: Arc::clone(&evicted) });
        Some(Arc::new(Seat { room: self.clone(), id, evicted }))
    }
}

impl Seat {
    /// A request is answered from now on.
    pub(crate) fn busy(self: &Arc<Self>) -> Busy {
        if let Some(taken) = self.room.0.lock().taken.get_mut(&self.id) {
            taken.idle_since = None;
        }
        Busy(Arc::clone(self))
    }

    /// Waits until the place is given to somebody else.
    pub(crate) async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut seats = self.0.room.0.lock();
        seats.clock += 1;
        let now = seats.clock;
        if let Some(taken) = seats.taken.get_mut(&self.0.id) {
            taken.idle_since = Some(now);
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.room.0.lock().taken.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn whoever_is_idle_for_the_longest_time_makes_room() {
        let room = Room::default();
        let mut seats: Vec<_> = (0..CONNECTIONS).map(|_| room.enter().unwrap()).collect();
        let busy: Vec<_> = seats[1..].iter().map(Seat::busy).collect();
        drop(seats[0].busy());
        seats.push(room.enter().unwrap());
        assert_eq!(seats[0].evicted().now_or_never(), Some(()));
        let later = seats.last().unwrap().busy();
        assert!(room.enter().is_none(), "all are busy");
        drop((busy, later));
        assert!(seats[1..].iter().all(|seat| seat.evicted().now_or_never().is_none()));
        drop(seats.pop());
        assert!(room.enter().is_some());
        assert!(seats[1..].iter().all(|seat| seat.evicted().now_or_never().is_none()), "there was room");
    }
}
