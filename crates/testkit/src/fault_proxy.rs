//! A TCP proxy that does to connections what networks do: cuts, silence, slowness, rubbish.
//!
//! It owns a port and every connection that is made to it, and knows nothing of what they carry. Which fault comes
//! next, and the rubbish, come from a seed, so that a campaign can be run again.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use crate::wait::within;

/// How often a slow connection moves.
const PULSE: Duration = Duration::from_millis(10);

/// What is read at once.
const CHUNK: usize = 16 << 10;

/// How much rubbish is put in.
const RUBBISH: usize = 64;

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Who has connected.
    Client,
    /// Who was connected to.
    Server,
}

/// What happens to connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// All are reset, on both sides. Happens once.
    Reset,
    /// All are reset towards the server, and dead for the client: nothing comes any more, and what it sends goes
    /// nowhere. It is not notified. Happens once.
    HalfOpen,
    /// Rubbish is put into what goes to this side, on all. Happens once.
    Garbage(Side),
    /// New ones are reset at once. Lasts.
    Refuse,
    /// Nothing moves in either direction, on those that are open and on new ones, which are accepted. Lasts.
    Stall,
    /// So many bytes a second move in each direction. Lasts.
    Slow(u32),
    /// Of each new one, there are two towards the server: both are sent the same, and one is listened to. Lasts.
    Duplicate,
}

impl Fault {
    /// Any of them.
    pub fn draw(random: &mut fastrand::Rng) -> Self {
        match random.u32(..8) {
            0 => Self::Reset,
            1 => Self::HalfOpen,
            2 => Self::Garbage(Side::Client),
            3 => Self::Garbage(Side::Server),
            4 => Self::Refuse,
            5 => Self::Stall,
            6 => Self::Slow(random.u32(1 << 10..64 << 10)),
            _ => Self::Duplicate,
        }
    }

    /// Whether it lasts until all is well again.
    pub fn lasts(self) -> bool {
        !matches!(self, Self::Reset | Self::HalfOpen | Self::Garbage(_))
    }
}

/// What is to happen to connections; how often what happens once has happened.
#[derive(Clone, Copy, Debug, Default)]
struct Weather {
    resets: u64,
    half_opens: u64,
    garbage: [u64; 2],
    refuse: bool,
    stall: bool,
    rate: Option<u32>,
    duplicate: bool,
}

/// How many connections there are, and were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Connections {
    /// Open now, towards clients; those that are dead without knowing it too.
    pub open: usize,
    /// Accepted ever.
    pub accepted: usize,
}

/// The proxy. Dropping it resets every connection and frees the port.
pub struct FaultProxy {
    address: SocketAddr,
    weather: watch::Sender<Weather>,
    connections: watch::Receiver<Connections>,
    random: Arc<Mutex<fastrand::Rng>>,
    _accepting: AbortOnDropHandle<()>,
}

impl FaultProxy {
    /// Listens on a free port, and connects whoever connects to `target`.
    pub async fn start(target: SocketAddr) -> Self {
        Self::seeded(target, 0).await
    }

    /// As [`Self::start`], with this seed.
    pub async fn seeded(target: SocketAddr, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let weather = watch::Sender::new(Weather::default());
        let (count, connections) = watch::channel(Connections::default());
        let random = Arc::new(Mutex::new(fastrand::Rng::with_seed(seed)));
        let accept = accept(listener, target, weather.subscribe(), count, Arc::clone(&random));
        Self {
            address,
            weather,
            connections,
            random,
            _accepting: AbortOnDropHandle::new(tokio::spawn(accept)),
        }
    }

    /// Where to connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// That, as an `http://` URI.
    pub fn uri(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Has something happen. What lasts, lasts beside other faults, until all is well again.
    pub fn inject(&self, fault: Fault) {
        self.weather.send_modify(|weather| match fault {
            Fault::Reset => weather.resets += 1,
            Fault::HalfOpen => weather.half_opens += 1,
            Fault::Garbage(side) => weather.garbage[side as usize] += 1,
            Fault::Refuse => weather.refuse = true,
            Fault::Stall => weather.stall = true,
            Fault::Slow(rate) => weather.rate = Some(rate),
            Fault::Duplicate => weather.duplicate = true,
        });
    }

    /// Ends what lasts: what was held up goes on. Connections that are dead stay so.
    pub fn heal(&self) {
        self.weather.send_modify(|weather| {
            (weather.refuse, weather.stall, weather.rate, weather.duplicate) = (false, false, None, false);
        });
    }

    /// The next fault of the seed.
    pub fn pick(&self) -> Fault {
        Fault::draw(&mut self.random.lock())
    }

    /// How many connections there are.
    pub fn connections(&self) -> Connections {
        *self.connections.borrow()
    }

    /// Waits until there are a number of connections that `wanted` accepts.
    pub async fn wait_for(&self, what: &str, wanted: impl Fn(Connections) -> bool) {
        let mut connections = self.connections.clone();
        let reached = connections.wait_for(|connections| wanted(*connections));
        let _ = within(format!("{what}; there are {:?}", self.connections()), reached).await;
    }
}

async fn accept(
    listener: TcpListener,
    target: SocketAddr,
    weather: watch::Receiver<Weather>,
    count: watch::Sender<Connections>,
    random: Arc<Mutex<fastrand::Rng>>,
) {
    let mut running = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((client, _)) = accepted else { return };
                count.send_modify(|count| (count.open, count.accepted) = (count.open + 1, count.accepted + 1));
                let mut line = Line { weather: weather.clone(), random: Arc::clone(&random) };
                running.spawn(async move { line.carry(client, target).await });
            }
            Some(_) = running.join_next() => count.send_modify(|count| count.open -= 1),
        }
    }
}

