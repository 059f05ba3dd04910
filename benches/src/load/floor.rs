//! The floor: what it costs to write bytes to many TCP sockets and to read an acknowledgement from each, with
//! nothing in between. No server that serves each client over a connection of its own can cost less.
//!
//! The server is this program again, in a process of its own, so that it is measured like any other.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

use super::options::Options;
use super::process::Cpu;
use super::server::Measured;
use super::sockets::{Peer, Sockets};
use super::swarm::micros;

/// The most connections that a process may have, where 20,000 files may be open.
pub(crate) const MAX_CONNECTIONS: usize = 19_500;

/// What is done, over and over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) connections: usize,
    /// Bytes to each connection.
    pub(crate) bytes: usize,
    /// Bytes that come back from each.
    pub(crate) acknowledgement: usize,
    pub(crate) rounds: usize,
}

/// What that took.
pub(crate) struct Floor {
    /// Of the server.
    pub(crate) cpu: Cpu,
    /// From the word go to each reception, in µs.
    pub(crate) latencies: Vec<u32>,
}

impl Floor {
    /// Server CPU for one delivery, in µs.
    pub(crate) fn per_delivery(&self) -> f64 {
        self.cpu.total.as_secs_f64() * 1e6 / self.latencies.len().max(1) as f64
    }
}

/// Measures it.
pub(crate) fn measure(options: &Options, load: Load) -> Result<Floor> {
    let mut server = FloorServer::start(load)?;
    let shared = Shared { load, since: Instant::now(), latencies: Vec::new(), open: 0 };
    let mut swarm = Sockets::<Reader>::new(server.address, shared)?;
    let deadline = Instant::now() + options.patience();
    while swarm.shared.open < load.connections {
        if swarm.len() < load.connections && swarm.len() - swarm.shared.open < options.at_a_time {
            swarm.connect(Reader { received: 0 })?;
        }
        swarm.turn(Duration::ZERO)?;
        ensure!(Instant::now() < deadline, "the floor's connections do not open");
    }
    server.expect("ready")?;
    // The first round makes the kernel's buffers; it does not count.
    let mut before = Cpu::default();
    for round in 0..=load.rounds {
        if round == 1 {
            swarm.shared.latencies.clear();
            before = server.process.cpu()?;
        }
        let wanted = swarm.shared.latencies.len() + load.connections;
        swarm.shared.since = Instant::now();
        server.go()?;
        let done = swarm.turn_until(deadline, |shared| shared.latencies.len() >= wanted)?;
        ensure!(done, "the floor's clients do not get their bytes");
        // The server's word comes when it has read all acknowledgements.
        swarm.flush(deadline)?;
        server.expect("done")?;
    }
    let cpu = server.process.cpu()?.since(before);
    Ok(Floor { cpu, latencies: swarm.shared.latencies })
}

struct Shared {
    load: Load,
    since: Instant,
    latencies: Vec<u32>,
    open: usize,
}

/// Counts what comes and acknowledges when it is all there.
struct Reader {
    received: usize,
}

impl Peer for Reader {
    type Shared = Shared;

    fn connected(&mut self, shared: &mut Shared, _: &mut Vec<u8>) {
        shared.open += 1;
    }

    fn received(&mut self, shared: &mut Shared, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        self.received += bytes.len();
        while self.received >= shared.load.bytes {
            self.received -= shared.load.bytes;
            shared.latencies.push(micros(shared.since.elapsed()));
            out.resize(out.len() + shared.load.acknowledgement, 0);
        }
        Ok(())
    }

    fn closed(&mut self, shared: &mut Shared, _: anyhow::Error) {
        shared.open -= 1;
    }
}

