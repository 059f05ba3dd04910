//! Commands on a terminal: bars while they last, and colour.

use serde_json::Value;
use weir_testkit::resources::static_cluster;
use weir_testkit::wait::until;
use weir_testkit::{XdsClient, node};

use crate::support::{Bed, Source, for_all, local};
use crate::{CDS, one_accepts_and_one_rejects};

/// What begins an escape sequence.
const ESCAPE: char = '\u{1b}';

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_follows_a_change_sees_that_it_is_waited_for_and_how_far_it_has_come() {
    let backend = |port: u16| for_all([static_cluster("backend", &[local(port)])]);
    let bed = Bed::start(Source::Files, &backend(1)).await;
    let mut clients = Vec::new();
    for id in ["web-1", "web-2"] {
        let mut client = XdsClient::delta(bed.address(), &node(id)).await;
        client.subscribe(CDS, &["backend"]);
        while client.accept(CDS).await.names().is_empty() {}
        clients.push(client);
    }
    let mut follows = bed.weir.run_on_terminal(&["trace-change", "cds", "backend", "--next"]);
    follows.shows("waiting for the next change").await;
    bed.set(&backend(2));
    clients[0].accept(CDS).await;
    let received = clients[1].receive_type(CDS).await;
    follows.shows("1/2 accepted").await;
    clients[1].ack(&received);
    assert_eq!(follows.ended().await, 0, "{}", follows.shown());
    // The bar is gone when the result is written.
    let shown = follows.shown();
    let (bars, result) = shown.rsplit_once("\r\u{1b}[K").expect("there was a bar");
    assert!(bars.contains("[###############---------------] 1/2 accepted"), "{bars}");
    assert!(result.contains("accepted after") && !result.contains('#'), "{result}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn there_is_colour_on_a_terminal_and_nowhere_else() {
    let (bed, _accepts, _rejects) = one_accepts_and_one_rejects().await;
    for command in ["status", "clients"] {
        let mut shown = bed.weir.run_on_terminal(&[command]);
        shown.ended().await;
        shown.shows(&format!("{ESCAPE}[")).await;
        let piped = bed.weir.run(&[command]).await;
        assert!(!piped.stdout.contains(ESCAPE) && piped.stderr.is_empty(), "{piped:?}");
        let document = bed.weir.run(&[command, "--output", "json"]).await;
        let document = serde_json::from_str::<Value>(&document.stdout);
        assert!(document.is_ok(), "{document:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_watches_the_status_sees_it_change() {
    let (bed, _accepts, rejects) = one_accepts_and_one_rejects().await;
    let watches = bed.weir.run_on_terminal(&["status", "--watch"]);
    // Each time, the screen is cleared first.
    let row = |shown: &str| {
        let (_, last) = shown.rsplit_once("\u{1b}[2J\u{1b}[H")?;
        let mut rows = last.lines().map(|row| row.split_whitespace().collect::<Vec<_>>().join(" "));
        rows.find(|row| row.starts_with("all "))
    };
    let shows = async |wanted: &str| {
        until(wanted, || async { (row(&watches.shown()).as_deref() == Some(wanted)).then_some(()) }).await;
    };
    shows("all 1 0 1").await;
    drop(rejects);
    shows("all 1 0 0").await;
}
