//! Times to live: what upstream has to vouch for again and again, and what streams are sent of it.

#![allow(clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use std::time::{Duration, Instant};

use support::{Fixture, Stream, aliased, anyone, only, plain, prod, stated, wildcard};
use weir_database::{Diff, News, Query, Refresh, Shape};
use weir_types::{
    Batch, Content, Cursor, Form, Heartbeat, KnownVersions, Provenance, Selector, Variant, VariantKey,
};

use crate::support::{cds, test, variant};

const TTL: Duration = Duration::from_secs(10);

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A variant that lives for [`TTL`] without being refreshed.
fn mortal(key: VariantKey, body: &str) -> Variant {
    let content = variant(key.clone(), body).content().clone();
    Variant::new(key, Content { ttl: Some(TTL), ..content })
}

fn beat(key: VariantKey) -> Heartbeat {
    Heartbeat { key, ttl: TTL }
}

impl Fixture {
    fn receive(&self, now: Instant, upserts: Vec<Variant>, heartbeats: Vec<Heartbeat>) {
        let mut batch = Batch::new(cds(), Provenance::Named);
        (batch.upserts, batch.heartbeats, batch.received) = (upserts, heartbeats, Some(now));
        self.database.commit(batch);
    }
}

impl Stream {
    /// Sends everything, and what lives on in this way.
    fn sent_with(&mut self, shape: Shape, refresh: Refresh) -> Diff {
        let diff = self.pending_with(shape, refresh, None);
        self.attachment.advance(Cursor { removals: diff.to, additions: diff.to });
        diff
    }

    /// What an incremental client is sent: resources, heartbeats, removals.
    fn sent_delta(&mut self) -> (Vec<String>, Vec<String>, Vec<String>) {
        let diff = self.sent_with(Shape::Changes, Refresh::Heartbeat);
        let (resources, removed) = stated(&diff);
        (resources, heartbeats(&diff), removed)
    }
}

fn heartbeats(diff: &Diff) -> Vec<String> {
    diff.heartbeats.iter().map(|(variant, _)| format!("{:?}", variant.key())).collect()
}

fn nothing() -> (Vec<String>, Vec<String>, Vec<String>) {
    Default::default()
}

#[test]
fn t01_what_is_not_refreshed_in_time_expires() {
    for (selector, provenance) in [(plain("a"), Provenance::Named), (wildcard(), Provenance::Wildcard)] {
        let f = Fixture::new();
        let mut stream = f.attach(std::slice::from_ref(&selector));
        let mut batch = Batch::new(cds(), provenance);
        batch.upserts = vec![mortal(anyone("a"), "1"), variant(anyone("b"), "1")];
        batch.received = Some(f.now);
        f.database.commit(batch);
        assert_eq!(stream.sent().0[0], "a[anyone]=1");
        f.database.sweep(f.now + TTL - Duration::from_millis(1));
        assert_eq!((stream.sent(), f.database.expired()), ((vec![], vec![]), 0));
        let woken = stream.woken();
        f.database.sweep(f.now + TTL);
        assert_eq!((stream.woken(), f.database.expired()), (woken + 1, 1));
        assert_eq!(stream.sent(), (vec![], vec!["Name(\"a\")".to_owned()]));
        assert_eq!(f.attach(&[plain("a")]).attachment.unsettled().names, 0, "it is known to be gone");
    }
}

#[test]
fn t01_what_expired_is_back_when_upstream_sends_it_again() {
    let f = Fixture::new();
    let mut stream = f.attach(&[plain("a")]);
    f.receive(f.now, vec![mortal(anyone("a"), "1")], vec![]);
    f.database.sweep(f.now + TTL);
    stream.sent();
    f.receive(f.now + seconds(11), vec![mortal(anyone("a"), "1")], vec![]);
    assert_eq!(stream.sent_delta(), (vec!["a[anyone]=1".to_owned()], vec![], vec![]));
    f.database.sweep(f.now + seconds(20));
    assert_eq!(stream.sent_delta(), nothing());
    f.database.sweep(f.now + seconds(21));
    assert_eq!(stream.sent_delta().2.len(), 1);
}

#[test]
fn t02_a_heartbeat_refreshes_and_is_passed_on_without_the_body() {
    let f = Fixture::new();
    let mut stream = f.attach(&[plain("a"), plain("b")]);
    f.receive(f.now, vec![mortal(anyone("a"), "1"), mortal(anyone("b"), "1")], vec![]);
    stream.sent_delta();
    let version = stream.pending(Shape::Changes, false).version;
    f.receive(f.now + seconds(6), vec![], vec![beat(anyone("a")), beat(anyone("unheard of"))]);
    let diff = stream.sent_with(Shape::Changes, Refresh::Heartbeat);
    assert_eq!((stated(&diff), heartbeats(&diff)), ((vec![], vec![]), vec!["a[anyone]".to_owned()]));
    assert_eq!(diff.version, version);
    assert_ne!(diff.news, News::Refreshed);
    f.database.sweep(f.now + seconds(12));
    assert_eq!(stream.sent_delta().2, ["Name(\"b\")"]);
    f.database.sweep(f.now + seconds(16));
    assert_eq!(stream.sent_delta().2, ["Name(\"a\")"]);
}

