//! Many client sockets in one thread: an epoll loop that is turned by whoever waits for something.
//!
//! The bytes on a socket belong to its [`Peer`]. Nothing here runs by itself: between two calls the clients
//! stand still, and the server feels that as clients that do not read.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, sockopt};

/// Connections from one source address: the system has 28,000 ports for each, and some may be in use.
const PER_SOURCE: usize = 20_000;
/// What one read may bring.
const READ: usize = 256 << 10;
const EVENTS: usize = 1024;

/// The protocol on one socket.
pub(crate) trait Peer {
    /// What the peers of all sockets share.
    type Shared;

    /// The socket is connected.
    fn connected(&mut self, shared: &mut Self::Shared, out: &mut Vec<u8>);

    /// Bytes have come. An error closes the socket.
    fn received(&mut self, shared: &mut Self::Shared, bytes: &[u8], out: &mut Vec<u8>) -> Result<()>;

    /// The socket is closed, without our asking for it.
    fn closed(&mut self, shared: &mut Self::Shared, why: anyhow::Error);
}

struct Slot<P> {
    socket: Option<OwnedFd>,
    peer: P,
    connected: bool,
    /// What the socket had no room for.
    unsent: Vec<u8>,
    reading: bool,
    /// Whether we wait for room, or for the connection.
    watching_writes: bool,
}

/// The sockets of one swarm, all to one server.
pub(crate) struct Sockets<P: Peer> {
    epoll: OwnedFd,
    server: SocketAddrV4,
    slots: Vec<Slot<P>>,
    pub(crate) shared: P::Shared,
    /// The second and third number of the addresses that clients come from; drawn, so that runs one after the
    /// other do not meet each other's closed connections.
    origin: (u8, u8),
    events: Vec<Event>,
    buffer: Vec<u8>,
    out: Vec<u8>,
}

impl<P: Peer> Sockets<P> {
    pub(crate) fn new(server: SocketAddrV4, shared: P::Shared) -> Result<Self> {
        Ok(Self {
            epoll: epoll::create(CreateFlags::CLOEXEC).context("create an epoll instance")?,
            server,
            slots: Vec::new(),
            shared,
            origin: (fastrand::u8(1..=254), fastrand::u8(..)),
            events: Vec::with_capacity(EVENTS),
            buffer: vec![0; READ],
            out: Vec::new(),
        })
    }

    /// How many there are, open or not.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Starts to connect one more.
    pub(crate) fn connect(&mut self, peer: P) -> Result<()> {
        let number = self.slots.len();
        let socket = self.socket(number).with_context(|| format!("connect client {number}"))?;
        let interest = EventFlags::IN | EventFlags::OUT;
        epoll::add(&self.epoll, &socket, EventData::new_u64(number as u64), interest)?;
        self.slots.push(Slot {
            socket: Some(socket),
            peer,
            connected: false,
            unsent: Vec::new(),
            reading: true,
            watching_writes: true,
        });
        Ok(())
    }

    fn socket(&self, number: usize) -> Result<OwnedFd> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        let source = Ipv4Addr::new(127, self.origin.0, self.origin.1, 1 + (number / PER_SOURCE) as u8);
        rustix::net::bind(&socket, &SocketAddrV4::new(source, 0))?;
        match rustix::net::connect(&socket, &self.server) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends bytes on a connection that is open; on another one, does nothing.
    pub(crate) fn send(&mut self, number: usize, bytes: &[u8]) -> Result<()> {
        if let Some(why) = self.write(number, bytes)? {
            let slot = &mut self.slots[number];
            slot.socket = None;
            slot.peer.closed(&mut self.shared, why);
        }
        Ok(())
    }

    /// Closes a connection.
    pub(crate) fn close(&mut self, number: usize) {
        self.slots[number].socket = None;
    }

    /// Whether a client reads what it is sent. One that does not leaves it to the kernel, as a hung process does.
    pub(crate) fn set_reading(&mut self, number: usize, reading: bool) -> Result<()> {
        self.slots[number].reading = reading;
        self.watch(number)
    }

