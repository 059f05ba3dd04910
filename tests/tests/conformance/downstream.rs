//! Downstream, all variants of the protocol: d02 to d12.

use std::collections::HashSet;
use std::future::ready;
use std::net::SocketAddr;
use std::time::Instant;

use bytes::Bytes;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tonic::Code;
use weir_config::PositiveDuration;
use weir_database::{Database, DemandChange};
use weir_testkit::client::DIALECTS;
use weir_testkit::wait::until;
use weir_testkit::{Dialect, Published, XdsClient, node, type_url};
use weir_wire::discovery::{DeltaDiscoveryRequest, DiscoveryRequest};

use crate::observed;
use crate::proxy::{IDLE, Origin, Proxy, Settings, env_from_metadata, in_each_dialect, in_each_dialect_with};

#[tokio::test]
async fn d02_a_type_that_weir_does_not_know_works_over_ads() {
    let acme = type_url("acme");
    in_each_dialect(async |proxy, mut client| {
        let widget = Published::new(acme, "w", b"\x0a\x01w and what no schema knows".to_vec());
        proxy.origin.set_all([widget.clone(), Published::text(acme, "other", "")]);
        client.subscribe(acme, &["w"]);
        assert_eq!(client.accept(acme).await.resources[0].body, widget.body);
        proxy.origin.set(Published::text(acme, "w", "1"));
        assert_eq!(client.accept(acme).await.texts(), [("w".to_owned(), "1".to_owned())]);

        let mut wildcard = proxy.client(client.dialect()).await;
        wildcard.subscribe(acme, &[]);
        assert_eq!(wildcard.accept(acme).await.names(), ["other", "w"]);

        proxy.origin.remove(acme, "other");
        proxy.origin.set(Published::text(acme, "w", "2"));
        assert_eq!(client.accept(acme).await.resource("w").text(), "2");
    })
    .await;
}

#[tokio::test]
async fn d03_the_node_is_taken_from_the_first_message_and_not_even_decoded_later() {
    let rds = type_url("rds");
    for dialect in DIALECTS {
        let proxy = Proxy::start_with(env_from_metadata).await;
        proxy.origin.set_all(["prod", "test"].map(|env| variant_for(rds, "r", env)));
        proxy.origin.set_all(["prod", "test"].map(|env| variant_for(rds, "s", env)));
        let prod = node("d03").metadata("env", "prod").as_large_as_envoy();
        let mut client = proxy.client_of(dialect, &prod).await;
        client.subscribe(rds, &["r"]);
        assert_eq!(client.accept(rds).await.resource("r").text(), "prod");

        let malformed = Bytes::from_static(b"\xff\xff\xff");
        let other = node("d03").metadata("env", "test").encode();
        for (names, node) in [(["s"], malformed), (["r"], other)] {
            subscribe_with_node(&mut client, rds, &names, node);
            assert_eq!(client.accept(rds).await.resource(names[0]).text(), "prod");
        }
    }
}

fn variant_for(type_url: &str, name: &str, env: &str) -> Published {
    Published::text(type_url, name, env).constrained(weir_testkit::constraints::value("env", env))
}

fn subscribe_with_node(client: &mut XdsClient, type_url: &str, names: &[&str], node: Bytes) {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    let (type_url, node) = (type_url.to_owned(), Some(node));
    match client.dialect() {
        Dialect::Sotw => client.send_sotw(DiscoveryRequest {
            type_url,
            node,
            resource_names: names,
            ..DiscoveryRequest::default()
        }),
        Dialect::Delta => client.send_delta(DeltaDiscoveryRequest {
            type_url,
            node,
            resource_names_subscribe: names,
            ..DeltaDiscoveryRequest::default()
        }),
    }
}

#[tokio::test]
async fn d04_a_request_without_a_type_is_refused_in_words_that_say_what_to_fix() {
    in_each_dialect(async |_proxy, mut client| {
        client.subscribe("", &["a"]);
        let status = client.closed().await;
        assert_eq!(status.code(), tonic::Code::InvalidArgument);
        assert!(status.message().starts_with("type_url is empty"), "{status}");
    })
    .await;
}

#[tokio::test]
async fn d05_nonces_are_unique_per_stream_and_type() {
    let types = ["cds", "rds"].map(type_url);
    in_each_dialect(async |proxy, mut client| {
        let mut seen = HashSet::new();
        let mut note = |nonce: &str, type_url: &str| {
            assert!(!nonce.is_empty());
            assert!(seen.insert((type_url.to_owned(), nonce.to_owned())), "{nonce} was there before");
        };
        for type_url in types {
            proxy.origin.set(Published::text(type_url, "a", "0"));
            client.subscribe(type_url, &["a"]);
            note(&client.accept(type_url).await.nonce, type_url);
        }
        for round in 1..5 {
            for type_url in types {
                proxy.origin.set(Published::text(type_url, "a", &round.to_string()));
                note(&client.accept(type_url).await.nonce, type_url);
                // Asked for again without a change: the same content under a nonce of its own.
                match client.dialect() {
                    Dialect::Sotw => client.ask_again(type_url),
                    Dialect::Delta => client.subscribe(type_url, &["a"]),
                }
                note(&client.accept(type_url).await.nonce, type_url);
            }
        }
    })
    .await;
}

