//! Commands on a terminal: bars while they last, and colour.

use serde_json::Value;
use weir_testkit::resources::static_cluster;

use crate::support::{for_all, local};
use crate::{CDS, one_accepts_and_one_rejects};

/// What begins an escape sequence.
const ESCAPE: char = '\u{1b}';

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_follows_a_change_sees_that_it_is_waited_for_and_how_far_it_has_come() {
    let (bed, mut accepts, mut rejects) = one_accepts_and_one_rejects().await;
    let mut follows = bed.weir.run_on_terminal(&["trace-change", "cds", "backend", "--next"]);
    follows.shows("waiting for the next change").await;
    bed.set(&for_all([static_cluster("backend", &[local(1)])]));
    rejects.accept(CDS).await;
    let received = accepts.receive_type(CDS).await;
    follows.shows("1/2 accepted").await;
    accepts.ack(&received);
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
