use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use weir_database::DemandChange;
use weir_types::Batch;

use super::super::{Error, Origin, Problem, news, serve};
use super::*;
use weir_watch::Watch;

struct Served {
    commits: UnboundedReceiver<Batch>,
    demand: UnboundedSender<DemandChange>,
    task: JoinHandle<Result<(), Error>>,
}

impl Served {
    fn new(dir: &Dir) -> Self {
        Self::polling(dir, None)
    }

    fn polling(dir: &Dir, poll: Option<Duration>) -> Self {
        let (sender, commits) = unbounded_channel();
        let (demand, receiver) = unbounded_channel();
        let poll_interval = poll.map(|every| every.try_into().unwrap());
        let settings = weir_config::Files { path: dir.path(), poll_interval };
        let task = tokio::spawn(serve(
            move |batch| sender.send(batch).unwrap_or_default(),
            settings,
            receiver,
            |_| {},
        ));
        Self { commits, demand, task }
    }

    async fn next(&mut self) -> Batch {
        tokio::time::timeout(Duration::from_secs(20), self.commits.recv()).await.unwrap().unwrap()
    }

    /// The one name that the next commit is about.
    async fn next_name(&mut self) -> String {
        let batch = self.next().await;
        let added = batch.upserts.iter().map(|variant| format!("+{}", variant.name()));
        let removed = batch.removals.iter().map(|key| format!("-{}", key.name));
        added.chain(removed).collect()
    }
}

#[test]
fn f01_a_problem_is_told_once_and_a_flood_of_them_is_counted() {
    let problem = |i: u32| {
        let file = Path::new("a.yaml").into();
        Problem { origin: Origin { file, line: Some(1) }, reason: format!("problem {i}") }
    };
    let few: Vec<_> = (0..3).map(problem).collect();
    assert_eq!(news(&[], &few), (few.iter().collect(), 0));
    assert_eq!(news(&few[..2], &few), (vec![&few[2]], 0));
    let flood: Vec<_> = (0..8_000).map(problem).collect();
    let (sent, more) = news(&few, &flood);
    assert_eq!((sent.len(), sent[0], more), (20, &flood[3], 7_977));
}

#[tokio::test]
async fn f01_changes_are_noticed() {
    let dir = Dir::new(&[("a.yaml", &cluster("a", "{}", ""))]);
    let mut served = Served::new(&dir);
    assert_eq!(served.next_name().await, "+a");

    dir.write("b.yaml", &cluster("b", "{}", ""));
    assert_eq!(served.next_name().await, "+b");

    dir.write(".new", &cluster("b2", "{}", ""));
    fs::rename(dir.path().join(".new"), dir.path().join("b.yaml")).unwrap();
    assert_eq!((served.next_name().await, served.next_name().await), ("+b2".into(), "-b".into()));

    dir.write("below/c.yaml", &cluster("c", "{}", ""));
    assert_eq!(served.next_name().await, "+c");
    dir.write("below/c.yaml", &cluster("d", "{}", ""));
    assert_eq!((served.next_name().await, served.next_name().await), ("+d".into(), "-c".into()));

    dir.remove("b.yaml");
    assert_eq!(served.next_name().await, "-b2");
}

#[tokio::test]
async fn f01_files_that_change_without_being_told_of_are_polled() {
    let dir = Dir::new(&[("a.yaml", &cluster("a", "{}", ""))]);
    let elsewhere = dir.path().with_extension("elsewhere");
    fs::hard_link(dir.path().join("a.yaml"), &elsewhere).unwrap();
    let mut served = Served::polling(&dir, Some(Duration::from_millis(50)));
    assert_eq!(served.next_name().await, "+a");
    // The directory has no event for what happens to its file by another name.
    fs::write(elsewhere, cluster("a", "{}", "new")).unwrap();
    assert_eq!(served.next_name().await, "+a");
}

#[tokio::test]
async fn f01_bad_and_equal_files_commit_nothing() {
    let dir = Dir::new(&[("a.yaml", &cluster("a", "{}", ""))]);
    let mut served = Served::new(&dir);
    assert_eq!(served.next_name().await, "+a");
    dir.write("a.yaml", "- [");
    dir.write("b.yaml", &cluster("b", "{}", ""));
    assert_eq!(served.next_name().await, "+b");
    dir.write("a.yaml", &cluster("a", "{}", ""));
    dir.write("c.yaml", &cluster("c", "{}", ""));
    assert_eq!(served.next_name().await, "+c");
}

