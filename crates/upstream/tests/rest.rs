//! Weir's upstream side against a control plane that is polled over REST-JSON.
#![allow(clippy::expect_used, reason = "a test ends at the first thing that is not as it should be")]

mod world;

use std::time::Duration;

use weir_config::{Polling, PositiveDuration};
use weir_protocol::Dialect;
use weir_testkit::wait::until;
use weir_testkit::{FakeControlPlane, Published, constraints, type_url};
use weir_upstream::{Services, Settings, Trial};

use crate::world::{World, native, streams};

const OFTEN: Duration = Duration::from_millis(10);
const NEVER: Duration = Duration::from_secs(3600);

fn cluster(name: &str, content: &str) -> Published {
    Published::text(type_url("cds"), name, content)
}

fn polled(settings: Settings, interval: Duration) -> Settings {
    let polling = Polling {
        refresh_interval: interval.try_into().expect("longer than nothing"),
        refresh_jitter: Duration::ZERO,
        request_timeout: PositiveDuration::seconds::<5>(),
    };
    Settings { services: Services::Rest(polling), ..settings }
}

fn by_node(upstream: &FakeControlPlane, interval: Duration) -> Settings {
    polled(streams(upstream, Dialect::Sotw, &["env"]), interval)
}

#[tokio::test]
async fn u01_what_is_polled_comes_and_follows_every_change() {
    let upstream = FakeControlPlane::start().await;
    upstream.set_all([cluster("a", "1"), cluster("b", "1").for_metadata("env", "prod")]);
    let world = World::start(vec![by_node(&upstream, OFTEN)]);
    let (all, test) = (world.view("cds", &["*{env=prod}"]), world.view("cds", &["*{env=test}"]));
    all.until_shows(&[("a", "1"), ("b", "1")]).await;
    test.until_shows(&[("a", "1")]).await;
    let named = world.view("cds", &["a{env=prod}"]);
    named.until_shows(&[("a", "1")]).await;
    upstream.set(cluster("a", "2"));
    all.until_shows(&[("a", "2"), ("b", "1")]).await;
    test.until_shows(&[("a", "2")]).await;
    named.until_shows(&[("a", "2")]).await;
    upstream.remove(type_url("cds"), "b");
    all.until_shows(&[("a", "2")]).await;
    upstream.look(|state| assert!(state.requests.iter().all(|r| r.node.is_some()), "each poll has the node"));
}

#[tokio::test]
async fn p14_one_poll_is_for_all_parameter_sets_of_a_tp2_control_plane() {
    let upstream = FakeControlPlane::start_tp2().await;
    let variant = |env, text| cluster("a", text).constrained(constraints::value("env", env));
    upstream.set_all([variant("prod", "1"), variant("test", "2")]);
    let world = World::start(vec![polled(native(&upstream, Dialect::Sotw), OFTEN)]);
    let (prod, test) = (world.view("cds", &["a{env=prod}"]), world.view("cds", &["a{env=test}"]));
    prod.until_shows(&[("a", "1")]).await;
    test.until_shows(&[("a", "2")]).await;
    upstream.set(variant("prod", "3"));
    prod.until_shows(&[("a", "3")]).await;
    upstream.wait_for_request("a poll for both", |r| r.locators.len() == 2).await;
}

#[tokio::test]
async fn u01_a_changed_subscription_is_polled_at_once_and_states_no_version() {
    let upstream = FakeControlPlane::start().await;
    upstream.set_all([cluster("a", "1"), cluster("b", "1")]);
    let world = World::start(vec![by_node(&upstream, NEVER)]);
    let a = world.view("cds", &["a"]);
    a.until_shows(&[("a", "1")]).await;
    let b = world.view("cds", &["b"]);
    b.until_shows(&[("b", "1")]).await;
    upstream.look(|state| {
        let asked: Vec<_> = state.requests.iter().map(|r| (r.names.len(), &*r.version)).collect();
        assert_eq!(asked, [(1, ""), (2, "")]);
    });
    drop(a);
    upstream.wait_for_request("a poll for what is left", |r| r.names == ["b"]).await;
}

#[tokio::test]
async fn u01_the_next_poll_acknowledges_and_brings_nothing_new() {
    let upstream = FakeControlPlane::start().await;
    upstream.set(cluster("a", "1"));
    let world = World::start(vec![by_node(&upstream, OFTEN)]);
    let view = world.view("cds", &["*"]);
    view.until_shows(&[("a", "1")]).await;
    upstream.wait_for_ack(type_url("cds")).await;
    upstream.wait_for("more polls", |state| (state.requests.len() > 5).then_some(())).await;
    assert_eq!(upstream.look(|state| state.sent.len()), 1);
    assert!(world.is_in_sync());
}