/// The server's process, which takes commands over its standard input.
struct FloorServer {
    process: Measured,
    address: SocketAddrV4,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl FloorServer {
    fn start(load: Load) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("floor-server")
            .args(["--streams", &load.connections.to_string()])
            .args(["--size", &load.bytes.to_string()])
            .args(["--acknowledgement", &load.acknowledgement.to_string()])
            .args(["--changes", &(load.rounds + 1).to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("start the floor's server")?;
        let input = child.stdin.take().context("its input is piped")?;
        let output = child.stdout.take().context("its output is piped")?;
        let (process, mut output) = (Measured(child), BufReader::new(output));
        let mut address = String::new();
        output.read_line(&mut address)?;
        let address = address.trim().parse().context("the floor's server states where it listens")?;
        Ok(Self { process, address, input, output })
    }

    fn go(&mut self) -> Result<()> {
        Ok(self.input.write_all(b"go\n")?)
    }

    fn expect(&mut self, word: &str) -> Result<()> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        ensure!(line.trim() == word, "the floor's server wrote {line:?} instead of {word:?}");
        Ok(())
    }
}

/// The other side: this is what the process that is measured does.
pub(crate) fn serve(options: &Options) -> Result<()> {
    let connections = options.streams.first().copied().unwrap_or(1);
    let payload = vec![0x2a; options.size_or(1024)];
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    // The standard library lets 128 wait to be accepted.
    rustix::net::listen(&listener, 4096)?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{}", listener.local_addr()?)?;
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    let mut sockets = Vec::with_capacity(connections);
    while sockets.len() < connections {
        let (socket, _) = listener.accept()?;
        socket.set_nodelay(true)?;
        socket.set_nonblocking(true)?;
        epoll::add(&epoll, &socket, EventData::new_u64(sockets.len() as u64), EventFlags::IN)?;
        sockets.push(Socket { stream: socket, unsent: 0, owed: 0 });
    }
    writeln!(stdout, "ready")?;
    let mut line = String::new();
    for _ in 0..options.changes_or(1) {
        line.clear();
        if std::io::stdin().read_line(&mut line)? == 0 {
            return Ok(());
        }
        round(&epoll, &mut sockets, &payload, options.acknowledgement)?;
        writeln!(stdout, "done")?;
    }
    Ok(())
}

struct Socket {
    stream: TcpStream,
    unsent: usize,
    owed: usize,
}

/// Writes the payload to every socket and waits for all acknowledgements.
fn round(
    epoll: impl rustix::fd::AsFd,
    sockets: &mut [Socket],
    payload: &[u8],
    acknowledgement: usize,
) -> Result<()> {
    let both = EventFlags::IN | EventFlags::OUT;
    for (number, socket) in sockets.iter_mut().enumerate() {
        (socket.unsent, socket.owed) = (payload.len(), acknowledgement);
        if !socket.write(payload)? {
            epoll::modify(&epoll, &socket.stream, EventData::new_u64(number as u64), both)?;
        }
    }
    let mut events: Vec<Event> = Vec::with_capacity(1024);
    let mut buffer = vec![0; 64 << 10];
    let mut left = sockets.len();
    while left > 0 {
        events.clear();
        epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut events), None)?;
        for event in &events {
            let (flags, data) = (event.flags, event.data);
            let number = data.u64() as usize;
            let socket = &mut sockets[number];
            if flags.contains(EventFlags::OUT) && socket.write(payload)? {
                epoll::modify(&epoll, &socket.stream, data, EventFlags::IN)?;
            }
            if flags.contains(EventFlags::IN) {
                let read = rustix::io::read(&socket.stream, &mut buffer[..])?;
                ensure!(read > 0 && read <= socket.owed, "a client of the floor went away");
                socket.owed -= read;
                left -= usize::from(socket.owed == 0);
            }
        }
    }
    Ok(())
}

impl Socket {
    /// Writes what is left of the payload, and states whether that was all.
    fn write(&mut self, payload: &[u8]) -> Result<bool> {
        while self.unsent > 0 {
            match rustix::io::write(&self.stream, &payload[payload.len() - self.unsent..]) {
                Ok(written) => self.unsent -= written,
                Err(Errno::AGAIN) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }
}
