//! Ten thousand clients: what is in the document stays small, whatever is unfolded.

use tokio::task::JoinSet;
use weir_testkit::client::{Connection, Dialect};
use weir_testkit::process::key::ESCAPE;
use weir_testkit::resources::assignment;
use weir_testkit::wait::until;
use weir_testkit::{XdsClient, node};

use crate::support::{Bed, Source, for_all};
use crate::{CDS, Page, backend};

/// How many clients there are, on how many connections.
const CLIENTS: usize = 10_000;
const CONNECTIONS: usize = 100;

/// How many clients have a subscription of their own beside the one that all share.
const SINGULAR: usize = 300;

/// The most elements that there may be: two pages of 50 rows, and one of a list beside them.
const ELEMENTS: u64 = 4000;

const EDS: &str = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";

/// The streams of one connection. One client of each rejects its clusters.
async fn clients(connection: Connection, from: usize) -> Vec<XdsClient> {
    let mut clients = Vec::new();
    for number in from..from + CLIENTS / CONNECTIONS {
        let who = node(&format!("web-{number:05}")).cluster("web").metadata("env", "prod");
        let mut client = connection.ads(Dialect::Delta, &who);
        client.subscribe(CDS, &["backend"]);
        if number < SINGULAR {
            client.subscribe(EDS, &[&format!("own-{number}")]);
        }
        clients.push(client);
    }
    for (index, client) in clients.iter_mut().enumerate() {
        let received = client.receive_type(CDS).await;
        if index == 0 {
            client.nack(&received, "not here")
        } else {
            client.ack(&received)
        }
        if from + index < SINGULAR {
            client.accept(EDS).await;
        }
    }
    clients
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_clients_do_not_make_ten_thousand_rows() {
    let own = (0..SINGULAR).map(|number| assignment(&format!("own-{number}"), &[]));
    let bed = Bed::start(Source::Native("ads-delta"), &for_all(own.chain([backend(1)]))).await;
    let mut connecting = JoinSet::new();
    for index in 0..CONNECTIONS {
        let connection = Connection::to(bed.address()).await;
        connecting.spawn(clients(connection, index * CLIENTS / CONNECTIONS));
    }
    let _clients = connecting.join_all().await;
    // Summaries take a small share of a processor only, so that in a busy moment the next one may be long in coming.
    until("all answers to have come", || async {
        let behind = bed.weir.admin("/clients?state=behind&limit=1").await;
        behind.body.contains("\"items\":[],").then_some(())
    })
    .await;
    let Some(page) = Page::open(bed.weir.admin_address()).await else { return };
    page.sends("9 900", "0", "100").await;
    page.toggle("2 clusters").await;
    page.toggle("3 backend").await;
    page.toggle("2 endpoints").await;
    page.has_row("4 web-", "rejecting").await;
    page.has_row("3 own-", "1 in sync").await;
    page.has_row("3 ↓ All 300, the oldest first", "").await;

    page.choose("3 ↓ All 300, the oldest first").await;
    page.has_row("3 ↑ Back", "").await;
    page.has_row("3 own-", "1 in sync").await;
    page.has_row("3 ↓ 250 more", "").await;
    page.choose("4 ↓ 9 950 more").await;
    page.has_row("4 ↓ 9 900 more", "").await;
    page.has_row("4 web-", "rejecting").await;

    page.0.press(&["/"]).await;
    page.0.write("web-0999").await;
    page.assert_shows("#found", "web-0999").await;
    page.0.press(&[ESCAPE]).await;
    page.0.run("location.hash = '#/clients/in-sync'").await;
    page.assert_shows("#panel", "web-0").await;
    let elements = page.0.run("return document.querySelectorAll('*').length").await;
    assert!(elements.as_u64().is_some_and(|elements| elements < ELEMENTS), "{elements} elements");
    page.expect_no_complaints().await;
    page.0.run("location.hash = '#/'").await;
    page.assert_shows("#panel", "Latest rejections").await;
    page.0.screen(1280, 800, true).await;
    page.take_picture("many").await;
}
