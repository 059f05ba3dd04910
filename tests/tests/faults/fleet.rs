//! Clients, in processes that can be killed.

use std::net::SocketAddr;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use weir_tests::client::{Held, Pace};

/// How many processes there are.
pub(crate) const PROCESSES: usize = 2;

/// All of them.
pub(crate) struct Fleet {
    server: SocketAddr,
    pace: Pace,
    /// By the numbers of the clients.
    held: Vec<watch::Sender<Held>>,
    processes: Vec<Process>,
}

struct Process {
    child: Child,
    /// What it prints, until its end.
    reading: JoinHandle<()>,
}

impl Fleet {
    pub(crate) fn start(clients: usize, server: SocketAddr, pace: Pace) -> Self {
        let held = std::iter::repeat_with(|| watch::Sender::new(Held::new())).take(clients).collect();
        let mut fleet = Self { server, pace, held, processes: Vec::new() };
        fleet.processes = (0..PROCESSES).map(|first| fleet.process(first)).collect();
        fleet
    }

    /// Starts those from this number on.
    fn process(&self, first: usize) -> Process {
        let Pace { keepalive, patience } = self.pace;
        let numbers = [first, PROCESSES, self.held.len()].map(|number| number.to_string());
        let mut child = Command::new(env!("CARGO_BIN_EXE_weir-test-fleet"))
            .arg(self.server.to_string())
            .args([keepalive, patience].map(|time| time.as_millis().to_string()))
            .args(numbers)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let held = self.held.clone();
        let reading = tokio::spawn(async move {
            while let Some(line) = lines.next_line().await.unwrap() {
                // A kill may cut the last one short.
                let Some((number, now)) = read(&line) else { return };
                held[number].send_replace(now);
            }
        });
        Process { child, reading }
    }

    /// What each holds, as it changes.
    pub(crate) fn held(&self) -> impl Iterator<Item = watch::Receiver<Held>> {
        self.held.iter().map(watch::Sender::subscribe)
    }

    /// Kills a process; those that come back know nothing.
    pub(crate) async fn kill(&mut self, number: usize) {
        self.processes[number].end().await;
        self.held
            .iter()
            .skip(number)
            .step_by(PROCESSES)
            .for_each(|held| drop(held.send_replace(Held::new())));
        self.processes[number] = self.process(number);
    }

    /// Kills all for good.
    pub(crate) async fn end(&mut self) {
        for process in &mut self.processes {
            process.end().await;
        }
    }
}

/// What a line shows of the client with this number.
fn read(line: &str) -> Option<(usize, Held)> {
    let (number, held) = line.split_once(' ')?;
    let held: Vec<_> = serde_json::from_str(held).ok()?;
    Some((number.parse().ok()?, held.into_iter().collect()))
}

impl Process {
    async fn end(&mut self) {
        self.child.kill().await.unwrap();
        (&mut self.reading).await.unwrap();
    }
}
