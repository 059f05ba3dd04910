//! Errors: what upstreams do wrong (e03), what clients reject (e04), and what clients do wrong (e05).

use bytes::Bytes;
use prost::Message as _;
use tonic::{Code, Status};
use weir_config::Count;
use weir_testkit::client::DIALECTS;
use weir_testkit::constraints::locator;
use weir_testkit::control_plane::State;
use weir_testkit::wait::until;
use weir_testkit::{Dialect, FakeControlPlane, Published, XdsClient, node, type_url};
use weir_wire::discovery::{DeltaDiscoveryRequest, DiscoveryRequest, DiscoveryResponse};

use crate::observed;
use crate::proxy::{Proxy, Settings, in_each_dialect, in_each_dialect_with};
use crate::raw;
use crate::upstream::{delta, with_two};
use crate::weir::{Uses, Weir};

/// Bytes that begin like a wrapper of `name` and hold something that is no `Any`.
fn undecodable(name: &str) -> Bytes {
    let mut resource = Published::text(type_url("cds"), name, "").wrapped(false);
    resource.resource = Some(Bytes::from_static(b"\x0a\xff\xff"));
    resource.encode_to_vec().into()
}

#[tokio::test]
async fn e03_the_good_resources_are_applied_and_one_nack_names_each_bad_one() {
    let cds = type_url("cds");
    for downstream in DIALECTS {
        let (control_plane, weir, mut client) = with_two(cds, downstream).await;
        let foreign =
            Published { type_url: cds.to_owned(), ..Published::text(type_url("lds"), "foreign", "") };
        let twice = Published::text(cds, "twice", "");
        let mut response = delta(cds, [Published::text(cds, "b", "2"), foreign, twice.clone(), twice]);
        response.resources.push(undecodable("a"));
        control_plane.inject_delta(response);

        assert_eq!(client.accept(cds).await.resource("b").text(), "2");
        let nack = control_plane.wait_for_request("a NACK", |request| request.error.is_some()).await;
        let message = nack.error.expect("it is a NACK").message;
        for part in ["a: malformed", "foreign: the body is of type", "twice"] {
            assert!(message.contains(part), "{part:?} is missing in {message}");
        }
        client.expect_nothing().await;
        let answers = |state: &State| state.requests.iter().filter(|r| r.nonce == "injected").count();
        assert_eq!(control_plane.look(answers), 1);
        let mut late = weir.client(downstream, "prod").await;
        late.subscribe(cds, &["a"]);
        assert_eq!(late.accept(cds).await.resource("a").text(), "1", "the last good content stays");
    }
}

#[tokio::test]
async fn e03_a_bad_resource_is_rejected_in_sotw_too() {
    let rds = type_url("rds");
    for downstream in DIALECTS {
        let control_plane = FakeControlPlane::start().await;
        let weir = Weir::start(control_plane.address(), Dialect::Sotw, Uses::Nodes).await;
        control_plane.set_all(["a", "b"].map(|name| Published::text(rds, name, "1")));
        let mut client = weir.client(downstream, "prod").await;
        client.subscribe(rds, &["a"]);
        client.accept(rds).await;
        let body = |published: Published| published.body.expect("a text has a body");
        let foreign = Published::text(type_url("lds"), "b", "");
        control_plane.inject_sotw(DiscoveryResponse {
            type_url: rds.to_owned(),
            version_info: "injected".to_owned(),
            nonce: "injected".to_owned(),
            resources: vec![body(foreign), body(Published::text(rds, "a", "2"))],
            ..DiscoveryResponse::default()
        });
        assert_eq!(client.accept(rds).await.resource("a").text(), "2");
        let nack = control_plane.wait_for_request("a NACK", |request| request.error.is_some()).await;
        assert_eq!(nack.nonce, "injected");
        assert_ne!(nack.version, "injected", "the version stays the last good one");
        assert!(nack.error.expect("it is a NACK").message.contains("b: the body is of type"));
    }
}

