//! Errors: e04, and what clients do wrong (e05). What upstreams do wrong (e03) is in `upstream`.

use bytes::Bytes;
use prost::Message as _;
use tonic::{Code, Status};
use weir_testkit::client::DIALECTS;
use weir_testkit::constraints::locator;
use weir_testkit::{Dialect, Published, XdsClient, node, type_url};
use weir_wire::discovery::{DeltaDiscoveryRequest, DiscoveryRequest};

use crate::observed;
use crate::proxy::{Proxy, Settings, in_each_dialect, in_each_dialect_with};
use crate::raw;

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
    settings.downstream.limits.name_length = 100;
    settings.downstream.limits.names = 10;
    settings.downstream.limits.message = 4096;
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
async fn e05_a_message_over_the_limit_ends_the_stream() {
    let large = Bytes::from(vec![0x0a; 5000]);
    in_each_dialect_with(tight, async |proxy, mut other| {
        let status = raw::send(other.dialect(), proxy.address(), large.clone()).await;
        assert_status(&status, Code::ResourceExhausted, &["5000 bytes", "limit of 4096"]);
        nobody_else_is_affected(&proxy, &mut other).await;
    })
    .await;
}