/// How a connection has ended.
enum End {
    /// By itself, or by a reset.
    Over,
    /// For the server alone.
    HalfOpen,
}

/// What a connection goes by.
struct Line {
    weather: watch::Receiver<Weather>,
    random: Arc<Mutex<fastrand::Rng>>,
}

impl Line {
    async fn carry(&mut self, mut client: TcpStream, target: SocketAddr) {
        let start = *self.weather.borrow();
        let end = match start.refuse {
            true => Ok(End::Over),
            false => self.between(&mut client, target, start).await,
        };
        if let Ok(End::HalfOpen) = end {
            // Until its patience is over, or the reset is sent after all.
            let mut weather = self.weather.clone();
            let reset = weather.wait_for(|weather| weather.resets > start.resets);
            tokio::select! {
                _ = swallow(&mut client) => {}
                _ = reset => {}
            }
        }
        let _ = client.set_zero_linger();
    }

    async fn between(&self, client: &mut TcpStream, target: SocketAddr, start: Weather) -> io::Result<End> {
        let mut cut = self.weather.clone();
        let cut =
            cut.wait_for(|weather| (weather.resets, weather.half_opens) != (start.resets, start.half_opens));
        let mut server = TcpStream::connect(target).await?;
        let mut second = if start.duplicate { Some(TcpStream::connect(target).await?) } else { None };
        for stream in [&*client, &server].into_iter().chain(second.as_ref()) {
            stream.set_nodelay(true)?;
        }
        let end = {
            let (from_client, to_client) = client.split();
            let (from_server, to_server) = server.split();
            let (unheard, copy) = second.as_mut().map(TcpStream::split).unzip();
            let up = self.pump(from_client, to_server, copy, Side::Server, start);
            let down = self.pump(from_server, to_client, None, Side::Client, start);
            tokio::select! {
                over = both(up, down) => over.map(|()| End::Over),
                _ = drain(unheard) => Ok(End::Over),
                weather = cut => Ok(match weather {
                    Ok(weather) if weather.resets == start.resets => End::HalfOpen,
                    _ => End::Over,
                }),
            }
        };
        let _ = server.set_zero_linger();
        end
    }

    /// Carries bytes to one side, as the weather allows.
    async fn pump(
        &self,
        mut from: ReadHalf<'_>,
        mut to: WriteHalf<'_>,
        mut copy: Option<WriteHalf<'_>>,
        side: Side,
        start: Weather,
    ) -> io::Result<()> {
        let mut weather = self.weather.clone();
        let (mut buffer, mut rubbish) = (vec![0; CHUNK], start.garbage[side as usize]);
        loop {
            let now = *weather.borrow_and_update();
            if now.garbage[side as usize] != rubbish {
                rubbish = now.garbage[side as usize];
                to.write_all(&self.rubbish()).await?;
            }
            // A tenth of a second's worth goes at once at most.
            let most = now.rate.map_or(CHUNK, |rate| (rate as usize / 10).clamp(1, CHUNK));
            let read = tokio::select! {
                read = from.read(&mut buffer[..most]), if !now.stall => read?,
                changed = weather.changed() => match changed {
                    Ok(()) => continue,
                    Err(_) => return Ok(()),
                },
            };
            if read == 0 {
                return to.shutdown().await;
            }
            if let Some(rate) = now.rate {
                let time = Duration::from_secs_f64(read as f64 / f64::from(rate.max(1)));
                tokio::time::sleep(time.max(PULSE)).await;
            }
            // What was read before it began is stalled too.
            if weather.wait_for(|weather| !weather.stall).await.is_err() {
                return Ok(());
            }
            to.write_all(&buffer[..read]).await?;
            if let Some(copy) = &mut copy {
                copy.write_all(&buffer[..read]).await?;
            }
        }
    }

    /// Bytes that no protocol begins a message with.
    fn rubbish(&self) -> Vec<u8> {
        let mut random = self.random.lock();
        std::iter::repeat_with(|| random.u8(0x80..)).take(RUBBISH).collect()
    }
}

/// Both directions, each until its end.
async fn both(
    up: impl Future<Output = io::Result<()>>,
    down: impl Future<Output = io::Result<()>>,
) -> io::Result<()> {
    tokio::try_join!(up, down).map(|_| ())
}

/// Reads what nobody wants until the end, which is nothing to anybody.
async fn drain(from: Option<ReadHalf<'_>>) {
    if let Some(mut from) = from {
        let _ = tokio::io::copy(&mut from, &mut tokio::io::sink()).await;
    }
    std::future::pending().await
}

async fn swallow(client: &mut TcpStream) -> io::Result<()> {
    tokio::io::copy(client, &mut tokio::io::sink()).await.map(|_| ())
}