#[tokio::test]
async fn e04_a_rejection_is_logged_with_the_node_and_the_message_and_counted() {
    let cds = type_url("cds");
    for dialect in DIALECTS {
        let proxy = Proxy::start().await;
        let id = format!("e04-{dialect:?}");
        let mut client = proxy.client_of(dialect, &node(&id).cluster("edge")).await;
        let counted = observed::metric("weir_downstream_nacks_total");
        proxy.origin.set(Published::text(cds, "a", "1"));
        client.subscribe(cds, &[]);
        let received = client.receive().await;
        client.nack(&received, "a: cannot create an EDS cluster without an EDS config");

        let warning = observed::warning(&[("node", &id)]).await;
        assert_eq!(warning["message"], "client rejected a response");
        assert_eq!(warning["reason"], "a: cannot create an EDS cluster without an EDS config");
        assert_eq!((&warning["type_url"], &warning["cluster"]), (&cds.into(), &"edge".into()));
        assert_eq!((&warning["nonce"], &warning["code"]), (&received.nonce.into(), &3.into()));
        assert!(observed::metric("weir_downstream_nacks_total") > counted);
    }
}

/// Whether another client is served as if nothing had happened.
async fn nobody_else_is_affected(proxy: &Proxy, other: &mut XdsClient) {
    let rds = type_url("rds");
    proxy.origin.set(Published::text(rds, "unaffected", "1"));
    other.subscribe(rds, &["unaffected"]);
    assert_eq!(other.accept(rds).await.names(), ["unaffected"]);
    proxy.origin.set(Published::text(rds, "unaffected", "2"));
    assert_eq!(other.accept(rds).await.resource("unaffected").text(), "2");
}

fn assert_status(status: &Status, code: Code, parts: &[&str]) {
    assert_eq!(status.code(), code, "{status}");
    for part in parts {
        assert!(status.message().contains(part), "{part:?} is missing in {status}");
    }
}

#[tokio::test]
async fn e05_malformed_protobuf_ends_the_stream() {
    in_each_dialect(async |proxy, mut other| {
        let malformed = Bytes::from_static(b"\x0a\xff\xff\xff\xff no request");
        let status = raw::send(other.dialect(), proxy.address(), malformed).await;
        assert_status(&status, Code::Internal, &["decode"]);
        nobody_else_is_affected(&proxy, &mut other).await;
    })
    .await;
}

#[tokio::test]
async fn e05_a_malformed_node_ends_the_stream() {
    let malformed = Some(Bytes::from_static(b"\x0a\xff"));
    in_each_dialect(async |proxy, mut other| {
        let (type_url, node) = (type_url("cds").to_owned(), malformed.clone());
        let request = match other.dialect() {
            Dialect::Sotw => DiscoveryRequest { type_url, node, ..Default::default() }.encode_to_vec(),
            Dialect::Delta => DeltaDiscoveryRequest { type_url, node, ..Default::default() }.encode_to_vec(),
        };
        let status = raw::send(other.dialect(), proxy.address(), request.into()).await;
        assert_status(&status, Code::InvalidArgument, &["node is malformed"]);
        nobody_else_is_affected(&proxy, &mut other).await;
    })
    .await;
}

#[tokio::test]
async fn e05_a_request_without_a_type_ends_the_stream() {
    in_each_dialect(async |proxy, mut client| {
        let mut other = proxy.client(client.dialect()).await;
        client.subscribe("", &[]);
        assert_status(&client.closed().await, Code::InvalidArgument, &["type_url is empty"]);
        nobody_else_is_affected(&proxy, &mut other).await;
    })
    .await;
}

fn tight(settings: &mut Settings) {
    settings.server.limits.max_name_length = Count::of::<100>();
    settings.server.limits.max_node_size = 1000.try_into().expect("a size");
    settings.server.limits.max_names = Count::of::<10>();
    settings.server.downstream.max_request_size = 4096.try_into().expect("a size");
}

