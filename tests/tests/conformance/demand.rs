//! What clients can have upstream asked for: u12.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tonic::Code;
use weir_database::{ClientLimits, DemandLimits};
use weir_testkit::wait::within;
use weir_testkit::{Dialect, Published, XdsClient, node, type_url};

use crate::observed;
use crate::proxy::{IDLE, Proxy, Settings, in_each_dialect_with};

/// At most so many names for all clients together; what is refused is asked for again soon.
fn limited(subscriptions: usize) -> impl Fn(&mut Settings) {
    move |settings| {
        let limits = DemandLimits { subscriptions: Some(subscriptions), ..DemandLimits::default() };
        settings.database.demand = [(String::new(), limits)].into();
        settings.server.admission.retry_after = Duration::from_millis(20);
    }
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("n{i:03}")).collect()
}

/// Publishes so many names and has them asked for.
fn ask(proxy: &Proxy, client: &mut XdsClient, count: usize) {
    let (rds, names) = (type_url("rds"), names(count));
    proxy.origin.set_all(names.iter().map(|name| Published::text(rds, name, "1")));
    client.subscribe(rds, &names.iter().map(String::as_str).collect::<Vec<_>>());
}

/// The names that come until there are so many, while this is done again and again.
async fn come(client: &mut XdsClient, count: usize, mut meanwhile: impl FnMut()) -> BTreeSet<String> {
    let mut came = BTreeSet::new();
    let coming = async {
        while came.len() < count {
            meanwhile();
            if let Some(received) = client.try_receive(Duration::from_millis(50)).await {
                let received = received.expect("the stream goes on");
                client.ack(&received);
                came.extend(received.names().into_iter().map(str::to_owned));
            }
        }
    };
    within("refused names to be sent", coming).await;
    came
}

#[tokio::test]
async fn u12_e01_a_name_too_many_is_told_by_name_and_sent_when_there_is_room() {
    let rds = type_url("rds");
    in_each_dialect_with(limited(5), async |proxy, mut client| {
        proxy.origin.set(Published::text(rds, "held", "1"));
        client.subscribe(rds, &["held"]);
        client.accept(rds).await;
        let mut greedy = proxy.client_of(client.dialect(), &node("greedy-u12")).await;
        let counted = proxy.database.refused().values().sum::<u64>();
        ask(&proxy, &mut greedy, 6);
        let received = greedy.accept(rds).await;
        let errors = received.error_codes();
        assert_eq!((received.names().len(), errors.len()), (4, 2), "{received:?}");
        assert!(errors.iter().all(|(_, code)| *code == Code::ResourceExhausted), "{errors:?}");
        let stated = format!("{received:?}");
        assert!(
            stated.contains("would be one more than the 5 subscriptions (max_subscriptions)"),
            "{stated}"
        );
        observed::warning(&[("node", "greedy-u12")]).await;
        let refused = || proxy.database.refused().values().sum::<u64>() - counted;
        assert_eq!(refused(), 2);
        proxy.origin.set(Published::text(rds, "held", "2"));
        assert_eq!(client.accept(rds).await.resource("held").text(), "2", "nobody else is concerned");

        client.unsubscribe(rds, &["held"]);
        let came = come(&mut greedy, 1, || {
            let now = Instant::now();
            proxy.database.sweep(now);
            proxy.database.sweep(now + IDLE);
        });
        let came = came.await;
        assert!(errors.iter().any(|(name, _)| came.contains(*name)), "{came:?}");
        assert_eq!(refused(), 2, "who asks again on nobody's request is not refused again");
    })
    .await;
}

#[tokio::test]
async fn u12_what_cannot_be_told_by_name_ends_the_stream() {
    let (rds, cds) = (type_url("rds"), type_url("cds"));
    in_each_dialect_with(limited(5), async |proxy, mut client| {
        let about = "would be one more than the 5 subscriptions (max_subscriptions)";
        ask(&proxy, &mut client, 106);
        let end = client.closed().await;
        assert_eq!(end.code(), Code::ResourceExhausted, "a hundred and one are too many to be sent");
        assert!(end.message().contains(about), "{end}");
        let mut wildcard = proxy.client(client.dialect()).await;
        wildcard.subscribe(cds, &[]);
        assert_eq!(wildcard.closed().await.code(), Code::ResourceExhausted, "a wildcard has no errors");
        let mut envoy = proxy.client_of(client.dialect(), &node("n").user_agent("envoy")).await;
        envoy.subscribe(rds, &["of-an-envoy"]);
        match client.dialect() {
            Dialect::Sotw => assert_eq!(envoy.closed().await.code(), Code::ResourceExhausted),
            Dialect::Delta => {
                let errors = envoy.accept(rds).await;
                assert_eq!(errors.error_codes(), [("of-an-envoy", Code::ResourceExhausted)]);
            }
        }
    })
    .await;
}

#[tokio::test]
async fn u12_a_client_may_be_the_first_to_ask_for_so_much_at_once() {
    let rds = type_url("rds");
    let limited = |settings: &mut Settings| {
        settings.database.per_client = ClientLimits { names: Some(3), ..ClientLimits::default() };
    };
    in_each_dialect_with(limited, async |proxy, mut client| {
        ask(&proxy, &mut client, 4);
        let received = client.accept(rds).await;
        assert_eq!((received.names().len(), received.error_codes().len()), (3, 1), "{received:?}");
        let stated = format!("{received:?}");
        assert!(stated.contains("one more than the 3 (limits.max_new_names_per_client)"), "{stated}");
        let refused = received.error_codes()[0].0.to_owned();
        let mut other = proxy.client(client.dialect()).await;
        ask(&proxy, &mut other, 4);
        let received = other.accept(rds).await;
        assert_eq!(received.names().len(), 4, "three of them cost it nothing: {received:?}");
        let came = come(&mut client, 1, || ()).await;
        assert_eq!(
            came.into_iter().collect::<Vec<_>>(),
            [refused],
            "what somebody else has asked for costs nothing"
        );
    })
    .await;
}

#[tokio::test]
async fn u12_a_client_that_asks_too_fast_is_served_bit_by_bit() {
    let rds = type_url("rds");
    let slow = |settings: &mut Settings| {
        settings.database.per_client = ClientLimits { new_names: Some(1), ..ClientLimits::default() };
        settings.server.admission.retry_after = Duration::from_millis(20);
    };
    in_each_dialect_with(slow, async |proxy, mut client| {
        let start = Instant::now();
        proxy.database.sweep(start);
        ask(&proxy, &mut client, 15);
        let received = client.accept(rds).await;
        assert_eq!((received.names().len(), received.error_codes().len()), (10, 5), "{received:?}");
        assert!(format!("{received:?}").contains("1 a second (limits.new_names_per_client)"));
        proxy.database.sweep(start + Duration::from_secs(5));
        assert_eq!(come(&mut client, 5, || ()).await.len(), 5);
    })
    .await;
}