    /// Waits up to `patience` for something to happen, and handles what did.
    pub(crate) fn turn(&mut self, patience: Duration) -> Result<()> {
        let timeout = rustix::event::Timespec {
            tv_sec: patience.as_secs() as i64,
            tv_nsec: patience.subsec_nanos().into(),
        };
        let mut events = std::mem::take(&mut self.events);
        events.clear();
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error).context("wait for sockets"),
        }
        for event in &events {
            let (flags, data) = (event.flags, event.data);
            self.handle(data.u64() as usize, flags)?;
        }
        self.events = events;
        Ok(())
    }

    /// Turns until `done` or the deadline, and states whether it was done.
    pub(crate) fn turn_until(
        &mut self,
        deadline: Instant,
        mut done: impl FnMut(&P::Shared) -> bool,
    ) -> Result<bool> {
        while !done(&self.shared) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            self.turn(left.min(Duration::from_millis(100)))?;
        }
        Ok(true)
    }

    /// Turns for so long.
    pub(crate) fn turn_for(&mut self, span: Duration) -> Result<()> {
        self.turn_until(Instant::now() + span, |_| false).map(|_| ())
    }

    /// Turns until the sockets have taken everything that was to be sent.
    pub(crate) fn flush(&mut self, deadline: Instant) -> Result<()> {
        while self.slots.iter().any(|slot| slot.socket.is_some() && !slot.unsent.is_empty()) {
            ensure!(Instant::now() < deadline, "the server does not read what it is sent");
            self.turn(Duration::from_millis(10))?;
        }
        Ok(())
    }

    fn handle(&mut self, number: usize, flags: EventFlags) -> Result<()> {
        let slot = &mut self.slots[number];
        let Some(socket) = &slot.socket else { return Ok(()) };
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        let mut broken = None;
        if !slot.connected && flags.contains(EventFlags::OUT) && !flags.contains(EventFlags::ERR) {
            slot.connected = true;
            slot.peer.connected(&mut self.shared, &mut out);
        }
        if flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
            broken = match rustix::io::read(socket, &mut self.buffer[..]) {
                Ok(0) => Some(anyhow!("it closed the connection")),
                Ok(read) => slot.peer.received(&mut self.shared, &self.buffer[..read], &mut out).err(),
                Err(Errno::AGAIN | Errno::INTR) => None,
                Err(error) => Some(error.into()),
            };
        }
        if let Some(why) = broken.or(self.write(number, &out)?) {
            let slot = &mut self.slots[number];
            slot.socket = None;
            slot.peer.closed(&mut self.shared, why);
        }
        self.out = out;
        Ok(())
    }

    /// Sends, after what was left of earlier, and states why the socket does not take it any more, if so.
    fn write(&mut self, number: usize, bytes: &[u8]) -> Result<Option<anyhow::Error>> {
        let slot = &mut self.slots[number];
        let Some(socket) = slot.socket.as_ref().filter(|_| slot.connected) else { return Ok(None) };
        let sent = if slot.unsent.is_empty() {
            send(socket, bytes).inspect(|sent| slot.unsent.extend_from_slice(&bytes[*sent..]))
        } else {
            slot.unsent.extend_from_slice(bytes);
            send(socket, &slot.unsent).inspect(|sent| drop(slot.unsent.drain(..*sent)))
        };
        if let Err(error) = sent {
            return Ok(Some(error.into()));
        }
        if slot.unsent.is_empty() {
            slot.unsent = Vec::new();
        }
        if slot.watching_writes == slot.unsent.is_empty() {
            slot.watching_writes = !slot.unsent.is_empty();
            self.watch(number)?;
        }
        Ok(None)
    }

    fn watch(&self, number: usize) -> Result<()> {
        let slot = &self.slots[number];
        let Some(socket) = &slot.socket else { return Ok(()) };
        let mut interest = EventFlags::empty();
        interest.set(EventFlags::IN, slot.reading);
        interest.set(EventFlags::OUT, slot.watching_writes);
        Ok(epoll::modify(&self.epoll, socket, EventData::new_u64(number as u64), interest)?)
    }
}

/// Sends what there is room for, and states how much.
fn send(socket: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
    let mut sent = 0;
    while sent < bytes.len() {
        match rustix::net::send(socket, &bytes[sent..], SendFlags::NOSIGNAL) {
            Ok(more) => sent += more,
            Err(Errno::AGAIN) => break,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(sent)
}
