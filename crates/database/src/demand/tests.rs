use std::time::Duration;

use super::*;

fn locator(name: &str, env: &str) -> ResourceLocator {
    ResourceLocator::new(name, [("env", env), ("pod", name)].into_iter().collect())
}

fn demand(limits: DemandLimits, max_sets: usize) -> Demand {
    let sets = ParameterSets { keys: Arc::from(["env".into()]), max: max_sets, node_id: None };
    let (parameter_sets, demand) = ([(String::new(), sets)].into(), [(String::new(), limits)].into());
    let per_client = ClientLimits {
        names: Some(15),
        parameter_sets: Some(2),
        new_names: Some(1),
        new_parameter_sets: None,
    };
    Demand::new(Limits { parameter_sets, demand, per_client })
}

fn want(demand: &Demand, name: &str, env: &str) -> Result<(), Refusal> {
    demand.want(&TypeUrl::new("eds"), &locator(name, env), None, false).map(drop)
}

fn take(demand: &Demand) -> Vec<DemandChange> {
    demand.take(usize::MAX).0
}

#[test]
fn p15_the_number_of_parameter_sets_is_limited() {
    let demand = demand(DemandLimits::default(), 2);
    assert_eq!(want(&demand, "a", "prod"), Ok(()));
    assert_eq!(want(&demand, "b", "prod"), Ok(()), "the same set for the upstream");
    assert_eq!(want(&demand, "a", "test"), Ok(()));
    let refusal = want(&demand, "a", "canary").expect_err("the third set");
    assert_eq!(
        refusal.to_string(),
        "parameters {env=canary} would be one more than the 2 distinct parameter sets \
         (max_parameter_sets) that are served at once"
    );
    demand.drop(&TypeUrl::new("eds"), &locator("a", "test"));
    assert_eq!(want(&demand, "a", "canary"), Ok(()));
    assert_eq!(take(&demand).len(), 3, "what was given up was never sent");
    assert!(take(&demand).is_empty());
}

#[test]
fn u12_the_number_of_subscriptions_is_limited() {
    let demand = demand(DemandLimits { subscriptions: Some(2), ..DemandLimits::default() }, 9);
    assert_eq!(want(&demand, "a", "x"), Ok(()));
    assert_eq!(want(&demand, "b", "x"), Ok(()));
    let refusal = want(&demand, "c", "x").expect_err("the third");
    assert_eq!(
        refusal.to_string(),
        "\"c\" would be one more than the 2 subscriptions (max_subscriptions) that the upstream of authority \"\" \
         is asked for at once"
    );
    let again = Asking { demand: &demand, quota: None, again: true };
    assert_eq!(
        again.want(&TypeUrl::new("eds"), &locator("c", "x")).map(drop),
        Err(refusal),
        "and not counted"
    );
    let elsewhere = want(&demand, "xdstp://other/envoy.config.cluster.v3.Cluster/a", "x");
    assert_eq!(elsewhere, Ok(()), "another authority has limits of its own, or none");
    demand.drop(&TypeUrl::new("eds"), &locator("a", "x"));
    assert_eq!(want(&demand, "c", "x"), Ok(()));
    assert_eq!(demand.refused(), [((String::new(), "max_subscriptions"), 1)].into());
}

#[test]
fn u12_new_subscriptions_and_parameter_sets_are_limited_by_the_second() {
    let limits =
        DemandLimits { new_subscriptions: Some(3), new_parameter_sets: Some(1), subscriptions: None };
    let demand = demand(limits, 99);
    let start = Instant::now();
    demand.tick(start);
    let sets = |demand: &Demand, from: usize| {
        (from..).take_while(|i| want(demand, "a", &i.to_string()).is_ok()).count()
    };
    assert_eq!(sets(&demand, 0), 10);
    let refusal = want(&demand, "a", "99").expect_err("too fast");
    assert_eq!(
        refusal.to_string(),
        "parameters {env=99} would be more than 1 a second (new_parameter_sets_per_second) after a burst of 10 \
         seconds; what was asked for before it is kept, so come again"
    );
    let names = |demand: &Demand, from: usize| {
        (from..).take_while(|i| want(demand, &i.to_string(), "0").is_ok()).count()
    };
    assert_eq!(names(&demand, 0), 20, "ten of thirty were for the sets");
    demand.tick(start + Duration::from_secs(2));
    assert_eq!((sets(&demand, 20), names(&demand, 40)), (2, 4));
}

