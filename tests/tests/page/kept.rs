//! What is kept from a client, and how many streams it has.

use weir_testkit::process::Weir;
use weir_testkit::resources::static_cluster;
use weir_testkit::{XdsClient, node};

use crate::{CDS, Page};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_client_may_not_have_is_shown_with_it() {
    let weir = Weir::builder()
        .resources(&["open", "secret"].map(|name| static_cluster(name, &[])))
        .section("[[access]]\ntypes = [\"cds\"]\nnames = [\"open\"]")
        .start()
        .await;
    let mut client = XdsClient::delta(weir.address(), &node("web-1")).await;
    client.subscribe(CDS, &["open", "secret"]);
    // That it may not have the other one can be known before the files are read.
    while client.accept(CDS).await.names().is_empty() {}
    let mut other = XdsClient::delta(weir.address(), &node("web-1")).await;
    other.subscribe(CDS, &["open"]);
    while other.accept(CDS).await.names().is_empty() {}
    let Some(page) = Page::open(weir.admin_address()).await else { return };
    page.sends("2", "0", "0").await;
    page.toggle("2 clusters").await;
    page.has_row("3 open and 1 more 1 denied", "").await;
    page.0.run("location.hash = '#/client/1'").await;
    page.assert_shows("#panel", "What is kept from it").await;
    page.assert_shows("#panel", "secret cds denied").await;
    page.assert_shows("#panel", "the access rules of this proxy do not give it to this client").await;
    page.assert_shows("#panel", "number 1, one of 2 of this node").await;
    page.0
        .run("[...document.querySelectorAll('#panel a')].find((a) => a.innerText === 'secret').click()")
        .await;
    page.assert_shows("#panel", "the access rules do not give it to this client").await;
    page.0.run("location.hash = '#/client/2'").await;
    page.assert_shows("#panel", "number 2, one of 2 of this node").await;
    let shown = page.0.run("return document.querySelector('#panel').innerText").await;
    assert!(!shown.as_str().unwrap().contains("kept from it"), "{shown}");
    page.expect_no_complaints().await;
}
