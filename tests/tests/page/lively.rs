//! Everything that can be seen at once, and a picture of it: that in the documentation.

use crate::Page;
use crate::fleet::Fleet;
use crate::looks::HARD_TO_READ;

/// How many changes there are before something goes wrong.
const CHANGES: usize = 12;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_late_who_rejects_and_who_is_away_is_marked() {
    let mut fleet = Fleet::start().await;
    for _ in 0..CHANGES {
        fleet.change().await;
    }
    fleet.go_wrong().await;
    let Some(page) = Page::open(fleet.weir.admin_address()).await else { return };
    page.sends("7", "1", "1").await;
    for (outcome, least) in [("accepted", 8), ("late", 1), ("rejected", 1)] {
        let marks = format!("return document.querySelectorAll('.chart .mark.{outcome}').length >= {least}");
        page.0.until(&format!("{least} marks of what is {outcome}"), &marks).await;
    }
    page.assert_shows("#panel", "edge-3 rejected clusters").await;
    page.toggle("1 Control planes").await;
    page.has_row("2 not connected lab.example", "disconnected").await;
    page.toggle("2 clusters").await;
    page.toggle("3 everything (*) env=prod").await;
    page.has_row("4 edge-3", "rejecting").await;
    page.has_row("3 cart and 2 more env=prod 1 with nobody to ask", "1 behind").await;
    page.toggle("2 endpoints").await;
    page.toggle("3 cart env=prod").await;
    // For how long it has not answered is shown beside it.
    let late = "return [...document.querySelectorAll('[role=treeitem]')].some((row) => \
                /^shop-2.* for [0-9.]+ s\\s*behind/.test(row.innerText.replace(/\\s+/g, ' ').trim()))";
    page.0.until("for how long the client is behind", late).await;
    page.toggle("2 endpoints").await;
    for (name, dark) in [("page", true), ("page-light", false)] {
        page.0.screen(1440, 900, dark).await;
        page.0.run("document.activeElement.blur()").await;
        let read = page.0.run(HARD_TO_READ).await;
        assert_eq!(read["found"], serde_json::json!([]), "{name}");
        page.take_picture(name).await;
    }
    page.expect_no_complaints().await;
}