#[test]
fn u12_each_client_has_a_rate_of_its_own() {
    let demand = demand(DemandLimits::default(), 99);
    let (hostile, other) = (Arc::default(), Arc::default());
    let want = |client, i: usize| {
        let locator = locator(&i.to_string(), "x");
        demand.want(&TypeUrl::new("eds"), &locator, Some(client), false).map(drop)
    };
    assert_eq!((0..).take_while(|i| want(&hostile, *i).is_ok()).count(), 10);
    let refusal = want(&hostile, 99).expect_err("too fast");
    assert_eq!(refusal.limit(), "limits.new_names_per_client");
    assert_eq!(want(&other, 100), Ok(()));
}

#[test]
fn u12_each_client_has_a_rate_of_its_own_for_parameter_sets() {
    let demand = demand(DemandLimits::default(), 99);
    demand.limit_clients(ClientLimits { new_parameter_sets: Some(1), ..ClientLimits::default() });
    let (start, hostile, other) = (Instant::now(), Arc::default(), Arc::default());
    demand.tick(start);
    let want = |client, env: usize| {
        demand.want(&TypeUrl::new("eds"), &locator("a", &env.to_string()), Some(client), false)
    };
    let mut paid: Vec<_> = (0..10).map(|i| want(&hostile, i).expect("a burst")).collect();
    let refusal = want(&hostile, 10).expect_err("too fast");
    assert_eq!(
        refusal.to_string(),
        "parameters {env=10} would be more than 1 a second (limits.new_parameter_sets_per_client) after a burst of \
         10 seconds; what was asked for before it is kept, so come again"
    );
    paid.push(want(&hostile, 9).expect("that set is there"));
    paid.push(want(&other, 10).expect("another client"));
    paid.push(want(&hostile, 10).expect("somebody else pays for it"));
    assert!(want(&hostile, 11).is_err());
    demand.tick(start + Duration::from_secs(1));
    paid.push(want(&hostile, 11).expect("a second has passed"));
    assert!(want(&hostile, 12).is_err());
}

#[test]
fn u12_each_client_pays_for_what_it_was_the_first_to_ask_for() {
    let demand = demand(DemandLimits::default(), 99);
    let (start, client) = (Instant::now(), Arc::default());
    let want =
        |name: &str, env: &str| demand.want(&TypeUrl::new("eds"), &locator(name, env), Some(&client), false);
    let mut paid: Vec<_> = Vec::new();
    for i in 0..15u32 {
        demand.tick(start + Duration::from_secs(u64::from(i)));
        paid.push(want(&i.to_string(), if i < 7 { "x" } else { "y" }).expect("within the limits"));
    }
    assert_eq!(
        want("99", "x").expect_err("the sixteenth name").to_string(),
        "\"99\" would be one more than the 15 (limits.max_new_names_per_client) that one client may be the \
         first to ask for"
    );
    paid.pop();
    assert_eq!(
        want("99", "z").expect_err("the third set").to_string(),
        "parameters {env=z} would be one more than the 2 (limits.max_new_parameter_sets_per_client) that one \
         client may be the first to ask for"
    );
    let other = Arc::default();
    let by_other = demand.want(&TypeUrl::new("eds"), &locator("100", "z"), Some(&other), false);
    assert!(by_other.is_ok());
    paid.push(want("99", "z").expect("somebody else pays for the set"));
    assert!(want("102", "x").is_err(), "the sixteenth");
    demand.limit_clients(ClientLimits { names: Some(16), ..ClientLimits::default() });
    paid.push(want("102", "x").expect("there is room for one more"));
    drop(paid);
    (0..7).for_each(|i| demand.drop(&TypeUrl::new("eds"), &locator(&i.to_string(), "x")));
    demand.tick(start + Duration::from_secs(99));
    assert!(want("101", "w").is_ok(), "nobody wants the first set any more");
}