#[tokio::test]
async fn e03_what_cannot_be_read_is_named_in_every_further_poll() {
    let upstream = FakeControlPlane::start().await;
    upstream.set_all([cluster("a", "1"), cluster("b", "1")]);
    let world = World::start(vec![by_node(&upstream, OFTEN)]);
    let view = world.view("cds", &["*"]);
    view.until_shows(&[("a", "1"), ("b", "1")]).await;
    let cluster_type = type_url("cds");
    upstream.answer_polls_with(Some((
        200,
        &format!(
            r#"{{"version_info": "x", "nonce": "n", "resources": [
                {{"@type": "{cluster_type}", "name": "a", "lb_policy": "NO_SUCH"}},
                {{"@type": "{cluster_type}", "name": "b", "alt_stat_name": "2"}},
                {{"@type": "type.googleapis.com/acme.Widget", "name": "w"}}]}}"#
        ),
    )));
    view.until_shows(&[("a", "1"), ("b", "2")]).await;
    let nack = upstream.wait_for_request("a rejection", |r| r.error.is_some()).await;
    assert_eq!(
        nack.error.expect("a rejection").message,
        "a: $.resources[0].lb_policy: unrecognized enum value 'NO_SUCH'; \
         w: $.resources[2]: message 'acme.Widget' not found"
    );
    assert_eq!(nack.nonce, "n");
    assert_eq!(nack.version, "", "what is held is neither this version nor the one before");
    upstream.answer_polls_with(Some((304, "")));
    let polls = upstream.look(|state| state.requests.len());
    upstream.wait_for("more polls", |state| (state.requests.len() > polls + 3).then_some(())).await;
    upstream.look(|state| assert!(state.requests.last().is_some_and(|r| r.error.is_some())));
    upstream.answer_polls_with(None);
    view.until_shows(&[("a", "1"), ("b", "1")]).await;
    upstream.wait_for_ack(cluster_type).await;
}

#[tokio::test]
async fn u03_a_poll_that_fails_withdraws_nothing() {
    let upstream = FakeControlPlane::start().await;
    upstream.set(cluster("a", "1"));
    let world = World::start(vec![by_node(&upstream, OFTEN)]);
    let view = world.view("cds", &["*"]);
    view.until_shows(&[("a", "1")]).await;
    for (status, body) in [
        (500, "no"),
        (404, ""),
        (200, "<html>"),
        (200, r#"{"resources": [{"name": "x"}], "type_url": "type.googleapis.com/acme.Widget"}"#),
    ] {
        upstream.answer_polls_with(Some((status, body)));
        until(format!("trouble with {status} {body}"), || async {
            (!world.status.is_connected("")).then_some(())
        })
        .await;
        view.until_shows(&[("a", "1")]).await;
        upstream.answer_polls_with(None);
        until("the end of the trouble", || async { world.is_in_sync().then_some(()) }).await;
    }
    upstream.set(cluster("a", "2"));
    view.until_shows(&[("a", "2")]).await;
}

#[tokio::test]
async fn u04_endpoints_are_polled_in_order_of_preference() {
    let (mut first, second) = (FakeControlPlane::start().await, FakeControlPlane::start().await);
    first.set(cluster("a", "first"));
    second.set(cluster("a", "second"));
    let mut settings = by_node(&first, OFTEN);
    settings.endpoints.push(second.uri());
    let world = World::start(vec![settings]);
    let view = world.view("cds", &["*"]);
    view.until_shows(&[("a", "first")]).await;
    first.stop().await;
    view.until_shows(&[("a", "second")]).await;
}

#[tokio::test]
async fn u01_a_poll_without_an_answer_is_given_up_in_time() {
    let upstream = FakeControlPlane::start().await;
    upstream.set(cluster("a", "1"));
    upstream.pause();
    let mut settings = by_node(&upstream, OFTEN);
    let request_timeout = PositiveDuration::millis::<500>();
    settings.services = Services::Rest(Polling { request_timeout, ..Polling::default() });
    let world = World::start(vec![settings]);
    let view = world.view("cds", &["*"]);
    upstream.wait_for("three polls", |state| (state.requests.len() >= 3).then_some(())).await;
    upstream.resume();
    view.until_shows(&[("a", "1")]).await;
}

#[tokio::test]
async fn u04_polls_fall_back_and_return() {
    let (first, second) = (FakeControlPlane::start().await, FakeControlPlane::start().await);
    first.set(cluster("a", "first"));
    second.set(cluster("a", "second"));
    first.pause();
    let mut settings = by_node(&second, OFTEN);
    settings.endpoints.insert(0, first.uri());
    settings.trial = Trial { answer: Duration::from_millis(100), lasting: Duration::from_millis(100) };
    let world = World::start(vec![settings]);
    let view = world.view("cds", &["*{env=prod}"]);
    view.until_shows(&[("a", "second")]).await;
    first.resume();
    view.until_shows(&[("a", "first")]).await;
    first.answer_polls_with(Some((503, "overloaded")));
    view.until_shows(&[("a", "second")]).await;
}
