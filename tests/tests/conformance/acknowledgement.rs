//! Acknowledging upstream after the subscribers (u10), and what they reject (e04).

use weir_config::{AfterSubscribers, NackUpstream, Percent, PositiveDuration};
use weir_testkit::client::DIALECTS;
use weir_testkit::control_plane::{Request, State};
use weir_testkit::{Dialect, FakeControlPlane, Published, XdsClient, type_url};
use weir_upstream::{Acknowledge, AcknowledgePolicy};

use crate::observed;
use crate::weir::{Ends, Uses, Weir, in_each_dialect_with};

/// Longer than any test waits.
const NEVER: PositiveDuration = PositiveDuration::seconds::<600>();

const ALL: AcknowledgePolicy = waiting_for(Percent::of::<100>(), NEVER);

const fn waiting_for(share: Percent, deadline: PositiveDuration) -> AcknowledgePolicy {
    AcknowledgePolicy { subscribers: AfterSubscribers { share, deadline }, nack: NackUpstream::Any }
}

/// Runs `test` with a Weir that acknowledges after its subscribers: in each dialect on either side, and with both
/// kinds of control planes.
async fn in_each_dialect(policy: AcknowledgePolicy, test: impl AsyncFn(FakeControlPlane, Weir, Ends)) {
    let acknowledge = Acknowledge::AfterSubscribers(policy);
    let adjust = |settings: &mut weir_upstream::Settings| settings.acknowledge = acknowledge;
    for uses in [Uses::Nodes, Uses::Locators] {
        in_each_dialect_with(uses, adjust, &test).await;
    }
}

/// The answers of Weir to the newest response of a type.
fn answers(state: &State, type_url: &str) -> Vec<Request> {
    let newest = state.sent.iter().rev().find(|sent| sent.type_url == type_url).expect("one was sent");
    let answers = |request: &&Request| request.acknowledges(newest) || request.rejects(newest);
    state.requests.iter().filter(answers).cloned().collect()
}

/// Lets a request go all the way up and its answer down again: what Weir had to send before, it has sent.
async fn settle(client: &mut XdsClient) {
    client.drain().await;
}

async fn subscribed(weir: &Weir, ends: Ends, type_url: &str, name: &str) -> XdsClient {
    let mut client = weir.client(ends.downstream, "prod").await;
    client.subscribe(type_url, &[name]);
    client.accept(type_url).await;
    client
}

#[tokio::test]
async fn u10_upstream_is_acknowledged_once_the_subscribers_have_acknowledged() {
    let rds = type_url("rds");
    in_each_dialect(ALL, async |control_plane, weir, ends| {
        control_plane.set(Published::text(rds, "r", "1"));
        let mut one = subscribed(&weir, ends, rds, "r").await;
        let mut other = subscribed(&weir, ends, rds, "r").await;
        control_plane.wait_for_ack(rds).await;

        control_plane.set(Published::text(rds, "r", "2"));
        let (first, second) = (one.receive_type(rds).await, other.receive_type(rds).await);
        one.ack(&first);
        settle(&mut one).await;
        settle(&mut other).await;
        assert_eq!(control_plane.look(|state| answers(state, rds).len()), 0, "one has yet to answer");
        other.ack(&second);
        control_plane.wait_for_ack(rds).await;
    })
    .await;
}

