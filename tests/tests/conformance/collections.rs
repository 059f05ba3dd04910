//! Wildcards and names: w01 and w02. What travels on which upstream stream is proved in `upstream`.

use weir_testkit::client::DIALECTS;
use weir_testkit::constraints::{locator, value};
use weir_testkit::{Published, node, type_url};
use weir_types::Provenance;

use crate::proxy::{Proxy, brought_by, env_from_metadata, in_each_dialect};

#[tokio::test]
async fn w01_a_wildcard_never_receives_what_only_a_name_brought() {
    for type_url in ["cds", "lds", "acme"].map(type_url) {
        in_each_dialect(async |proxy, mut wildcard| {
            let brought = |provenance, name, text| {
                proxy.database.commit(brought_by(provenance, &[Published::text(type_url, name, text)]));
            };
            let mut named = proxy.client(wildcard.dialect()).await;
            wildcard.subscribe(type_url, &[]);
            wildcard.accept(type_url).await;
            named.subscribe(type_url, &["only named", "both"]);
            for answer in named.drain().await {
                named.ack(&answer);
            }
            brought(Provenance::Named, "only named", "1");
            assert!(named.accept(type_url).await.names().contains(&"only named"));
            brought(Provenance::Wildcard, "both", "1");
            assert!(named.accept(type_url).await.names().contains(&"both"), "a wildcard answers names too");
            assert_eq!(wildcard.accept(type_url).await.names(), ["both"]);
            brought(Provenance::Named, "only named", "2");
            wildcard.expect_nothing().await;
        })
        .await;
    }
}

#[tokio::test]
async fn w02_the_wildcards_of_two_parameter_sets_are_two_sets() {
    let cds = type_url("cds");
    let of = |name, env| Published::text(cds, name, env).constrained(value("env", env));
    for dialect in DIALECTS {
        let proxy = Proxy::start_with(env_from_metadata).await;
        proxy.origin.set_all([
            of("a", "prod"),
            of("a", "test"),
            of("b", "test"),
            Published::text(cds, "c", "all"),
        ]);
        for (env, wanted) in [("prod", &["a", "c"][..]), ("test", &["a", "b", "c"]), ("dev", &["c"])] {
            let mut plain = proxy.client_of(dialect, &node("n").metadata("env", env)).await;
            plain.subscribe(cds, &[]);
            let mut located = proxy.client(dialect).await;
            located.locate(cds, &[locator("*", &[("env", env)])]);
            for client in [&mut plain, &mut located] {
                let received = client.accept(cds).await;
                assert_eq!(received.names(), wanted);
                assert!(received.texts().iter().all(|(_, text)| text == "all" || text == env));
            }
        }
    }
}

#[tokio::test]
async fn w02_what_changes_for_one_set_does_not_reach_the_other() {
    let cds = type_url("cds");
    let of = |env, text| Published::text(cds, "a", text).constrained(value("env", env));
    in_each_dialect(async |proxy, mut prod| {
        let mut test = proxy.client(prod.dialect()).await;
        proxy.origin.set_all([of("prod", "1"), of("test", "1")]);
        for (client, env) in [(&mut prod, "prod"), (&mut test, "test")] {
            client.locate(cds, &[locator("*", &[("env", env)])]);
            client.accept(cds).await;
        }
        proxy.origin.set(of("test", "2"));
        assert_eq!(test.accept(cds).await.resource("a").text(), "2");
        prod.expect_nothing().await;
    })
    .await;
}