#[cfg(unix)]
#[tokio::test]
async fn f01_directories_that_are_replaced_as_a_whole() {
    use std::os::unix::fs::symlink;
    let dir = Dir::new(&[("..1/a.yaml", &cluster("a", "{}", "1")), ("..2/a.yaml", &cluster("a", "{}", "2"))]);
    let at = |name: &str| dir.path().join(name);
    symlink("..1", at("..data")).unwrap();
    symlink("..data/a.yaml", at("a.yaml")).unwrap();
    let mut served = Served::new(&dir);
    assert_eq!(served.next_name().await, "+a");

    symlink("..2", at("..data_tmp")).unwrap();
    fs::rename(at("..data_tmp"), at("..data")).unwrap();
    assert_eq!(served.next_name().await, "+a", "as Kubernetes does");

    fs::rename(dir.path(), dir.path().with_extension("old")).unwrap();
    dir.write("b.yaml", &cluster("b", "{}", ""));
    assert_eq!((served.next_name().await, served.next_name().await), ("+b".into(), "-a".into()));
    dir.write("c.yaml", &cluster("c", "{}", ""));
    assert_eq!(served.next_name().await, "+c", "the new directory is watched");
}

#[tokio::test]
async fn u03_a_directory_that_vanishes_withdraws_nothing() {
    let dir = Dir::new(&[("a.yaml", &cluster("a", "{}", ""))]);
    let mut served = Served::new(&dir);
    assert_eq!(served.next_name().await, "+a");
    fs::rename(dir.path(), dir.path().with_extension("old")).unwrap();
    served.demand.send(DemandChange::Wanted(cds(), locator("a", &[]))).unwrap();
    served.demand.send(DemandChange::Wanted(cds(), locator("b", &[]))).unwrap();
    let batch = served.next().await;
    assert_eq!((&*batch.absent[0].name, batch.absent.len()), ("b", 1));
    dir.write("a.yaml", &cluster("a", "{}", ""));
    dir.write("b.yaml", &cluster("b", "{}", ""));
    assert_eq!(served.next_name().await, "+b");
}

#[tokio::test]
async fn it_ends_with_the_demand() {
    let dir = Dir::new(&[("a.yaml", &cluster("a", "{}", ""))]);
    let Served { demand, task, .. } = Served::new(&dir);
    drop(demand);
    task.await.unwrap().unwrap();
    let missing = Served::new(&Dir::new(&[]));
    assert!(matches!(missing.task.await.unwrap(), Err(Error::Unreadable(_))));
}

#[tokio::test]
async fn d08_reading_the_files_is_no_change() {
    let dir = Dir::new(&[("a.yaml", &cluster("a", "{}", "")), ("below/b.yaml", &cluster("b", "{}", ""))]);
    let mut watch = Watch::new([dir.path()]).unwrap();
    dir.write("a.yaml", &cluster("c", "{}", ""));
    watch.changed().await;
    // On a busy machine, the system may report it bit by bit: each time it would be read.
    for _ in 0..10 {
        watch.follow();
        dir.load(&Loaded::default());
        if tokio::time::timeout(Duration::from_millis(300), watch.changed()).await.is_err() {
            return;
        }
    }
    panic!("it is read over and over");
}

#[tokio::test]
async fn f02_a_file_that_is_there_vouches_for_what_is_in_it() {
    let mortal = cluster("a", "{}", "").replacen("- ", "- ttl: 6s\n  ", 1);
    let dir = Dir::new(&[("a.yaml", &(mortal + &cluster("b", "{}", "")))]);
    let mut served = Served::new(&dir);
    let first = served.next().await;
    assert_eq!(first.upserts.len(), 2);
    let beat = served.next().await;
    let names: Vec<_> = beat.heartbeats.iter().map(|heartbeat| &*heartbeat.key.name).collect();
    assert_eq!((names, beat.upserts.len()), (vec!["a"], 0));
    let ttl = Duration::from_secs(6);
    assert!(beat.received.unwrap() < first.received.unwrap() + ttl, "in time");
    dir.write("a.yaml", &cluster("b", "{}", ""));
    while served.next().await.removals.is_empty() {}
}