#[tokio::test]
async fn e05_a_name_over_the_limit_ends_the_stream() {
    let long = "x".repeat(101);
    in_each_dialect_with(tight, async |proxy, mut other| {
        for by_locator in [false, true] {
            let mut client = proxy.client(other.dialect()).await;
            match by_locator {
                false => client.subscribe(type_url("eds"), &["a", &long]),
                true => client.locate(type_url("eds"), &[locator(&long, &[])]),
            }
            assert_status(&client.closed().await, Code::InvalidArgument, &["101 bytes", "limit of 100"]);
        }
        nobody_else_is_affected(&proxy, &mut other).await;
    })
    .await;
}

#[tokio::test]
async fn e05_whatever_else_a_client_names_has_the_same_limit() {
    let long = "x".repeat(101);
    in_each_dialect_with(tight, async |proxy, mut other| {
        let mut client = proxy.client(other.dialect()).await;
        client.locate(type_url("eds"), &[locator("a", &[("key", &long)])]);
        let parts = ["dynamic parameters", "104 bytes", "limit of 100", "limits.max_name_length"];
        assert_status(&client.closed().await, Code::InvalidArgument, &parts);
        let mut client = proxy.client(other.dialect()).await;
        client.subscribe(&format!("type.googleapis.com/{long}"), &["a"]);
        assert_status(
            &client.closed().await,
            Code::InvalidArgument,
            &["type_url of 121 bytes", "limit of 100"],
        );
        let nodes = [
            ("node.id", node(&long)),
            ("node.cluster", node("n").cluster(&long)),
            ("node.user_agent_name", node("n").user_agent(&long)),
        ];
        for (what, node) in nodes {
            let mut client = proxy.client_of(other.dialect(), &node).await;
            client.subscribe(type_url("eds"), &["a"]);
            let parts = [what, "101 bytes", "limit of 100", "limits.max_name_length"];
            assert_status(&client.closed().await, Code::InvalidArgument, &parts);
        }
        nobody_else_is_affected(&proxy, &mut other).await;
    })
    .await;
}

#[tokio::test]
async fn e05_a_node_over_the_limit_ends_the_stream() {
    in_each_dialect_with(tight, async |proxy, mut other| {
        let large = node("n").metadata("notes", &"x".repeat(1000));
        let mut client = proxy.client_of(other.dialect(), &large).await;
        client.subscribe(type_url("eds"), &["a"]);
        let parts = ["node has 10", "limit of 1000", "limits.max_node_size"];
        assert_status(&client.closed().await, Code::InvalidArgument, &parts);
        nobody_else_is_affected(&proxy, &mut other).await;
    })
    .await;
}

#[tokio::test]
async fn e05_a_request_of_many_fields_is_refused_before_it_is_read() {
    let adjust = |settings: &mut Settings| settings.server.limits.max_names = Count::of::<10>();
    in_each_dialect_with(adjust, async |proxy, mut other| {
        // Empty names, of two bytes each.
        let names = Bytes::from([0x1a, 0].repeat(2000));
        let status = raw::send(other.dialect(), proxy.address(), names).await;
        assert_status(&status, Code::ResourceExhausted, &["more than 1080 fields", "limits.max_names"]);
        nobody_else_is_affected(&proxy, &mut other).await;
    })
    .await;
}

#[tokio::test]
async fn e05_too_many_names_end_the_stream() {
    let names: Vec<_> = (0..11).map(|i| format!("name-{i}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    in_each_dialect_with(tight, async |proxy, mut other| {
        let mut client = proxy.client(other.dialect()).await;
        client.subscribe(type_url("eds"), &names);
        assert_status(&client.closed().await, Code::ResourceExhausted, &["11 names", "limit of 10"]);
        nobody_else_is_affected(&proxy, &mut other).await;
    })
    .await;
}

