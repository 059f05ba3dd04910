//! Subscriptions: what equal streams share, what moving on to another carries over, and what is left behind.

#![allow(clippy::expect_used, reason = "a test ends at the first thing that is not as it should be")]

mod support;

use support::*;
use weir_database::DemandChange::{Dropped, Wanted};
use weir_types::Provenance::{Local, Named, Wildcard};
use weir_types::{ResourceLocator, WILDCARD};

#[test]
fn equal_subscriptions_share_a_view() {
    let fixture = Fixture::new();
    let one = fixture.attach(&[plain("a"), plain("b")]);
    let mut other = fixture.attach(&[plain("b")]);
    assert_ne!(one.attachment.view(), other.attachment.view());
    other.change(&[plain("a")], &[]);
    assert_eq!(one.attachment.view(), other.attachment.view());
    let statistics = fixture.database.statistics();
    assert_eq!((statistics.views, statistics.selections, statistics.streams), (1, 2, 2));
}

#[test]
fn a_stream_that_moves_on_is_sent_what_it_was_not_sent_before() {
    let fixture = Fixture::new();
    fixture.commit(Local, vec![variant(anyone("a"), "1"), variant(anyone("b"), "1")], vec![]);
    // The view that it moves to is there already, and its stream is sent everything.
    let mut neighbour = fixture.attach(&[plain("a"), plain("b"), plain("c")]);
    let mut stream = fixture.attach(&[plain("a"), plain("b")]);
    stream.sent();
    fixture.commit(Local, vec![variant(anyone("a"), "2")], vec![anyone("b")]);
    neighbour.sent();
    stream.change(&[plain("c")], &[]);
    assert_eq!(stream.attachment.view(), neighbour.attachment.view());
    assert_eq!(stream.sent(), (vec!["a[anyone]=2".into()], vec!["Name(\"b\")".into()]));
    assert_eq!(neighbour.sent(), Default::default(), "which is not sent to others again");
}

#[test]
fn d10_what_nobody_subscribes_to_is_given_up_after_the_idle_time() {
    let mut fixture = Fixture::new();
    let demand = |fixture: &Fixture| fixture.database.take_demand();
    let a = ResourceLocator::new("a", prod());
    let all = ResourceLocator::new(WILDCARD, prod());
    let stream = fixture.attach(&[plain("a")]);
    assert_eq!(demand(&fixture), [Wanted(cds(), a.clone())]);
    let other = fixture.attach(&[located("a", prod())]);
    assert_eq!(demand(&fixture), [], "u02: one locator, whoever asks in whatever form");
    let third = fixture.attach(&[wildcard()]);
    assert_eq!(demand(&fixture), [Wanted(cds(), all.clone())]);
    fixture.put(Named, anyone("a"), "1");
    fixture.put(Wildcard, anyone("b"), "1");
    drop((stream, third));
    fixture.idle();
    assert_eq!(demand(&fixture), [Dropped(cds(), all)]);
    assert_eq!(fixture.database.statistics().variants, 1, "b went with the wildcard");
    drop(other);
    fixture.database.sweep(fixture.now);
    let back = fixture.attach(&[plain("a")]);
    fixture.idle();
    assert_eq!(demand(&fixture), [], "somebody came back in time");
    drop(back);
    fixture.idle();
    assert_eq!(demand(&fixture), [Dropped(cds(), a)]);
    assert_eq!(fixture.database.statistics(), Default::default());
}

#[test]
fn what_is_held_whether_or_not_anyone_subscribes_stays() {
    let mut fixture = Fixture::new();
    fixture.put(Local, anyone("a"), "1");
    drop(fixture.attach(&[plain("a"), wildcard()]));
    fixture.idle();
    assert_eq!(fixture.database.statistics().variants, 1);
}
