//! Errors of single resources (`resource_errors`, xRFC TP3): from a control plane to the clients that asked
//! (e01), and as the only way to show state-of-the-world clients what does not exist (e02, p10, w03).

use tonic::Code;
use weir_testkit::client::DIALECTS;
use weir_testkit::constraints::{locator, value, variant};
use weir_testkit::{Dialect, FakeControlPlane, Published, type_url};
use weir_types::Code as ErrorCode;

use crate::observed;
use crate::weir::{Uses, Weir, in_each_dialect};

const KINDS: [Uses; 2] = [Uses::Nodes, Uses::Locators];

/// Those that are full state in state of the world, and those that are not.
const TYPES: [&str; 2] = ["lds", "eds"];

fn failing(short: &str, code: Code) -> Published {
    Published::failing(type_url(short), "a", code, "no luck today")
}

fn text(short: &str, text: &str) -> Published {
    Published::text(type_url(short), "a", text)
}

#[tokio::test]
async fn e01_an_error_reaches_those_who_asked_once_and_who_comes_later() {
    for uses in KINDS {
        in_each_dialect(uses, async |control_plane, weir, ends| {
            for short in TYPES {
                let url = type_url(short);
                control_plane.set(failing(short, Code::Unavailable));
                let mut client = weir.client(ends.downstream, "prod").await;
                client.subscribe(url, &["a"]);
                let sent = client.accept(url).await;
                assert_eq!(sent.error_codes(), [("a", Code::Unavailable)]);
                assert!(sent.resources.is_empty() && sent.removed.is_empty(), "{sent:?}");
                let detail = sent.errors[0].error_detail.clone().expect("it names what is wrong");
                assert_eq!(detail.message, "no luck today");
                client.expect_nothing().await;

                let mut late = weir.client(ends.downstream, "prod").await;
                late.subscribe(url, &["a"]);
                assert_eq!(late.accept(url).await.error_codes(), [("a", Code::Unavailable)]);
                control_plane.set(text(short, "1"));
                for client in [&mut client, &mut late] {
                    let back = client.accept(url).await;
                    assert_eq!((back.resource("a").text(), back.errors.len()), ("1".to_owned(), 0));
                }
                let mut after = weir.client(ends.downstream, "prod").await;
                after.subscribe(url, &["a"]);
                assert_eq!(after.accept(url).await.errors, [], "it is over");
                after.expect_nothing().await;
            }
        })
        .await;
    }
}

#[tokio::test]
async fn e01_what_is_cached_is_served_on_beside_a_transient_error() {
    in_each_dialect(Uses::Nodes, async |control_plane, weir, ends| {
        for short in TYPES {
            let url = type_url(short);
            control_plane.set(text(short, "1"));
            let mut client = weir.client(ends.downstream, "prod").await;
            client.subscribe(url, &["a"]);
            client.accept(url).await;
            control_plane.set(failing(short, Code::Unavailable));
            control_plane.wait_for_ack(url).await;
            // Full state has to repeat the content, beside which TP3 allows no error.
            let repeats = ends.downstream == Dialect::Sotw && short == "lds";
            if !repeats {
                let sent = client.accept(url).await;
                assert_eq!(sent.error_codes(), [("a", Code::Unavailable)]);
                assert!(sent.resources.is_empty() && sent.removed.is_empty(), "{sent:?}");
            }
            client.expect_nothing().await;

            let mut late = weir.client(ends.downstream, "prod").await;
            late.subscribe(url, &["a"]);
            let content = late.accept(url).await;
            assert_eq!((content.resource("a").text(), content.errors.len()), ("1".to_owned(), 0));
            if !repeats {
                assert_eq!(late.accept(url).await.error_codes(), [("a", Code::Unavailable)]);
            }
            late.expect_nothing().await;
            // The same content again ends the error, and clients learn that by the content.
            control_plane.set(text(short, "1"));
            control_plane.wait_for_ack(url).await;
            if !repeats {
                assert_eq!(client.accept(url).await.texts(), [("a".to_owned(), "1".to_owned())]);
            }
            client.expect_nothing().await;
        }
    })
    .await;
}