#[tokio::test]
async fn d05_a_nack_is_what_has_an_error_detail_whatever_its_version() {
    let cds = type_url("cds");
    for dialect in DIALECTS {
        let proxy = Proxy::start().await;
        let id = format!("d05-{dialect:?}");
        let mut client = proxy.client_of(dialect, &node(&id)).await;
        proxy.origin.set(Published::text(cds, "a", "1"));
        client.subscribe(cds, &[]);
        let first = client.receive().await;
        match dialect {
            // An old version alone is no rejection.
            Dialect::Sotw => client.send_sotw(DiscoveryRequest {
                type_url: cds.to_owned(),
                version_info: "an older one".to_owned(),
                response_nonce: first.nonce.clone(),
                ..DiscoveryRequest::default()
            }),
            Dialect::Delta => client.ack(&first),
        }
        client.expect_nothing().await;
        assert!(observed::warnings(&[("node", &id)]).is_empty(), "an acceptance is no rejection");

        proxy.origin.set(Published::text(cds, "a", "2"));
        let second = client.receive().await;
        // Even with the version of the rejected response, an error is a rejection.
        client.ack(&first);
        client.nack(&second, "no such thing");
        let warning = observed::warning(&[("node", &id), ("message", "client rejected a response")]).await;
        assert_eq!(warning["nonce"], *second.nonce);
        assert_eq!(observed::warnings(&[("node", &id)]).len(), 1);
    }
}

#[tokio::test]
async fn d06_a_nack_is_not_answered_with_the_same_content_and_the_next_change_is_sent() {
    in_each_dialect(async |proxy, mut client| {
        for short in ["cds", "eds"] {
            let type_url = type_url(short);
            proxy.origin.set(Published::text(type_url, "a", "bad"));
            client.subscribe(type_url, &["a"]);
            let received = client.receive_type(type_url).await;
            client.nack(&received, "bad");
            client.expect_nothing().await;

            proxy.origin.set(Published::text(type_url, "a", "good"));
            assert_eq!(client.accept(type_url).await.resource("a").text(), "good");
            client.expect_nothing().await;
        }
    })
    .await;
}

#[tokio::test]
async fn d07_what_does_not_exist_yet_is_pushed_when_it_appears() {
    in_each_dialect(async |proxy, mut client| {
        for short in ["cds", "lds", "rds", "eds", "acme"] {
            let type_url = type_url(short);
            client.subscribe(type_url, &["late"]);
            match client.dialect() {
                Dialect::Delta => assert_eq!(client.accept(type_url).await.removed, ["late"]),
                Dialect::Sotw => {
                    let sent = client.accept(type_url).await;
                    assert!(sent.resources.is_empty());
                    assert_eq!(sent.error_codes(), [("late", Code::NotFound)]);
                }
            }
            proxy.origin.set(Published::text(type_url, "late", "now"));
            assert_eq!(client.accept(type_url).await.resource("late").text(), "now");
        }
    })
    .await;
}

#[tokio::test]
async fn d08_nothing_is_sent_when_nothing_has_changed() {
    let types = ["cds", "eds", "lds", "rds"].map(type_url);
    in_each_dialect(async |proxy, mut client| {
        for type_url in types {
            proxy.origin.set(Published::text(type_url, "a", "1").version("1"));
            client.subscribe(type_url, &["a"]);
            client.accept(type_url).await;
        }
        proxy.origin.repeat();
        client.expect_nothing().await;
        for type_url in types {
            proxy.origin.set(Published::text(type_url, "a", "1").version("2"));
            proxy.origin.set(Published::text(type_url, "not subscribed", "1"));
        }
        client.expect_nothing().await;
    })
    .await;
}

#[tokio::test]
async fn d09_a_slow_client_delays_nobody_and_gets_one_coalesced_state() {
    const CHANGES: usize = 1500;
    const SIZE: usize = 32 << 10;
    let lds = type_url("lds");
    for dialect in DIALECTS {
        let proxy = Proxy::start().await;
        let large = |i: usize| Published::text(lds, "l", &format!("{i:0SIZE$}"));
        proxy.origin.set(large(0));
        let mut slow = proxy.client(dialect).await;
        let mut other = proxy.client(dialect).await;
        for client in [&mut slow, &mut other] {
            client.subscribe(lds, &["l"]);
            client.accept(lds).await;
        }
        // In step with the changes: one that were held up by the slow client would never get here.
        for i in 1..=CHANGES {
            proxy.origin.set(large(i));
            let received = other.accept(lds).await;
            assert_eq!(received.resource("l").body, large(i).body);
        }
        let backlog = slow.drain().await;
        let newest = backlog.last().expect("the slow client has missed something");
        assert_eq!(newest.resource("l").body, large(CHANGES).body);
        let bytes: usize = backlog.iter().map(|received| received.bytes).sum();
        // What the transport buffers in between is a few megabytes, whatever the number of changes.
        assert!(bytes < CHANGES * SIZE / 4, "{} responses, {bytes} bytes", backlog.len());
    }
}

