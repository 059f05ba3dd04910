//! Weir in front of sovereign, a control plane that is polled over REST-JSON and knows nothing of streams.

use weir_testkit::client::DIALECTS;
use weir_testkit::process::{Sovereign, Weir};
use weir_testkit::resources::{assignment, eds_cluster, static_cluster};
use weir_testkit::{RestClient, XdsClient, node, type_url};

async fn weir(sovereign: &Sovereign) -> Weir {
    let upstream = format!(
        "[[upstream]]\nendpoints = [\"http://{}\"]\nprotocol = \"rest\"\n\
         refresh_interval = \"100ms\"\nrefresh_jitter = \"20ms\"\n",
        sovereign.address()
    );
    Weir::builder().section(&upstream).start().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u01_streams_of_both_dialects_get_what_sovereign_is_polled_for() {
    let address = "127.0.0.1:1".parse().unwrap();
    let sovereign = Sovereign::start(
        &[static_cluster("a", &[address]), eds_cluster("b")],
        &[assignment("b", &[address]), assignment("c", &[address])],
    )
    .await;
    let weir = weir(&sovereign).await;
    let mut clients = Vec::new();
    for dialect in DIALECTS {
        let mut client = XdsClient::connect(dialect, weir.address(), &node("n")).await;
        client.subscribe(type_url("cds"), &[]);
        assert_eq!(client.accept(type_url("cds")).await.names(), ["a", "b"], "{dialect:?}");
        client.subscribe(type_url("eds"), &["b"]);
        assert_eq!(client.accept(type_url("eds")).await.names(), ["b"], "{dialect:?}");
        // Sovereign has one version for whatever is named, so that this one must not be stated for it.
        client.subscribe(type_url("eds"), &["c"]);
        assert!(client.accept(type_url("eds")).await.names().contains(&"c"), "{dialect:?}");
        clients.push(client);
    }
    sovereign.set("clusters", &[static_cluster("a", &["127.0.0.1:2".parse().unwrap()]), eds_cluster("b")]);
    for client in &mut clients {
        let changed = client.accept(type_url("cds")).await;
        assert!(changed.names().contains(&"a"), "{:?}", client.dialect());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r01_a_client_that_polls_gets_what_sovereign_is_polled_for() {
    let sovereign = Sovereign::start(&[eds_cluster("a")], &[]).await;
    let weir = weir(&sovereign).await;
    let mut client = RestClient::connect(weir.address(), &node("n")).await;
    let first = client.changed("clusters", &[], &[]).await;
    assert_eq!(first.names(), ["a"]);
    assert!(client.poll("clusters", &[], &[]).await.is_none());
    sovereign.set("clusters", &[eds_cluster("a"), eds_cluster("b")]);
    assert_eq!(client.changed("clusters", &[], &[]).await.names(), ["a", "b"]);
}