#[tokio::test]
async fn e01_data_errors_drop_what_is_cached_if_that_is_configured() {
    let kinds =
        [(Code::NotFound, ErrorCode::NOT_FOUND), (Code::PermissionDenied, ErrorCode::PERMISSION_DENIED)];
    for upstream in DIALECTS {
        for downstream in DIALECTS {
            for (code, error) in kinds {
                for drops in [false, true] {
                    let rds = type_url("rds");
                    let control_plane = FakeControlPlane::start().await;
                    let configured = [error].into_iter().filter(|_| drops).collect();
                    let adjust =
                        |settings: &mut weir_upstream::Settings| settings.drop_on_errors = configured;
                    let weir = Weir::start_with(control_plane.address(), upstream, Uses::Nodes, adjust).await;
                    control_plane.set(text("rds", "1"));
                    let mut client = weir.client(downstream, "prod").await;
                    client.subscribe(rds, &["a"]);
                    client.accept(rds).await;
                    control_plane.set(failing("rds", code));
                    let sent = client.accept(rds).await;
                    assert_eq!(sent.error_codes(), [("a", code)], "{upstream:?} {downstream:?} {drops}");
                    let removed: &[&str] = if drops && downstream == Dialect::Delta { &["a"] } else { &[] };
                    assert_eq!(sent.removed, removed);
                    let mut late = weir.client(downstream, "prod").await;
                    late.subscribe(rds, &["a"]);
                    assert_eq!(late.accept(rds).await.resources.len(), usize::from(!drops));
                }
            }
        }
    }
}

#[tokio::test]
async fn e01_an_error_is_for_the_parameters_that_it_is_constrained_to() {
    in_each_dialect(Uses::Locators, async |control_plane, weir, ends| {
        let eds = type_url("eds");
        let (prod, test) = (locator("a", &[("env", "prod")]), locator("a", &[("env", "test")]));
        control_plane.set_all([
            failing("eds", Code::PermissionDenied).constrained(value("env", "prod")),
            text("eds", "1").constrained(value("env", "test")),
        ]);
        let mut client = weir.client(ends.downstream, "none").await;
        client.locate(eds, &[prod]);
        let sent = client.accept(eds).await;
        assert_eq!(sent.error_codes(), [("a", Code::PermissionDenied)]);
        assert_eq!(sent.errors[0].resource_name, Some(variant("a", value("env", "prod"))));
        let mut other = weir.client(ends.downstream, "none").await;
        other.locate(eds, &[test]);
        let content = other.accept(eds).await;
        assert_eq!((content.resource("a").text(), content.errors.len()), ("1".to_owned(), 0));
        client.expect_nothing().await;
        other.expect_nothing().await;
    })
    .await;
}

#[tokio::test]
async fn e01_one_error_holds_up_no_other_resource() {
    in_each_dialect(Uses::Nodes, async |control_plane, weir, ends| {
        for short in TYPES {
            let url = type_url(short);
            control_plane.set_all([failing(short, Code::Unavailable), Published::text(url, "b", "1")]);
            let mut client = weir.client(ends.downstream, "prod").await;
            client.subscribe(url, &["a", "b"]);
            let (mut texts, mut errors) = (Vec::new(), Vec::new());
            while texts.is_empty() || errors.is_empty() {
                let sent = client.accept(url).await;
                texts.extend(sent.texts());
                errors.extend(sent.errors);
            }
            assert_eq!((&*texts[0].0, errors.len()), ("b", 1));
        }
    })
    .await;
}

#[tokio::test]
async fn s11_full_state_is_not_sent_to_a_returning_client_while_a_name_fails() {
    for upstream in DIALECTS {
        let lds = type_url("lds");
        let control_plane = FakeControlPlane::start().await;
        let weir = Weir::start(control_plane.address(), upstream, Uses::Nodes).await;
        control_plane.set_all([failing("lds", Code::Unavailable), Published::text(lds, "b", "1")]);
        let mut client = weir.client(Dialect::Sotw, "prod").await;
        let change = weir_testkit::client::Change {
            names: vec!["a".to_owned(), "b".to_owned()],
            version: Some("of another server".to_owned()),
            ..Default::default()
        };
        client.change(lds, change);
        control_plane.wait_for_ack(lds).await;
        client.expect_nothing().await;
        control_plane.set(text("lds", "1"));
        assert_eq!(client.accept(lds).await.names(), ["a", "b"]);
    }
}

