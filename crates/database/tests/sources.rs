//! Sources that come, change and go while there are streams.
#![allow(clippy::expect_used, reason = "a test ends at the first thing that is not as it should be")]

mod support;

use weir_database::{DemandChange, DemandLimits, Refusal};
use weir_types::{Provenance, ResourceLocator, SubscriptionChange};

use support::{Fixture, IDLE, anyone, cds, located, plain, prod, test, wildcard};

const NAME: &str = "xdstp://a/envoy.config.cluster.v3.Cluster/x";
const GLOB: &str = "xdstp://a/envoy.config.cluster.v3.Cluster/*";

fn wanted(fixture: &Fixture) -> Vec<ResourceLocator> {
    let wanted = fixture.database.take_demand().into_iter().map(|change| {
        assert!(matches!(change, DemandChange::Wanted(..)), "{change:?}");
        change.locator().clone()
    });
    let mut wanted: Vec<_> = wanted.collect();
    wanted.sort_unstable();
    wanted
}

#[test]
fn a_source_that_comes_late_is_sent_each_thing_once() {
    let fixture = Fixture::new();
    let mut streams = vec![fixture.attach(&[plain("x"), wildcard()])];
    streams.push(fixture.attach(&[located(NAME, prod()), located(NAME, test())]));
    streams.push(fixture.attach(&[located(NAME, prod()), located(GLOB, prod())]));
    assert_eq!(wanted(&fixture).len(), 5);
    fixture.database.ask_anew("a");
    let again = [(GLOB, prod()), (NAME, prod()), (NAME, test())];
    let mut again = again.map(|(name, parameters)| ResourceLocator::new(name, parameters)).to_vec();
    again.sort_unstable();
    assert_eq!(wanted(&fixture), again);

    // What waits to be taken is not stated twice, nor what is given up meanwhile.
    let more = fixture.attach(&[located(NAME, prod()), located(&format!("{NAME}2"), prod())]);
    fixture.database.ask_anew("a");
    assert_eq!(wanted(&fixture).len(), 4);
    fixture.database.ask_anew("b");
    assert_eq!(wanted(&fixture), []);
    drop((more, streams));
}

#[test]
fn what_an_authority_had_is_gone_and_nothing_else() {
    let fixture = Fixture::new();
    let mut stream = fixture.attach(&[plain("x"), plain(NAME), plain(GLOB), wildcard()]);
    for (provenance, name) in [
        (Provenance::Named, "x"),
        (Provenance::Named, NAME),
        (Provenance::Wildcard, "w"),
        // A name of that authority, which the source of the others states to have.
        (Provenance::Wildcard, "xdstp://a/envoy.config.cluster.v3.Cluster/w"),
        (Provenance::Local, "xdstp://a/envoy.config.cluster.v3.Cluster/l"),
    ] {
        fixture.put(provenance, anyone(name), "1");
    }
    assert_eq!(stream.sent().0.len(), 5);
    let holds = |authority: &str| fixture.database.holds(authority);
    assert_eq!([holds("a"), holds(""), holds("b")], [true, true, false]);
    fixture.database.withdraw("a");
    assert_eq!([holds("a"), holds("")], [false, true]);
    let (changed, removed) = stream.sent();
    assert_eq!((changed.len(), removed.len()), (0, 2), "{removed:?}");
    fixture.database.withdraw("a");
    assert_eq!(stream.sent(), (vec![], vec![]));
    fixture.database.withdraw("");
    assert_eq!(stream.sent().1.len(), 3);
    assert!(!fixture.database.holds(""));
    assert_eq!(fixture.database.statistics().variants, 0);
}

#[test]
fn u12_limits_that_change_count_what_is_wanted_already() {
    let fixture = Fixture::new();
    let limit = |max: usize| {
        let limits = DemandLimits { subscriptions: Some(max), ..DemandLimits::default() };
        fixture.database.limit("a", None, Some(limits));
    };
    let _before = fixture.attach(&[located(NAME, prod()), located(NAME, test())]);
    let attach = |name: &str| {
        let woken = fixture.subscriber();
        fixture.database.attach(&cds(), SubscriptionChange::adding(&[located(name, prod())]), woken)
    };
    limit(3);
    fixture.database.ask_anew("a");
    let third = attach(&format!("{NAME}3")).expect("there is room for one more");
    let refused = attach(&format!("{NAME}4")).err().expect("there is none");
    assert!(matches!(&refused.0[..], [(_, Refusal::TooManySubscriptions { max: 3, .. })]), "{refused}");
    limit(4);
    let fourth = attach(&format!("{NAME}4")).expect("now there is");
    limit(1);
    let refused = attach(&format!("{NAME}5")).err().expect("those that are there stay, and no more come");
    assert!(matches!(&refused.0[..], [(_, Refusal::TooManySubscriptions { max: 1, .. })]), "{refused}");
    drop((third, fourth));
}

#[test]
fn u02_an_authority_may_keep_what_nobody_subscribes_to_for_a_time_of_its_own() {
    let fixture = Fixture::new();
    fixture.database.keep_idle("a", Some(3 * IDLE));
    drop(fixture.attach(&[plain("x"), plain(NAME)]));
    assert_eq!(wanted(&fixture).len(), 2);
    let dropped = |times: u32| {
        fixture.database.sweep(fixture.now + times * IDLE);
        let changes = fixture.database.take_demand().into_iter();
        changes.map(|change| change.locator().name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(dropped(0), [""; 0]);
    assert_eq!(dropped(1), ["x"]);
    assert_eq!(dropped(2), [""; 0]);
    fixture.database.keep_idle("a", Some(2 * IDLE));
    assert_eq!(dropped(2), [NAME], "a change counts at once");
}
