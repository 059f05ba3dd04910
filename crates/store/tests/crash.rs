//! Kills a process that writes, at random moments, again and again on the same file: what is found afterwards is
//! what there was after some commit, and no less than what was flushed.
//!
//! 25 times; or `WEIR_STORE_KILLS` times. The moments come from the seed in
//! `WEIR_STORE_SEED`, or a random one that is printed.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test ends at the first thing that is not as it should be, and prints what it has done"
)]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use prost::Message as _;
use weir_store::{Origin, Store};
use weir_types::{
    Absence, Batch, Constraints, Content, DynamicParameters, Provenance, ResourceLocator, TypeUrl, Variant,
    VariantKey, WILDCARD,
};

/// Where the writer writes, and at which round to begin.
const WRITE: &str = "WEIR_STORE_CRASH_WRITE";
/// How many resources each batch changes, all to the same text.
const RESOURCES: usize = 20;

fn setting<T: FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

fn cds() -> TypeUrl {
    TypeUrl::from_short_name("cds").expect("a type")
}

fn origin() -> Arc<Origin> {
    Arc::new(Origin { authority: String::new(), keys: None, parameters: DynamicParameters::empty() })
}

fn locator(name: &str) -> ResourceLocator {
    ResourceLocator::new(name, DynamicParameters::empty())
}

fn key(name: &str) -> VariantKey {
    VariantKey::new(name, Constraints::unconstrained())
}

/// Each round changes every resource, and one is there in even rounds only.
fn batch(round: u64) -> Batch {
    let padding = ".".repeat((round as usize * 37) % 6000);
    let value = format!("{round} {padding}").into_bytes();
    let any = prost_types::Any { type_url: cds().as_str().to_owned(), value };
    let body = Some(any.encode_to_vec().into());
    let mut batch = Batch::new(cds(), Provenance::Wildcard);
    let names = (0..RESOURCES).map(|number| format!("r{number}"));
    for name in names.chain(round.is_multiple_of(2).then(|| "even".to_owned())) {
        batch.upserts.push(Variant::new(key(&name), Content { body: body.clone(), ..Content::default() }));
    }
    if round % 2 == 1 {
        batch.removals.push(key("even"));
    }
    batch.mark_answered(&locator(WILDCARD));
    batch
}

/// What is killed. Without a place to write to, there is nothing to do.
#[test]
fn writer() {
    let Ok(task) = std::env::var(WRITE) else { return };
    let (first, path) = task.split_once(' ').expect("a round and a path");
    let store = Store::open(weir_config::Store::at(path), None).expect("there is a thread");
    for round in first.parse::<u64>().expect("a round").. {
        store.note(&origin(), &batch(round));
        // Some rounds are written with others, by the thread itself; some at once.
        if round.is_multiple_of(3) && store.flush() {
            println!("flushed {round}");
        }
    }
}

/// The last round that was flushed before the writer was killed, if any was: at a moment after its start, or after
/// something was `flushed`.
fn killed_after(path: &Path, first: u64, flushed: bool, moment: Duration) -> Option<u64> {
    let mut writer = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "writer", "--nocapture"])
        .env(WRITE, format!("{first} {}", path.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let output = writer.stdout.take().expect("a pipe");
    let (send, sent) = channel();
    std::thread::spawn(move || {
        let lines = BufReader::new(output).lines().map_while(Result::ok);
        let rounds = lines.filter_map(|line| line.rsplit_once("flushed ")?.1.parse().ok());
        rounds.for_each(|round: u64| send.send(round).expect("somebody listens"));
    });
    let mut last = flushed.then(|| sent.recv().expect("the writer goes on"));
    let end = Instant::now() + moment;
    loop {
        match sent.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(round) => last = Some(round),
            Err(RecvTimeoutError::Timeout) => break,
            Err(RecvTimeoutError::Disconnected) => panic!("the writer has ended by itself"),
        }
    }
    writer.kill().expect("it was running");
    writer.wait().expect("it has ended");
    sent.iter().last().or(last)
}

/// The round that is found, if any.
fn found(path: &Path) -> Option<u64> {
    let store = Store::open(weir_config::Store::at(path), None).expect("there is a thread");
    let status = store.status();
    assert_eq!((status.failure, status.unreadable), (None, 0));
    let past = store.look_up(&origin(), vec![(cds(), locator(WILDCARD))]).pop()?;
    assert_eq!(store.status().unreadable, 0);
    let round = |variant: &Variant| {
        let any =
            prost_types::Any::decode(variant.content().body.as_deref().expect("a body")).expect("an Any");
        let text = String::from_utf8(any.value).expect("a text");
        text.split_once(' ').expect("a round").0.parse::<u64>().expect("a number")
    };
    let rounds: BTreeSet<u64> = past.variants.iter().map(round).collect();
    let [round] = rounds.into_iter().collect::<Vec<_>>()[..] else { panic!("a batch in part: {past:?}") };
    assert_eq!(past.variants.len(), RESOURCES + usize::from(round.is_multiple_of(2)), "round {round}");
    assert_eq!(past.known, [(locator(WILDCARD), Absence::Known)]);
    Some(round)
}

#[test]
fn u09_a_store_is_whole_wherever_its_process_is_killed() {
    let kills: u32 = setting("WEIR_STORE_KILLS").unwrap_or(25);
    let seed = setting("WEIR_STORE_SEED").unwrap_or_else(|| fastrand::u64(..));
    let mut random = fastrand::Rng::with_seed(seed);
    println!("WEIR_STORE_SEED={seed}");
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store");
    let (mut next, mut written, mut torn) = (0, 0_u32, 0_u32);
    for kill in 0..kills {
        let moment = Duration::from_micros(random.u64(..250_000));
        // However slow the machine, some are late enough for something to be written.
        let flushed = killed_after(&path, next, kill % 2 == 0, moment);
        let before = next;
        next = found(&path).map_or(next, |round| round + 1);
        assert!(
            flushed.is_none_or(|flushed| flushed < next),
            "kill {kill}: {flushed:?} is lost, before {next}"
        );
        written += u32::from(next > before);
        torn += u32::from(flushed.is_some_and(|flushed| flushed + 1 < next));
    }
    println!(
        "{kills} kills, {written} after something was written, {torn} after more than was flushed, {next} rounds"
    );
    assert!(written > kills / 4, "the writer was killed too early: {written} of {kills}");
    let entries =
        std::fs::read_dir(&directory).expect("it is there").map(|entry| entry.expect("an entry").file_name());
    let aside: Vec<_> = entries.filter(|name| name.to_string_lossy().contains("broken")).collect();
    assert!(aside.is_empty(), "{aside:?}");
}
