//! Watched commits: which streams are waited for, and when they are done (u10).

#![allow(clippy::expect_used, reason = "a test ends at the first thing that is not as it should be")]

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use support::*;
use weir_database::{Answer, Observer, Tally, Touched, ViewListener, Watch};
use weir_types::{Batch, Provenance, SubscriptionChange};

#[derive(Default)]
struct Bell(AtomicUsize);

impl Observer for Bell {
    fn over(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Bell {
    fn rung(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

fn watched(fixture: &Fixture, percent: u8, names: &[&str], body: &str) -> (Watch, Arc<Bell>) {
    let bell = Arc::new(Bell::default());
    let mut batch = Batch::new(cds(), Provenance::Local);
    batch.upserts = names.iter().map(|name| variant(anyone(name), body)).collect();
    let watch = fixture.database.commit_watched(batch, percent, Arc::clone(&bell) as Arc<dyn Observer>);
    (watch, bell)
}

fn accepts(stream: &mut Stream) {
    stream.sent();
    stream.attachment.answer(stream.attachment.cursor().removals, None);
}

fn tally(subscribers: usize, accepted: usize, rejected: usize, left: usize) -> Tally {
    Tally { subscribers, accepted, rejected, left, reason: None }
}

#[test]
fn u10_a_commit_is_over_when_the_streams_that_it_concerns_have_answered() {
    let fixture = Fixture::new();
    let (mut one, mut other) = (fixture.attach(&[plain("a")]), fixture.attach(&[plain("a"), plain("b")]));
    let mut bystander = fixture.attach(&[plain("b")]);
    let (watch, bell) = watched(&fixture, 100, &["a"], "1");
    let mut late = fixture.attach(&[plain("a")]);
    accepts(&mut late);
    accepts(&mut bystander);
    accepts(&mut one);
    assert!(!watch.is_over() && bell.rung() == 0, "{watch:?}");
    accepts(&mut one);
    assert_eq!(watch.tally(), tally(2, 1, 0, 0), "a stream answers once");
    accepts(&mut other);
    assert!(watch.is_over());
    assert_eq!(bell.rung(), 1);
}

#[test]
fn u10_what_concerns_nobody_is_over_at_once() {
    let fixture = Fixture::new();
    let (watch, _) = watched(&fixture, 100, &["a"], "1");
    assert!(watch.is_over());
    let mut stream = fixture.attach(&[plain("a")]);
    accepts(&mut stream);
    let (same, _) = watched(&fixture, 100, &["a"], "1");
    assert!(same.is_over(), "nothing has changed");
    let (elsewhere, _) = watched(&fixture, 100, &["b"], "1");
    assert!(elsewhere.is_over(), "nobody asks for it");
}

#[test]
fn u10_a_share_of_the_streams_is_enough() {
    let fixture = Fixture::new();
    let mut streams: Vec<_> = (0..5).map(|_| fixture.attach(&[plain("a")])).collect();
    let (watch, bell) = watched(&fixture, 50, &["a"], "1");
    accepts(&mut streams[0]);
    accepts(&mut streams[1]);
    assert!(!watch.is_over(), "half of five is three");
    accepts(&mut streams[2]);
    accepts(&mut streams[3]);
    assert!(watch.is_over());
    assert_eq!(bell.rung(), 1, "it is woken once");
}

#[test]
fn u10_a_stream_that_leaves_is_done() {
    let fixture = Fixture::new();
    let (one, mut other) = (fixture.attach(&[plain("a")]), fixture.attach(&[plain("a")]));
    let (watch, _) = watched(&fixture, 100, &["a"], "1");
    drop(one);
    accepts(&mut other);
    drop(other);
    assert!(watch.is_over());
    assert_eq!(watch.tally(), tally(2, 1, 0, 1), "who has answered leaves nothing open");
}

#[test]
fn u10_a_stream_that_changes_its_subscription_still_owes_its_answer() {
    let fixture = Fixture::new();
    // The neighbouring view is there already, and touched by the commit too.
    let mut neighbour = fixture.attach(&[plain("a"), plain("b")]);
    let mut stream = fixture.attach(&[plain("a")]);
    let (watch, _) = watched(&fixture, 100, &["a"], "1");
    stream.change(&[plain("b")], &[]);
    assert_eq!(stream.attachment.view(), neighbour.attachment.view());
    accepts(&mut neighbour);
    assert_eq!(watch.tally(), tally(2, 1, 0, 0));
    accepts(&mut stream);
    assert_eq!(watch.tally(), tally(2, 2, 0, 0));

    let (watch, _) = watched(&fixture, 100, &["a"], "2");
    stream.change(&[], &[plain("a")]);
    stream.change(&[plain("c")], &[]);
    drop(stream);
    assert_eq!(watch.tally(), tally(2, 0, 0, 1));
}

#[test]
fn e04_rejections_are_counted_with_the_first_reason() {
    let fixture = Fixture::new();
    let mut streams: Vec<_> = (0..3).map(|_| fixture.attach(&[plain("a")])).collect();
    let (first, _) = watched(&fixture, 100, &["a"], "1");
    let (second, _) = watched(&fixture, 100, &["a"], "2");
    for (stream, reason) in streams.iter_mut().zip([Some("no"), None, Some("never")]) {
        stream.sent();
        stream.attachment.answer(stream.attachment.cursor().removals, reason);
    }
    let sent = Tally { reason: Some("no".into()), ..tally(3, 1, 2, 0) };
    assert_eq!((first.tally(), second.tally()), (sent.clone(), sent), "one answer counts for all before");
}

#[test]
fn u10_an_answer_to_what_came_before_counts_for_nothing_later() {
    let fixture = Fixture::new();
    let mut stream = fixture.attach(&[plain("a")]);
    let (first, _) = watched(&fixture, 100, &["a"], "1");
    stream.sent();
    let sent = stream.attachment.cursor().removals;
    let (second, _) = watched(&fixture, 100, &["a"], "2");
    stream.attachment.answer(sent, None);
    assert!(first.is_over() && !second.is_over());
    drop(second);
    accepts(&mut stream);
}

/// Notes what it is notified of.
#[derive(Default)]
struct Follower(Mutex<Vec<String>>);

impl Follower {
    fn note(&self, what: String) {
        self.0.lock().expect("nobody panics").push(what);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().expect("nobody panics"))
    }
}

impl Observer for Follower {
    fn over(&self) {
        self.note("over".to_owned());
    }

    fn touched(&self, views: &[Touched<'_>]) {
        let mut views: Vec<_> =
            views.iter().map(|view| (view.subscription.iter().count(), view.streams)).collect();
        views.sort_unstable();
        self.note(format!("touched {views:?}"));
    }

    fn sent(&self, view: usize) {
        self.note(format!("sent {view}"));
    }

    fn answered(&self, view: usize, stream: &dyn ViewListener, answer: Answer<'_>) {
        self.note(format!("{view} {} {answer:?}", stream.name()));
    }

    fn note(&self, view: usize) -> Option<Arc<[u8]>> {
        Some([u8::try_from(view).unwrap_or_default()].into())
    }
}

#[test]
fn an_observer_follows_a_commit_at_each_view() {
    let fixture = Fixture::new();
    let mut one = fixture.attach(&[plain("a")]);
    let mut mover = fixture.attach(&[plain("a")]);
    let before = one.attachment.cursor().removals;
    let follower = Arc::new(Follower::default());
    let mut batch = Batch::new(cds(), Provenance::Local);
    batch.upserts = vec![variant(anyone("a"), "1")];
    let _watch = fixture.database.commit_watched(batch, 100, Arc::clone(&follower) as Arc<dyn Observer>);
    assert_eq!(follower.take(), ["touched [(1, 2)]"], "one view, two streams");

    let head = one.attachment.head().newest();
    assert_eq!(one.attachment.note(before, head).as_deref(), Some(&[0][..]));
    assert_eq!(one.attachment.note(head, head), None, "it was sent that before");
    one.sent();
    one.attachment.note_sent(head);
    one.attachment.note_sent(head);
    one.attachment.answer(head, Some("bad"));
    assert_eq!(follower.take(), ["sent 0", "0 somebody Rejected(\"bad\")"], "sent once");

    mover.attachment.change(SubscriptionChange::adding(&[plain("b")])).expect("nothing is limited");
    mover.attachment.note_sent(head);
    drop(mover);
    assert_eq!(follower.take(), ["sent 0", "0 somebody Left", "over"], "it owes this wherever it goes");
}