#[test]
fn t02_the_same_resource_again_is_a_heartbeat() {
    let f = Fixture::new();
    let mut stream = f.attach(&[plain("a")]);
    let again = |after| f.receive(f.now + seconds(after), vec![mortal(anyone("a"), "1")], vec![]);
    again(0);
    stream.sent_delta();
    again(5);
    assert_eq!(stream.sent_delta().1, ["a[anyone]"]);
    f.receive(f.now + seconds(6), vec![variant(anyone("b"), "1")], vec![]);
    assert_eq!(stream.sent_delta(), nothing());
}

#[test]
fn d09_missed_heartbeats_are_one() {
    let f = Fixture::new();
    let mut stream = f.attach(&[wildcard()]);
    let batch = |after, upserts, heartbeats| {
        let mut batch = Batch::new(cds(), Provenance::Wildcard);
        (batch.upserts, batch.heartbeats) = (upserts, heartbeats);
        batch.received = Some(f.now + seconds(after));
        f.database.commit(batch);
    };
    batch(0, vec![mortal(anyone("a"), "1"), mortal(anyone("b"), "1"), mortal(anyone("c"), "1")], vec![]);
    stream.sent_delta();
    batch(1, vec![], vec![beat(anyone("a")), beat(anyone("b"))]);
    batch(2, vec![], vec![beat(anyone("a"))]);
    batch(3, vec![mortal(anyone("b"), "2")], vec![]);
    batch(4, vec![], vec![beat(anyone("b"))]);
    let sent = (vec!["b[anyone]=2".to_owned()], vec!["a[anyone]".to_owned()], vec![]);
    assert_eq!(stream.sent_delta(), sent, "what changed is sent, whatever came after");
}

#[test]
fn t05_state_of_the_world_is_sent_whole_again() {
    for shape in [Shape::Everything, Shape::Changes] {
        let f = Fixture::new();
        let mut stream = f.attach(&[plain("a"), plain("b")]);
        f.receive(f.now, vec![mortal(anyone("a"), "1"), variant(anyone("b"), "1")], vec![]);
        let first = stream.sent_with(shape, Refresh::Whole);
        f.receive(f.now + seconds(6), vec![], vec![beat(anyone("a"))]);
        let diff = stream.sent_with(shape, Refresh::Whole);
        let all =
            if shape == Shape::Everything { vec!["a[anyone]=1", "b[anyone]=1"] } else { vec!["a[anyone]=1"] };
        assert_eq!(
            (stated(&diff).0, heartbeats(&diff)),
            (all.into_iter().map(str::to_owned).collect(), vec![])
        );
        assert_eq!((diff.news, diff.version), (News::Refreshed, first.version), "{shape:?}");
        let quiet = stream.sent_with(shape, Refresh::Whole);
        assert_eq!(quiet.news, if shape == Shape::Changes { News::Changed } else { News::None });
    }
}

#[test]
fn t01_a_client_without_times_to_live_hears_no_heartbeat() {
    for shape in [Shape::Everything, Shape::Changes] {
        let f = Fixture::new();
        let mut stream = f.attach(&[plain("a")]);
        f.receive(f.now, vec![mortal(anyone("a"), "1")], vec![]);
        stream.sent_with(shape, Refresh::None);
        f.receive(f.now + seconds(6), vec![], vec![beat(anyone("a"))]);
        let diff = stream.sent_with(shape, Refresh::None);
        assert!(diff.news != News::Refreshed && diff.heartbeats.is_empty());
        assert!(diff.resources.is_empty() || diff.news == News::None);
    }
}

#[test]
fn t02_a_heartbeat_is_for_one_variant() {
    let f = Fixture::new();
    let mut streams = [(prod(), "prod"), (test(), "test")].map(|(parameters, env)| {
        let stream = f.attach(&[Selector::located("a", parameters)]);
        (stream, env)
    });
    let (in_prod, in_test) = (only("a", "prod"), only("a", "test"));
    f.receive(f.now, vec![mortal(in_prod.clone(), "p"), mortal(in_test, "t")], vec![]);
    streams.iter_mut().for_each(|(stream, _)| drop(stream.sent_delta()));
    f.receive(f.now + seconds(6), vec![], vec![beat(in_prod)]);
    let [(prod, _), (test, _)] = &mut streams;
    assert_eq!(prod.sent_delta().1, ["a[env=prod]"]);
    assert_eq!(test.sent_delta(), nothing());
    f.database.sweep(f.now + TTL);
    assert_eq!(prod.sent_delta(), nothing());
    assert_eq!(test.sent_delta().2.len(), 1);
}