/// A proxy whose demand the test itself takes, and that finds out soon who is dead.
async fn attentive_proxy() -> Proxy {
    let Settings { server: mut settings, .. } = Settings::default();
    settings.downstream.keepalive_interval = PositiveDuration::seconds::<1>();
    settings.downstream.keepalive_timeout = PositiveDuration::seconds::<1>();
    let database = Database::new(weir_database::Settings { idle: IDLE, ..Default::default() });
    Proxy::serve(settings, database.clone(), Origin::idle(&database)).await
}

/// A client that is subscribed to two things.
async fn subscriber(proxy: &Proxy, dialect: Dialect, address: SocketAddr) -> XdsClient {
    let mut client = XdsClient::connect(dialect, address, &node("d10")).await;
    client.subscribe(type_url("cds"), &["*", "a"]);
    until("the demand", || ready((proxy.database.take_demand().len() == 2).then_some(()))).await;
    client
}

/// Waits until the demand of a [`subscriber`] is given up.
async fn wait_for_idleness(proxy: &Proxy) {
    let mut now = Instant::now();
    let mut dropped = 0;
    until("all demand to be dropped", || {
        now += IDLE;
        proxy.database.sweep(now);
        let changes = proxy.database.take_demand();
        dropped += changes.iter().filter(|change| matches!(change, DemandChange::Dropped(..))).count();
        ready((dropped == 2).then_some(()))
    })
    .await;
}

#[tokio::test]
async fn d10_a_client_that_resets_its_stream_leaves_nothing_behind() {
    for dialect in DIALECTS {
        let proxy = attentive_proxy().await;
        drop(subscriber(&proxy, dialect, proxy.address()).await);
        wait_for_idleness(&proxy).await;
    }
}

#[tokio::test]
async fn d10_a_client_that_ends_its_requests_leaves_nothing_behind() {
    for dialect in DIALECTS {
        let proxy = attentive_proxy().await;
        let mut client = subscriber(&proxy, dialect, proxy.address()).await;
        client.finish();
        assert_eq!(client.closed().await.code(), tonic::Code::Ok);
        wait_for_idleness(&proxy).await;
    }
}

#[tokio::test]
async fn d10_a_dead_peer_is_found_out_and_leaves_nothing_behind() {
    for dialect in DIALECTS {
        let proxy = attentive_proxy().await;
        let (address, freeze) = relay(proxy.address()).await;
        let _client = subscriber(&proxy, dialect, address).await;
        freeze.send(()).expect("the relay runs");
        wait_for_idleness(&proxy).await;
    }
}

/// Passes everything on in both directions, until it freezes: then nothing any more, without closing anything.
async fn relay(server: SocketAddr) -> (SocketAddr, oneshot::Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a bound socket has an address");
    let (freeze, frozen) = oneshot::channel();
    tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.expect("the client connects");
        let mut server = TcpStream::connect(server).await.expect("the proxy listens");
        tokio::select! {
            _ = tokio::io::copy_bidirectional(&mut client, &mut server) => {}
            _ = frozen => std::future::pending().await,
        }
    });
    (address, freeze)
}

#[tokio::test]
async fn d11_responses_name_the_instance() {
    let name = |settings: &mut Settings| settings.server.identifier = "weir-7".to_owned();
    in_each_dialect_with(name, async |proxy, mut client| {
        for short in ["cds", "rds"] {
            proxy.origin.set(Published::text(type_url(short), "a", "1"));
            client.subscribe(type_url(short), &["a"]);
            assert_eq!(client.accept(type_url(short)).await.control_plane, "weir-7");
        }
    })
    .await;
}

#[tokio::test]
async fn d12_contents_are_not_judged_and_pass_byte_for_byte() {
    in_each_dialect(async |proxy, mut client| {
        for short in ["cds", "lds", "eds", "rds"] {
            // No Envoy would take this.
            let nonsense =
                Published::new(type_url(short), "a", b"\x0a\x01a\xff\xff\xff\xff not protobuf".to_vec());
            proxy.origin.set(nonsense.clone());
            client.subscribe(type_url(short), &["a"]);
            let received = client.accept(type_url(short)).await;
            assert_eq!(received.resources.len(), 1);
            assert_eq!(received.resources[0].body, nonsense.body);
        }
    })
    .await;
}
