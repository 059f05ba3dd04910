//! REST-JSON over a real port, and through two Weirs.

use serde_json::json;
use weir_testkit::constraints::value;
use weir_testkit::process::Weir;
use weir_testkit::{FakeControlPlane, Published, RestClient, XdsClient, node, type_url};
use weir_wire::discovery::ResourceLocator;

fn cluster(text: &str) -> Published {
    Published::text(type_url("cds"), "a", text)
}

fn locator(env: &str) -> ResourceLocator {
    ResourceLocator { name: "a".to_owned(), dynamic_parameters: [("env".to_owned(), env.to_owned())].into() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r01_polls_and_streams_get_the_same_on_one_port() {
    let control_plane = FakeControlPlane::start_tp2().await;
    control_plane.set_all([
        cluster("1").constrained(value("env", "prod")),
        cluster("2").constrained(value("env", "test")),
    ]);
    let weir = Weir::builder().upstream(&control_plane, "ads-delta", "native").start().await;
    let mut stream = XdsClient::sotw(weir.address(), &node("stream")).await;
    stream.locate(type_url("cds"), &[locator("prod")]);
    let streamed = stream.accept(type_url("cds")).await;
    let mut client = RestClient::connect(weir.address(), &node("poll")).await;
    let polled = client.changed("clusters", &[], &[locator("prod")]).await;
    assert_eq!(polled.resources, streamed.resources);
    assert_eq!(polled.version, streamed.version);
    control_plane.set(cluster("3").constrained(value("env", "prod")));
    let polled = client.changed("clusters", &[], &[locator("prod")]).await;
    assert_eq!(polled.resource("a").text(), "3");
    assert_eq!(polled.resources, stream.accept(type_url("cds")).await.resources);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r02_a_malformed_poll_is_answered_by_what_is_wrong_with_it_and_where() {
    let weir = Weir::builder().resources(&[]).start().await;
    let mut client = RestClient::connect(weir.address(), &node("n")).await;
    for (path, body, wanted) in [
        ("clusters", "{\"resource_names\": [7]}", "$.resource_names[0]: invalid type: integer `7`"),
        ("clusters", "{\"type_url\": \"acme\"}", "$.type_url: \"acme\" is not the type of"),
        ("widgets", "{}", "/v3/discovery:widgets: no such resource type"),
    ] {
        let (status, answer) = client.post_json(path, body).await;
        assert_eq!((status, &answer["code"]), (400, &json!(3)));
        assert!(answer["message"].as_str().is_some_and(|stated| stated.starts_with(wanted)), "{answer}");
    }
    // The connection is as good as before.
    assert_eq!(client.changed("clusters", &[], &[]).await.resources, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p16_a_weir_that_polls_a_weir_shows_the_same_variants() {
    let control_plane = FakeControlPlane::start_tp2().await;
    let prod = |text| cluster(text).constrained(value("env", "prod"));
    control_plane.set(prod("1"));
    let inner = Weir::builder().upstream(&control_plane, "ads-sotw", "native").start().await;
    let polls = format!(
        "[[upstream]]\nendpoints = [\"http://{}\"]\nprotocol = \"rest\"\ndynamic_parameters = \"native\"\n\
         refresh_interval = \"20ms\"\nrefresh_jitter = \"0ms\"\n",
        inner.address()
    );
    let outer = Weir::builder().section(&polls).start().await;
    let mut client = XdsClient::delta(outer.address(), &node("n")).await;
    client.locate(type_url("cds"), &[locator("prod")]);
    let first = client.accept(type_url("cds")).await;
    assert_eq!(first.resource("a").constraints, Some(value("env", "prod")));
    control_plane.set(prod("2"));
    assert_eq!(client.accept(type_url("cds")).await.resource("a").text(), "2");
    control_plane.remove(type_url("cds"), "a");
    let removed = client.accept(type_url("cds")).await;
    assert_eq!(removed.removed_variants.iter().map(|name| &*name.name).collect::<Vec<_>>(), ["a"]);
}