#[test]
fn t02_a_late_heartbeat_brings_back_what_expired() {
    for swept in [true, false] {
        let f = Fixture::new();
        let mut stream = f.attach(&[plain("a")]);
        f.receive(f.now, vec![mortal(anyone("a"), "1")], vec![]);
        stream.sent_delta();
        if swept {
            f.database.sweep(f.now + TTL);
            assert_eq!(stream.sent_delta().2.len(), 1);
        }
        f.receive(f.now + seconds(11), vec![], vec![beat(anyone("a"))]);
        let whole = (vec!["a[anyone]=1".to_owned()], vec![], vec![]);
        assert_eq!(stream.sent_delta(), whole, "clients may have dropped it by themselves");
        f.database.sweep(f.now + seconds(20));
        assert_eq!(stream.sent_delta(), nothing());
    }
}

#[test]
fn t02_what_upstream_removed_is_not_brought_back() {
    let f = Fixture::new();
    let mut stream = f.attach(&[plain("a")]);
    f.receive(f.now, vec![mortal(anyone("a"), "1")], vec![]);
    f.database.sweep(f.now + TTL);
    f.remove(Provenance::Named, anyone("a"));
    stream.sent_delta();
    f.receive(f.now + seconds(11), vec![], vec![beat(anyone("a"))]);
    assert_eq!(stream.sent_delta(), nothing());
}

#[test]
fn d10_what_expired_is_forgotten_with_its_last_subscriber() {
    for selector in [plain("a"), plain("other name")] {
        let mut f = Fixture::new();
        let stream = f.attach(&[selector]);
        let content =
            Content { aliases: ["other name".into()].into(), ..mortal(anyone("a"), "1").content().clone() };
        f.receive(f.now, vec![Variant::new(anyone("a"), content)], vec![]);
        f.database.sweep(f.now + TTL);
        assert_eq!(f.database.statistics().variants, 1, "kept for a heartbeat");
        drop(stream);
        f.now += TTL;
        f.idle();
        assert_eq!((f.database.statistics().variants, f.database.statistics().names), (0, 0));
    }
}

#[test]
fn t04_a_resource_resent_without_ttl_has_none() {
    let f = Fixture::new();
    let mut stream = f.attach(&[plain("a")]);
    f.receive(f.now, vec![mortal(anyone("a"), "1")], vec![]);
    stream.sent_delta();
    f.receive(f.now + seconds(5), vec![variant(anyone("a"), "1")], vec![]);
    let diff = stream.sent_with(Shape::Changes, Refresh::Heartbeat);
    assert_eq!(stated(&diff).0, ["a[anyone]=1"]);
    assert_eq!(diff.resources[0].0.content().ttl, None);
    f.database.sweep(f.now + seconds(1000));
    assert_eq!(stream.sent_delta(), nothing());
}

#[test]
fn t03_a_client_that_comes_back_is_sent_what_it_may_have_dropped() {
    let f = Fixture::new();
    let mut first = f.attach(&[plain("a")]);
    f.receive(f.now, vec![mortal(anyone("a"), "1"), variant(anyone("b"), "1")], vec![]);
    let version = first.sent_with(Shape::Changes, Refresh::Heartbeat).resources[0].0.version(Form::Plain);
    f.receive(f.now + seconds(5), vec![], vec![beat(anyone("a"))]);
    let again = f.attach(&[plain("a")]);
    let known: KnownVersions = [("a", version.to_string())].into_iter().collect();
    let diff = again.pending_with(Shape::Changes, Refresh::Heartbeat, Some(&known));
    assert_eq!((stated(&diff).0, heartbeats(&diff)), (vec!["a[anyone]=1".to_owned()], vec![]));
    let left = diff.resources[0].0.remaining(f.now + seconds(8));
    assert_eq!(left, Some(seconds(7)));
    let diff = again.pending_with(Shape::Changes, Refresh::None, Some(&known));
    assert_eq!(stated(&diff), (vec![], vec![]), "a client that is sent no times drops nothing");
}