#[tokio::test]
async fn u10_other_types_and_later_responses_are_not_held_up() {
    let [rds, eds] = ["rds", "eds"].map(type_url);
    in_each_dialect(ALL, async |control_plane, weir, ends| {
        control_plane.set_all([Published::text(rds, "r", "1"), Published::text(eds, "e", "1")]);
        let mut client = subscribed(&weir, ends, rds, "r").await;
        client.subscribe(eds, &["e"]);
        client.accept(eds).await;
        control_plane.wait_for_ack(rds).await;
        control_plane.wait_for_ack(eds).await;

        control_plane.set(Published::text(rds, "r", "2"));
        let held = client.receive_type(rds).await;
        control_plane.set(Published::text(eds, "e", "2"));
        client.accept(eds).await;
        control_plane.wait_for_ack(eds).await;
        control_plane.set(Published::text(rds, "r", "3"));
        let newest = client.receive_type(rds).await;
        assert_eq!(newest.resource("r").text(), "3", "applied though the one before it waits");
        client.ack(&held);
        client.ack(&newest);
        control_plane.wait_for_ack(rds).await;
        let nonces = |state: &State| {
            let sent = state.sent.iter().filter(|sent| sent.type_url == rds);
            let sent: Vec<String> = sent.map(|sent| sent.nonce.clone()).collect();
            let answered = state.requests_for(rds).filter(|r| sent.contains(&r.nonce));
            let mut answered: Vec<String> = answered.map(|r| r.nonce.clone()).collect();
            answered.dedup();
            (sent, answered)
        };
        let (sent, answered) = control_plane.look(nonces);
        assert_eq!(sent, answered, "each is answered, in order");
    })
    .await;
}

#[tokio::test]
async fn u10_a_client_that_leaves_is_done_and_none_passes_at_once() {
    let rds = type_url("rds");
    in_each_dialect(ALL, async |control_plane, weir, ends| {
        control_plane.set(Published::text(rds, "r", "1"));
        let mut leaving = subscribed(&weir, ends, rds, "r").await;
        control_plane.wait_for_ack(rds).await;
        control_plane.set(Published::text(rds, "r", "2"));
        leaving.receive_type(rds).await;
        settle(&mut leaving).await;
        assert_eq!(control_plane.look(|state| answers(state, rds).len()), 0);
        drop(leaving);
        control_plane.wait_for_ack(rds).await;
        // The subscription goes on for the idle time, with nobody attached.
        control_plane.set(Published::text(rds, "r", "3"));
        control_plane.wait_for_ack(rds).await;
    })
    .await;
}

#[tokio::test]
async fn u10_a_subscriber_that_does_not_answer_in_time_is_not_waited_for() {
    let rds = type_url("rds");
    let policy = waiting_for(Percent::of::<100>(), PositiveDuration::millis::<300>());
    in_each_dialect(policy, async |control_plane, weir, ends| {
        control_plane.set(Published::text(rds, "r", "1"));
        let mut client = weir.client(ends.downstream, "prod").await;
        client.subscribe(rds, &["r"]);
        client.receive_type(rds).await;
        control_plane.wait_for_ack(rds).await;
    })
    .await;
}

#[tokio::test]
async fn u10_a_share_of_the_subscribers_is_enough() {
    let rds = type_url("rds");
    in_each_dialect(waiting_for(Percent::of::<50>(), NEVER), async |control_plane, weir, ends| {
        control_plane.set(Published::text(rds, "r", "1"));
        let mut clients = Vec::new();
        for _ in 0..3 {
            clients.push(subscribed(&weir, ends, rds, "r").await);
        }
        control_plane.wait_for_ack(rds).await;
        control_plane.set(Published::text(rds, "r", "2"));
        clients[0].accept(rds).await;
        settle(&mut clients[0]).await;
        assert_eq!(control_plane.look(|state| answers(state, rds).len()), 0, "half of three is two");
        clients[1].accept(rds).await;
        control_plane.wait_for_ack(rds).await;
    })
    .await;
}

#[tokio::test]
async fn u10_a_new_name_is_served_while_an_acknowledgement_waits() {
    let eds = type_url("eds");
    in_each_dialect(ALL, async |control_plane, weir, ends| {
        control_plane.set_all(["a", "b"].map(|name| Published::text(eds, name, "1")));
        let mut client = weir.client(ends.downstream, "prod").await;
        client.subscribe(eds, &["a"]);
        let held = client.receive_type(eds).await;
        let mut other = subscribed(&weir, ends, eds, "b").await;
        settle(&mut other).await;
        client.ack(&held);
        control_plane.wait_for_ack(eds).await;
    })
    .await;
}

