use std::fs;
use std::path::Path;

use notify::event::{Flag, ModifyKind};
use tempfile::TempDir;

use super::*;

/// Far longer than anything takes.
const LONG: Duration = Duration::from_secs(20);

fn directory() -> TempDir {
    tempfile::tempdir().unwrap()
}

async fn changes(watch: &mut Watch) {
    timeout(LONG, watch.changed()).await.expect("a change");
    watch.follow();
}

/// Waits until nothing is reported any more: on a busy machine, the system reports bit by bit what has happened.
async fn settles(watch: &mut Watch) {
    for _ in 0..10 {
        if timeout(4 * QUIET, watch.changed()).await.is_err() {
            return;
        }
        watch.follow();
    }
    panic!("it would be read over and over");
}

/// Panics if something is reported that has happened until now: what happens later, at `other`, was reported.
async fn nothing(watch: &mut Watch, other: &Path) {
    let mut later = Watch::new([other]).unwrap();
    fs::write(other, "later").unwrap();
    changes(&mut later).await;
    let reported = timeout(4 * QUIET, watch.changed()).await;
    assert!(reported.is_err(), "it would be read over and over");
}

#[tokio::test]
async fn what_happens_beside_a_path_is_not_reported() {
    let directory = directory();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("resources")).unwrap();
    fs::write(at("file"), "1").unwrap();
    for path in [at("resources"), at("file"), at("missing"), at("./resources/../file")] {
        let mut watch = Watch::new([&path]).unwrap();
        fs::write(at("log"), "beside").unwrap();
        fs::rename(at("log"), at("log.1")).unwrap();
        fs::remove_file(at("log.1")).unwrap();
        nothing(&mut watch, &at("other")).await;
    }
}

#[tokio::test]
async fn a_file_is_written_replaced_removed_and_comes_again() {
    let directory = directory();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("file"), "1").unwrap();
    let mut watch = Watch::new([at("file")]).unwrap();
    fs::write(at("file"), "2").unwrap();
    changes(&mut watch).await;
    for _ in 0..2 {
        fs::write(at("new"), "3").unwrap();
        fs::rename(at("new"), at("file")).unwrap();
        changes(&mut watch).await;
    }
    fs::rename(at("file"), at("moved")).unwrap();
    changes(&mut watch).await;
    fs::write(at("file"), "4").unwrap();
    changes(&mut watch).await;
    fs::remove_file(at("file")).unwrap();
    changes(&mut watch).await;
    settles(&mut watch).await;
    fs::write(at("moved"), "of nobody's concern").unwrap();
    nothing(&mut watch, &at("other")).await;
    fs::write(at("file"), "5").unwrap();
    changes(&mut watch).await;
}

#[tokio::test]
async fn directories_on_the_way_come_and_go() {
    let directory = directory();
    let at = |name: &str| directory.path().join(name);
    let mut watch = Watch::new([at("a/b/file")]).unwrap();
    fs::create_dir(at("a")).unwrap();
    changes(&mut watch).await;
    fs::create_dir(at("a/b")).unwrap();
    changes(&mut watch).await;
    fs::write(at("a/b/file"), "1").unwrap();
    changes(&mut watch).await;
    fs::rename(at("a/b"), at("gone")).unwrap();
    changes(&mut watch).await;
    fs::create_dir(at("a/b")).unwrap();
    changes(&mut watch).await;
    fs::write(at("a/b/file"), "2").unwrap();
    changes(&mut watch).await;
}

#[tokio::test]
async fn links_are_turned_and_what_they_lead_to_is_written() {
    use std::os::unix::fs::symlink;
    let directory = directory();
    let at = |name: &str| directory.path().join(name);
    for generation in ["..1", "..2", "..3"] {
        fs::create_dir(at(generation)).unwrap();
        fs::write(at(generation).join("file"), generation).unwrap();
    }
    symlink("..1", at("..data")).unwrap();
    symlink("..data/file", at("file")).unwrap();
    let mut watch = Watch::new([at("file")]).unwrap();
    for (old, new) in [("..1", "..2"), ("..2", "..3")] {
        symlink(new, at("..data_tmp")).unwrap();
        fs::rename(at("..data_tmp"), at("..data")).unwrap();
        changes(&mut watch).await;
        settles(&mut watch).await;
        fs::remove_dir_all(at(old)).unwrap();
        nothing(&mut watch, &at("other")).await;
    }
    fs::write(at("..3/file"), "in place").unwrap();
    changes(&mut watch).await;
    settles(&mut watch).await;
    fs::write(at("..3/beside"), "of nobody's concern").unwrap();
    nothing(&mut watch, &at("other")).await;
}

#[tokio::test(start_paused = true)]
async fn a_poll_reports_without_being_sent() {
    let directory = directory();
    let hour = Duration::from_secs(3600);
    let mut watch = Watch::polling([directory.path().join("file")], hour);
    let begun = Instant::now();
    for n in 1..4 {
        watch.changed().await;
        assert_eq!(begun.elapsed().as_secs(), (n * hour).as_secs());
    }
}

#[test]
fn lost_events_are_reported_and_readers_are_not() {
    let trail = Trail::of(&[PathBuf::from("/nowhere/file")]);
    let of = |kind: EventKind| Event::new(kind).add_path("/nowhere/file".into());
    for (event, states) in [
        (Event::new(EventKind::Other).set_flag(Flag::Rescan), true),
        (of(EventKind::Modify(ModifyKind::Any)), true),
        (of(EventKind::Access(AccessKind::Close(AccessMode::Write))), true),
        (of(EventKind::Access(AccessKind::Close(AccessMode::Read))), false),
        (of(EventKind::Access(AccessKind::Open(AccessMode::Any))), false),
    ] {
        assert_eq!(is_relevant(&event, &trail), states, "{event:?}");
    }
}