#[test]
fn t02_who_is_told_so_late_that_it_may_have_dropped_the_resource_is_sent_it() {
    let f = Fixture::new();
    let mut streams = [(); 2].map(|()| f.attach(&[plain("a")]));
    f.receive(f.now, vec![mortal(anyone("a"), "1")], vec![]);
    streams.iter_mut().for_each(|stream| drop(stream.sent_delta()));
    let is_whole = |stream: &Stream, after| {
        let base = Query::new(stream.attachment.cursor(), Shape::Changes);
        let at = Some(f.now + Duration::from_millis(after));
        let diff = stream.attachment.diff(&Query { refresh: Refresh::Heartbeat, at, ..base });
        assert_eq!(diff.resources.len() + diff.heartbeats.len(), 1);
        !diff.resources.is_empty()
    };
    f.receive(f.now + seconds(8), vec![], vec![beat(anyone("a"))]);
    assert_eq!([9_999, 10_000].map(|after| is_whole(&streams[0], after)), [false, true]);
    streams[1].sent_delta();
    f.receive(f.now + seconds(16), vec![], vec![beat(anyone("a"))]);
    assert_eq!([17_999, 18_000].map(|after| is_whole(&streams[1], after)), [false, true]);
    assert!(is_whole(&streams[0], 17_999), "it was sent ten seconds");
}

#[test]
fn t03_what_comes_in_two_ways_lives_as_long_as_the_longer_one() {
    let f = Fixture::new();
    let on_pod = [("env", "prod"), ("pod", "7")].into_iter().collect();
    let mut stream = f.attach(&[Selector::located("a", on_pod), Selector::located("*", prod())]);
    let key = only("a", "prod");
    let receive = |provenance, after, ttl| {
        let mut batch = Batch::new(cds(), provenance);
        batch.upserts = vec![mortal(key.clone(), "1")];
        batch.heartbeats = vec![Heartbeat { key: key.clone(), ttl }];
        batch.received = Some(f.now + seconds(after));
        f.database.commit(batch);
    };
    receive(Provenance::Wildcard, 0, TTL);
    receive(Provenance::Named, 0, TTL);
    assert_eq!(stream.sent_delta().0.len(), 1);
    receive(Provenance::Named, 8, seconds(60));
    stream.sent_delta();
    receive(Provenance::Wildcard, 9, TTL);
    let diff = stream.sent_with(Shape::Changes, Refresh::Heartbeat);
    let left: Vec<_> = diff.heartbeats.iter().map(|(v, _)| v.remaining(f.now + seconds(9))).collect();
    assert_eq!(left, [Some(seconds(59))], "the last word counts for the client");
}

#[test]
fn d08_without_a_clock_the_same_again_is_nothing() {
    let f = Fixture::new();
    let mut stream = f.attach(&[plain("a")]);
    for _ in 0..2 {
        f.commit(Provenance::Local, vec![mortal(anyone("a"), "1")], vec![]);
    }
    stream.sent_delta();
    f.commit(Provenance::Local, vec![mortal(anyone("a"), "1")], vec![]);
    f.database.sweep(f.now + seconds(1000));
    assert_eq!(stream.sent_delta(), nothing());
}

#[test]
fn d10_what_has_expired_goes_with_the_collection_that_it_was_part_of() {
    for collection in [wildcard(), plain("xdstp://x/T/d/*")] {
        let mut fixture = Fixture::new();
        let stream = fixture.attach(std::slice::from_ref(&collection));
        let provenance =
            if collection.locator.is_wildcard() { Provenance::Wildcard } else { Provenance::Named };
        let mut batch = Batch::new(cds(), provenance);
        (batch.upserts, batch.received) = (vec![mortal(anyone("xdstp://x/T/d/1"), "1")], Some(fixture.now));
        fixture.database.commit(batch);
        fixture.now += TTL;
        fixture.database.sweep(fixture.now);
        assert_eq!(fixture.database.statistics().variants, 1, "a heartbeat that comes late brings no body");
        drop(stream);
        fixture.idle();
        assert_eq!(fixture.database.statistics().variants, 0, "{collection:?}");
    }
}

#[test]
fn t01_whoever_asks_by_an_alias_that_has_expired_is_told_so() {
    let f = Fixture::new();
    let _first = f.attach(&[plain("b"), Selector::located("a", test())]);
    let mortal = |env, lives| {
        let listed = aliased(only("a", env), "1", &["b"]);
        Variant::new(listed.key().clone(), Content { ttl: Some(lives), ..listed.content().clone() })
    };
    f.receive(f.now, vec![mortal("prod", TTL), mortal("test", 2 * TTL)], vec![]);
    f.database.sweep(f.now + TTL);
    assert_eq!(f.database.audit(), Ok(()));
    f.remove(Provenance::Named, only("a", "test"));
    assert_eq!(f.database.audit(), Ok(()));
    let mut late = f.attach(&[Selector::located("b", prod())]);
    assert_eq!(late.sent(), (vec![], vec![r#"Locator("b")"#.to_owned()]), "another one listed it too");
}