#[tokio::test]
async fn e04_what_subscribers_reject_is_reported_upstream_and_stays_what_clients_are_told() {
    let rds = type_url("rds");
    in_each_dialect(ALL, async |control_plane, weir, ends| {
        control_plane.set(Published::text(rds, "r", "1"));
        let mut one = subscribed(&weir, ends, rds, "r").await;
        let mut other = subscribed(&weir, ends, rds, "r").await;
        control_plane.wait_for_ack(rds).await;
        let accepted = control_plane.look(|state| answers(state, rds)[0].version.clone());

        control_plane.set(Published::text(rds, "r", "2"));
        let counted = observed::metric("weir_upstream_nacks_total");
        let received = one.receive_type(rds).await;
        one.nack(&received, "r: no such cluster");
        other.accept(rds).await;
        let nack = control_plane.wait_for_request("a NACK", |request| request.error.is_some()).await;
        let message = nack.error.clone().unwrap().message;
        let expected = format!("1 of 2 subscribers rejected {rds}: r; one error: r: no such cluster");
        assert_eq!(message, expected);
        assert_eq!(nack.version, accepted, "the version stays the last accepted one");
        assert!(observed::metric("weir_upstream_nacks_total") > counted);
        one.expect_nothing().await;
        let mut late = weir.client(ends.downstream, "prod").await;
        late.subscribe(rds, &["r"]);
        assert_eq!(late.accept(rds).await.resource("r").text(), "2", "Weir does not judge");

        control_plane.set(Published::text(rds, "r", "3"));
        for client in [&mut one, &mut other, &mut late] {
            assert_eq!(client.accept(rds).await.resource("r").text(), "3");
        }
        control_plane.wait_for_ack(rds).await;
    })
    .await;
}

#[tokio::test]
async fn e04_rejections_by_too_few_are_not_reported() {
    let rds = type_url("rds");
    for (nack, reported) in [
        (NackUpstream::Never, false),
        (NackUpstream::Percent(Percent::of::<60>()), false),
        (NackUpstream::Percent(Percent::of::<50>()), true),
    ] {
        in_each_dialect(AcknowledgePolicy { nack, ..ALL }, async |control_plane, weir, ends| {
            control_plane.set(Published::text(rds, "r", "1"));
            let mut one = subscribed(&weir, ends, rds, "r").await;
            let mut other = subscribed(&weir, ends, rds, "r").await;
            control_plane.wait_for_ack(rds).await;
            control_plane.set(Published::text(rds, "r", "2"));
            let received = one.receive_type(rds).await;
            one.nack(&received, "r: no");
            other.accept(rds).await;
            let answer =
                control_plane.wait_for("an answer", |state| answers(state, rds).into_iter().next()).await;
            assert_eq!(answer.error.is_some(), reported, "{nack:?}");
        })
        .await;
    }
}

/// A cascade: what is acknowledged at the top was acknowledged at the bottom.
#[tokio::test]
async fn u10_p16_a_cascade_acknowledges_when_the_last_client_has() {
    let rds = type_url("rds");
    let waits =
        |settings: &mut weir_upstream::Settings| settings.acknowledge = Acknowledge::AfterSubscribers(ALL);
    for dialect in DIALECTS {
        let control_plane = FakeControlPlane::start_tp2().await;
        let upper = Weir::start_with(control_plane.address(), dialect, Uses::Locators, waits).await;
        let other = if dialect == Dialect::Sotw { Dialect::Delta } else { Dialect::Sotw };
        let lower = Weir::start_with(upper.proxy.address(), other, Uses::Locators, waits).await;
        control_plane.set(Published::text(rds, "r", "1"));
        let mut client = lower.client(dialect, "prod").await;
        client.subscribe(rds, &["r"]);
        let received = client.receive_type(rds).await;
        settle(&mut client).await;
        assert_eq!(control_plane.look(|state| answers(state, rds).len()), 0);
        client.ack(&received);
        control_plane.wait_for_ack(rds).await;

        control_plane.set(Published::text(rds, "r", "2"));
        let received = client.receive_type(rds).await;
        client.nack(&received, "r: no");
        let nack = control_plane.wait_for_request("a NACK", |request| request.error.is_some()).await;
        let message = nack.error.unwrap().message;
        assert_eq!(message.matches("1 of 1 subscriber rejected").count(), 2, "{message}");
        assert!(message.ends_with("r: no"), "{message}");
    }
}