#[tokio::test]
async fn e01_errors_are_logged_and_counted() {
    let control_plane = FakeControlPlane::start().await;
    let weir = Weir::start(control_plane.address(), Dialect::Delta, Uses::Nodes).await;
    let counted = observed::metric("weir_upstream_resource_errors_total");
    let eds = type_url("eds");
    control_plane.set(Published::failing(eds, "logged-error", Code::Unavailable, "no luck today"));
    let mut client = weir.client(Dialect::Delta, "prod").await;
    client.subscribe(eds, &["logged-error"]);
    client.accept(eds).await;
    let warning = observed::warning(&[("name", "logged-error")]).await;
    assert_eq!(warning["message"], "upstream reported an error");
    assert_eq!((&warning["code"], &warning["reason"]), (&"UNAVAILABLE".into(), &"no luck today".into()));
    assert!(observed::metric("weir_upstream_resource_errors_total") > counted);
}

#[tokio::test]
async fn e02_state_of_the_world_clients_learn_by_an_error_what_does_not_exist() {
    for short in TYPES {
        let url = type_url(short);
        let control_plane = FakeControlPlane::start().await;
        let weir = Weir::start(control_plane.address(), Dialect::Delta, Uses::Nodes).await;
        control_plane.set(text(short, "1"));
        let mut client = weir.client(Dialect::Sotw, "prod").await;
        client.subscribe(url, &["missing"]);
        let sent = client.accept(url).await;
        assert_eq!((sent.error_codes(), sent.resources.len()), (vec![("missing", Code::NotFound)], 0));
        client.subscribe(url, &["a"]);
        let sent = client.accept(url).await;
        assert_eq!((sent.names(), sent.error_codes()), (vec!["a"], vec![]), "it is sent once");
        client.subscribe(url, &["missing too"]);
        let sent = client.accept(url).await;
        assert_eq!(sent.error_codes(), [("missing too", Code::NotFound)]);
        let repeated: &[&str] = if short == "lds" { &["a"] } else { &[] };
        assert_eq!(sent.names(), repeated, "full state is whole");
        client.expect_nothing().await;
    }
}

#[tokio::test]
async fn e02_the_end_of_a_plain_name_is_told_where_absence_says_nothing() {
    let eds = type_url("eds");
    let control_plane = FakeControlPlane::start().await;
    let weir = Weir::start(control_plane.address(), Dialect::Delta, Uses::Nodes).await;
    control_plane.set(text("eds", "1"));
    let mut client = weir.client(Dialect::Sotw, "prod").await;
    client.subscribe(eds, &["a"]);
    client.accept(eds).await;
    control_plane.remove(eds, "a");
    assert_eq!(client.accept(eds).await.error_codes(), [("a", Code::NotFound)]);
    control_plane.set(text("eds", "2"));
    assert_eq!(client.accept(eds).await.resource("a").text(), "2");
}

#[tokio::test]
async fn p10_a_locator_that_stops_matching_is_told_by_an_error_in_state_of_the_world() {
    for upstream in DIALECTS {
        let eds = type_url("eds");
        let control_plane = FakeControlPlane::start_tp2().await;
        let weir = Weir::start(control_plane.address(), upstream, Uses::Locators).await;
        control_plane.set(text("eds", "1").constrained(value("env", "prod")));
        let mut client = weir.client(Dialect::Sotw, "none").await;
        client.locate(eds, &[locator("a", &[("env", "prod")])]);
        client.accept(eds).await;
        let gone = Published::failing(eds, "a", Code::NotFound, "gone").constrained(value("env", "prod"));
        control_plane.set(gone);
        let sent = client.accept(eds).await;
        assert_eq!(sent.error_codes(), [("a", Code::NotFound)]);
        assert_eq!(sent.errors[0].resource_name, Some(variant("a", value("env", "prod"))));
    }
}

#[tokio::test]
async fn w03_an_unknown_authority_is_answered_by_an_error_that_names_it() {
    let eds = type_url("eds");
    let name = "xdstp://nowhere.example/envoy.config.endpoint.v3.ClusterLoadAssignment/a";
    for downstream in DIALECTS {
        let control_plane = FakeControlPlane::start().await;
        let weir = Weir::start(control_plane.address(), Dialect::Delta, Uses::Nodes).await;
        let mut client = weir.client(downstream, "prod").await;
        client.subscribe(eds, &[name]);
        let sent = client.accept(eds).await;
        assert_eq!(sent.error_codes(), [(name, Code::NotFound)]);
        let detail = sent.errors[0].error_detail.clone().expect("it names what is wrong");
        assert!(detail.message.contains("nowhere.example"), "{}", detail.message);
        let removed: &[&str] = if downstream == Dialect::Delta { &[name] } else { &[] };
        assert_eq!(sent.removed, removed, "for clients that do not know of errors");
    }
}