#[tokio::test]
async fn e05_too_many_names_over_all_types_end_the_stream() {
    let six: Vec<_> = ["a", "b", "c", "d", "e", "f"].to_vec();
    let adjust = |settings: &mut Settings| settings.server.limits.max_names_per_stream = Count::of::<10>();
    in_each_dialect_with(adjust, async |proxy, mut other| {
        let mut client = proxy.client(other.dialect()).await;
        proxy.origin.set_all(six.iter().map(|name| Published::text(type_url("eds"), name, "1")));
        proxy.origin.set_all(six.iter().map(|name| Published::text(type_url("rds"), name, "1")));
        client.subscribe(type_url("eds"), &six);
        assert_eq!(client.accept(type_url("eds")).await.names().len(), 6);
        client.subscribe(type_url("rds"), &six[..4]);
        assert_eq!(client.accept(type_url("rds")).await.names().len(), 4, "as many as there may be");
        // Asking again takes nothing.
        client.subscribe(type_url("rds"), &six[..4]);
        assert_eq!(client.receive().await.type_url, type_url("rds"));
        client.subscribe(type_url("rds"), &six[..5]);
        let parts = ["11 names", "limit of 10", "limits.max_names_per_stream"];
        assert_status(&client.closed().await, Code::ResourceExhausted, &parts);
        nobody_else_is_affected(&proxy, &mut other).await;
    })
    .await;
}

#[tokio::test]
async fn e05_types_without_names_count_too_and_made_up_ones_leave_nothing() {
    let adjust = |settings: &mut Settings| settings.server.limits.max_names_per_stream = Count::of::<10>();
    in_each_dialect_with(adjust, async |proxy, mut other| {
        let before = proxy.database.statistics_by_type().len();
        let mut client = proxy.client(other.dialect()).await;
        for i in 0..11 {
            client.subscribe(&format!("type.googleapis.com/made.up.Type{i}"), &[]);
        }
        assert_status(&client.closed().await, Code::ResourceExhausted, &["11 names", "limit of 10"]);
        nobody_else_is_affected(&proxy, &mut other).await;
        let now = std::time::Instant::now();
        until("the types to be forgotten", async || {
            proxy.database.sweep(now);
            proxy.database.sweep(now + crate::proxy::IDLE);
            (proxy.database.statistics_by_type().len() <= before + 1).then_some(())
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn e05_too_many_types_end_the_stream() {
    let adjust = |settings: &mut Settings| settings.server.limits.max_types_per_stream = Count::of::<3>();
    in_each_dialect_with(adjust, async |proxy, mut other| {
        let mut client = proxy.client(other.dialect()).await;
        for i in [0, 1, 2, 0, 3] {
            client.subscribe(&format!("type.googleapis.com/made.up.Type{i}"), &["a"]);
        }
        let parts = ["4 types", "limit of 3", "limits.max_types_per_stream"];
        assert_status(&client.closed().await, Code::ResourceExhausted, &parts);
        nobody_else_is_affected(&proxy, &mut other).await;
    })
    .await;
}

#[tokio::test]
async fn e05_too_many_locators_of_one_name_end_the_stream() {
    let adjust = |settings: &mut Settings| settings.server.limits.max_locators_per_name = Count::of::<3>();
    in_each_dialect_with(adjust, async |proxy, mut other| {
        let of = |name: &str, n: usize| locator(name, &[("env", &n.to_string())]);
        let mut client = proxy.client(other.dialect()).await;
        client.locate(type_url("eds"), &[of("a", 0), of("a", 1), of("a", 2), of("b", 0)]);
        // Asking again takes nothing, and what is given up leaves room.
        client.locate(type_url("eds"), &[of("a", 0), of("b", 1), of("b", 2)]);
        client.unlocate(type_url("eds"), &[of("a", 0)]);
        client.locate(type_url("eds"), &[of("a", 3)]);
        client.locate(type_url("eds"), &[of("a", 4)]);
        let parts = ["4 locators of a", "limit of 3", "limits.max_locators_per_name"];
        assert_status(&client.closed().await, Code::ResourceExhausted, &parts);
        nobody_else_is_affected(&proxy, &mut other).await;
    })
    .await;
}

#[tokio::test]
async fn e05_a_message_over_the_limit_ends_the_stream() {
    let large = Bytes::from(vec![0x0a; 5000]);
    in_each_dialect_with(tight, async |proxy, mut other| {
        let status = raw::send(other.dialect(), proxy.address(), large.clone()).await;
        assert_status(&status, Code::ResourceExhausted, &["5000 bytes", "limit of 4096"]);
        nobody_else_is_affected(&proxy, &mut other).await;
    })
    .await;
}
