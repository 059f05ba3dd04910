//! What clients can have upstream asked for: u12.

use std::time::{Duration, Instant};

use weir_database::DemandLimits;
use weir_testkit::{node, type_url};

use crate::observed;
use crate::proxy::{Settings, in_each_dialect_with};

fn limited(limits: DemandLimits) -> impl Fn(&mut Settings) {
    move |settings| settings.database.demand = [(String::new(), limits)].into()
}

fn names(from: usize, to: usize) -> Vec<String> {
    (from..to).map(|i| format!("n{i}")).collect()
}

#[tokio::test]
async fn u12_a_subscription_too_many_is_refused_with_the_limit_and_harms_nobody() {
    let rds = type_url("rds");
    let limits = DemandLimits { subscriptions: Some(5), ..DemandLimits::default() };
    in_each_dialect_with(limited(limits), async |proxy, mut client| {
        let mut hostile = proxy.client_of(client.dialect(), &node("hostile-u12")).await;
        client.subscribe(rds, &["n0"]);
        client.accept(rds).await;
        let many = names(0, 6);
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        hostile.subscribe(rds, &many);
        let status = hostile.closed().await;
        assert_eq!(status.code(), tonic::Code::ResourceExhausted);
        let about = "would be one more than the 5 subscriptions (max_subscriptions)";
        assert!(status.message().contains(about), "{}", status.message());
        observed::warning(&[("node", "hostile-u12")]).await;
        assert_eq!(proxy.database.refused(), [((String::new(), "max_subscriptions"), 1)].into());
        proxy.origin.set(weir_testkit::Published::text(rds, "n0", "1"));
        assert_eq!(client.accept(rds).await.resource("n0").text(), "1");
    })
    .await;
}

#[tokio::test]
async fn u12_a_client_that_asks_too_fast_comes_again_and_goes_on() {
    let rds = type_url("rds");
    let slow = |settings: &mut Settings| settings.database.new_names_per_client = Some(1);
    in_each_dialect_with(slow, async |proxy, mut client| {
        let (start, many) = (Instant::now(), names(0, 15));
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        proxy.database.sweep(start);
        client.subscribe(rds, &many);
        let status = client.closed().await;
        assert_eq!(status.code(), tonic::Code::ResourceExhausted);
        assert!(
            status.message().contains("1 a second (limits.new_names_per_client)"),
            "{}",
            status.message()
        );
        // Ten of them are there; the others fit into the bucket of another connection.
        proxy.database.sweep(start + Duration::from_secs(1));
        let mut again = proxy.client(client.dialect()).await;
        again.subscribe(rds, &many);
        again.accept(rds).await;
    })
    .await;
}
