//! What is shown, and that it changes by itself.

use crate::{CDS, Page, backend, one_in_each_state};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_in_sync_behind_and_rejecting_is_shown_as_it_changes() {
    let (mut bed, [mut accepts, mut rejects, mut waits]) = one_in_each_state().await;
    let Some(page) = Page::open(bed.weir.admin_address()).await else { return };
    page.sends("1", "1", "1").await;
    page.0.run("window.untouched = true").await;
    page.has_row("1 Control planes", "in sync").await;
    page.has_row("1 Weir 3 clients", "1 rejecting 1 behind 1 in sync").await;
    page.assert_shows("#panel", "web-2 rejected clusters").await;
    page.assert_shows("#panel", "no such thing here").await;

    page.toggle("1 Control planes").await;
    let plane = bed.control_plane().uri();
    page.has_row(&format!("2 {plane}"), "in sync").await;
    page.toggle("2 clusters").await;
    page.has_row("3 everything (*) env=prod", "1 rejecting").await;
    page.toggle("3 backend env=prod").await;
    page.has_row("4 web-1", "in sync").await;
    page.has_row("4 web-3", "behind").await;

    let received = waits.receive_type(CDS).await;
    waits.ack(&received);
    page.sends("2", "0", "1").await;
    page.has_row("4 web-3", "in sync").await;

    bed.set(&[(Some("prod"), backend(3)), (Some("test"), backend(2))]);
    for client in [&mut accepts, &mut rejects, &mut waits] {
        client.accept(CDS).await;
    }
    page.sends("3", "0", "0").await;
    page.has_row("3 everything (*) env=prod", "1 in sync").await;
    page.0.until("a mark in the chart", "return document.querySelector('.chart .mark') !== null").await;

    bed.control_plane().stop().await;
    page.has_row("1 Control planes", "disconnected").await;
    drop(waits);
    page.sends("2", "0", "0").await;
    assert_eq!(page.0.run("return window.untouched").await, true, "all that without loading the page anew");
    page.expect_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_shown_while_weir_is_away_is_stated_to_be_old() {
    let (mut bed, _clients) = one_in_each_state().await;
    let Some(page) = Page::open(bed.weir.admin_address()).await else { return };
    page.sends("1", "1", "1").await;
    bed.weir.kill().await;
    page.assert_shows("#banner", "What is shown is how it was at").await;
    page.assert_shows("#connection", "Connection lost").await;
    page.sends("1", "1", "1").await;
    bed.weir.restart().await;
    page.0.until("the page to be live again", "return document.getElementById('banner').hidden").await;
    page.sends("0", "0", "0").await;
    page.assert_shows("#panel", "Nobody is connected yet").await;
}
