//! Clients in a process that can be killed: `SERVER KEEPALIVE-MS PATIENCE-MS FIRST STEP END`, of which the last three are
//! what their numbers are. It prints what each holds whenever that changes.

use std::time::Duration;

use tokio::task::JoinSet;
use weir_tests::client::{self, Held, Pace};

/// A line for each: the number, and the resources as `[[[TYPE, NAME], TEXT], …]`.
fn show(number: usize, held: &Held) {
    let held: Vec<_> = held.iter().collect();
    println!("{number} {}", serde_json::to_string(&held).expect("texts are JSON"));
}

#[tokio::main]
async fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [server, keepalive, patience, numbers @ ..] = &arguments[..] else { panic!("arguments are missing") };
    let milliseconds = |text: &String| Duration::from_millis(text.parse().expect("a number"));
    let pace = Pace { keepalive: milliseconds(keepalive), patience: milliseconds(patience) };
    let numbers: Vec<usize> = numbers.iter().map(|text| text.parse().expect("a number")).collect();
    let server = server.parse().expect("an address");
    let mut running = JoinSet::new();
    for number in (numbers[0]..numbers[2]).step_by(numbers[1]) {
        running.spawn(client::run(number, server, pace, show));
    }
    running.join_all().await;
}
