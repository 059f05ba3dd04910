//! What must not be cached is for those who are subscribed when it comes, and for nobody who comes later.

#![allow(clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod support;

use std::sync::Arc;

use support::{Fixture, Stream, aliased, anyone, cds, only, plain, prod, stated, variant, wildcard};
use weir_database::DemandChange::{self, Dropped, Renewed, Wanted};
use weir_database::{Refresh, Shape};
use weir_types::{Content, Form, KnownVersions, Name, Provenance, Selector, Variant, VariantKey};

fn uncacheable(key: VariantKey, body: &str) -> Variant {
    uncacheable_like(&variant(key, body))
}

fn uncacheable_like(variant: &Variant) -> Variant {
    let content = Content { do_not_cache: true, ..variant.content().clone() };
    Variant::new(variant.key().clone(), content)
}

fn wanted(name: &str) -> DemandChange {
    Wanted(cds(), plain(name).locator)
}

fn renewed(name: &str) -> DemandChange {
    Renewed(cds(), plain(name).locator)
}

impl Fixture {
    fn bring(&self, name: &str, body: &str) {
        self.commit(Provenance::Named, vec![uncacheable(anyone(name), body)], vec![]);
    }

    fn demand(&self) -> Vec<DemandChange> {
        self.database.take_demand()
    }
}

impl Stream {
    /// What it is sent anew: resources only.
    fn news(&mut self) -> Vec<String> {
        self.sent().0
    }

    /// All that it is shown.
    fn whole(&self) -> Vec<String> {
        stated(&self.pending(Shape::Everything, false)).0
    }
}

#[test]
fn p17_it_is_told_to_those_who_are_there_and_later_ones_have_it_sent_again() {
    let fixture = Fixture::new();
    let mut first = fixture.attach(&[plain("a")]);
    fixture.bring("a", "1");
    assert_eq!(fixture.demand(), [wanted("a")]);
    let mut second = fixture.attach(&[plain("a")]);
    assert_eq!(fixture.demand(), [renewed("a")]);
    assert_eq!((second.sent(), second.attachment.unsettled().names), ((vec![], vec![]), 1));
    assert_eq!(first.news(), ["a[anyone]=1"], "also if it was slow");
    let woken = first.woken();
    fixture.bring("a", "1");
    assert_eq!((second.news(), second.attachment.unsettled().names), (vec!["a[anyone]=1".to_owned()], 0));
    assert_eq!((first.news(), first.woken()), (vec![], woken), "nothing has changed for the first");
    assert_eq!(fixture.database.renewals(), 1);
}

#[test]
fn p17_those_who_come_while_it_is_fetched_share_that() {
    let fixture = Fixture::new();
    let _first = fixture.attach(&[plain("a")]);
    fixture.bring("a", "1");
    fixture.demand();
    let mut waiting = [fixture.attach(&[plain("a")]), fixture.attach(&[plain("a")])];
    assert_eq!(fixture.demand(), [renewed("a")]);
    assert_eq!(waiting[0].attachment.view(), waiting[1].attachment.view());
    fixture.bring("a", "1");
    assert!(waiting.iter_mut().all(|stream| stream.news() == ["a[anyone]=1"]));
    let mut late = fixture.attach(&[plain("a")]);
    assert_eq!((late.news(), fixture.demand()), (vec![], vec![renewed("a")]));
}

#[test]
fn p17_changes_and_removals_reach_all() {
    let fixture = Fixture::new();
    let mut streams = vec![fixture.attach(&[plain("a")])];
    for round in 1..4 {
        fixture.bring("a", &round.to_string());
        let sent = streams.iter_mut().map(Stream::news);
        assert!(sent.into_iter().all(|sent| sent == [format!("a[anyone]={round}")]), "{round}");
        streams.push(fixture.attach(&[plain("a")]));
    }
    fixture.remove(Provenance::Named, anyone("a"));
    fixture.deny("a", prod());
    for mut stream in streams {
        assert_eq!(
            (stream.sent(), stream.attachment.unsettled().names),
            ((vec![], vec![r#"Name("a")"#.into()]), 0)
        );
    }
}

#[test]
fn p17_silence_is_an_answer_to_those_who_wait() {
    let fixture = Fixture::new();
    let mut first = fixture.attach(&[plain("a")]);
    fixture.bring("a", "1");
    assert_eq!(first.news(), ["a[anyone]=1"]);
    let mut second = fixture.attach(&[plain("a")]);
    fixture.deny("a", prod());
    assert_eq!(second.sent(), (vec![], vec![r#"Name("a")"#.into()]));
    assert_eq!(first.sent(), (vec![], vec![]), "the client that has it was sent nothing else");
}

#[test]
fn p17_a_stream_keeps_what_it_has_while_its_subscription_changes() {
    let fixture = Fixture::new();
    let mut first = fixture.attach(&[plain("a")]);
    fixture.bring("a", "1");
    fixture.demand();
    first.change(&[plain("b")], &[]);
    fixture.put(Provenance::Named, anyone("b"), "1");
    assert_eq!(first.news(), ["a[anyone]=1", "b[anyone]=1"]);
    first.change(&[plain("c")], &[plain("b")]);
    assert_eq!(first.whole(), ["a[anyone]=1"]);
    assert_eq!(fixture.demand(), [wanted("b"), wanted("c")]);
    first.change(&[], &[plain("a")]);
    first.change(&[plain("a")], &[]);
    assert_eq!((first.whole(), fixture.demand()), (vec![], vec![renewed("a")]));
}

#[test]
fn p17_full_state_repeats_it_to_those_who_have_it() {
    let fixture = Fixture::new();
    let mut first = fixture.attach(&[plain("a"), plain("b")]);
    fixture.bring("a", "1");
    first.step(Shape::Everything, false);
    let second = fixture.attach(&[plain("a"), plain("b")]);
    fixture.put(Provenance::Named, anyone("b"), "1");
    assert_eq!(first.whole(), ["a[anyone]=1", "b[anyone]=1"]);
    assert_eq!((second.whole(), second.attachment.unsettled().names), (vec!["b[anyone]=1".to_owned()], 1));
}

#[test]
fn p17_it_is_forgotten_when_the_last_one_leaves() {
    let mut fixture = Fixture::new();
    let first = fixture.attach(&[plain("a")]);
    fixture.bring("a", "1");
    fixture.demand();
    drop(first);
    assert_eq!(fixture.database.statistics().variants, 0);
    fixture.bring("a", "2");
    assert_eq!(fixture.database.statistics().variants, 0, "what comes for nobody is not kept");
    let mut second = fixture.attach(&[plain("a")]);
    assert_eq!((second.sent(), fixture.demand()), ((vec![], vec![]), vec![renewed("a")]));
    fixture.bring("a", "2");
    assert_eq!(second.news(), ["a[anyone]=2"]);
    drop(second);
    fixture.idle();
    assert_eq!(fixture.demand(), [Dropped(cds(), plain("a").locator)]);
}

#[test]
fn p17_what_takes_the_place_of_something_cached_is_not_kept_for_those_who_left() {
    let fixture = Fixture::new();
    drop(fixture.attach(&[plain("a")]));
    fixture.put(Provenance::Named, anyone("a"), "old");
    fixture.bring("a", "1");
    fixture.demand();
    let mut late = fixture.attach(&[plain("a")]);
    assert_eq!((late.sent(), fixture.demand()), ((vec![], vec![]), vec![renewed("a")]));
    drop(late);
    fixture.bring("a", "1");
    fixture.put(Provenance::Named, anyone("a"), "cached");
    assert_eq!(fixture.attach(&[plain("a")]).news(), ["a[anyone]=cached"]);
}

#[test]
fn p17_younger_ones_may_leave_first() {
    let mut fixture = Fixture::new();
    let mut first = fixture.attach(&[plain("a")]);
    fixture.bring("a", "1");
    let second = fixture.attach(&[plain("a")]);
    fixture.demand();
    drop(second);
    fixture.idle();
    assert_eq!(fixture.demand(), [], "it is still wanted");
    fixture.bring("a", "2");
    assert_eq!(first.news(), ["a[anyone]=2"]);
    assert_eq!(fixture.attach(&[plain("a")]).news(), Vec::<String>::new());
    assert_eq!(fixture.demand(), [renewed("a")]);
    drop(first);
    fixture.idle();
    assert_eq!(fixture.demand(), [Dropped(cds(), plain("a").locator)]);
    assert_eq!(fixture.database.statistics(), weir_database::Statistics::default());
}

#[test]
fn p17_what_may_be_cached_again_is_served_from_the_cache() {
    let fixture = Fixture::new();
    let mut first = fixture.attach(&[plain("a")]);
    fixture.bring("a", "1");
    fixture.put(Provenance::Named, anyone("a"), "1");
    assert_eq!(first.news(), ["a[anyone]=1"]);
    fixture.demand();
    assert_eq!(fixture.attach(&[plain("a")]).news(), ["a[anyone]=1"]);
    assert_eq!(fixture.demand(), []);
}

#[test]
fn p17_of_a_collection_the_rest_is_served_at_once() {
    let fixture = Fixture::new();
    let mut first = fixture.attach(&[wildcard()]);
    let all = || vec![uncacheable(anyone("a"), "1"), variant(anyone("b"), "1")];
    fixture.commit(Provenance::Wildcard, all(), vec![]);
    fixture.answer_wildcards();
    assert_eq!(first.news(), ["a[anyone]=1", "b[anyone]=1"]);
    fixture.demand();
    let mut second = fixture.attach(&[wildcard()]);
    assert_eq!((second.news(), fixture.demand()), (vec!["b[anyone]=1".to_owned()], vec![renewed("*")]));
    assert_eq!(second.attachment.unsettled().collections, 1);
    fixture.commit(Provenance::Wildcard, all(), vec![]);
    fixture.answer_wildcards();
    assert_eq!(
        (second.news(), second.attachment.unsettled().collections),
        (vec!["a[anyone]=1".to_owned()], 0)
    );
    assert_eq!(first.news(), Vec::<String>::new());
    drop((first, second));
    let mut third = fixture.attach(&[wildcard()]);
    assert_eq!((third.news(), fixture.demand()), (vec!["b[anyone]=1".to_owned()], vec![renewed("*")]));
    assert_eq!(third.attachment.unsettled().collections, 1, "a state without it is not whole");
}

#[test]
fn p17_other_locators_have_it_sent_for_themselves() {
    let fixture = Fixture::new();
    let mut named = fixture.attach(&[plain("a")]);
    fixture.commit(Provenance::Named, vec![uncacheable_like(&aliased(anyone("a"), "1", &["b"]))], vec![]);
    assert_eq!(named.news(), ["a[anyone]=1"]);
    let mut others =
        [fixture.attach(&[plain("b")]), fixture.attach(&[Selector::located("a", support::test())])];
    assert!(others.iter_mut().all(|other| other.sent() == (vec![], vec![])));
    fixture.commit(Provenance::Named, vec![uncacheable_like(&aliased(anyone("a"), "1", &["b"]))], vec![]);
    assert!(others.iter_mut().all(|other| other.news() == ["a[anyone]=1"]));
}

#[test]
fn p17_it_is_matched_as_any_other_variant() {
    let fixture = Fixture::new();
    let mut stream = fixture.attach(&[plain("a")]);
    let both = || vec![uncacheable(only("a", "prod"), "special"), variant(anyone("a"), "general")];
    fixture.commit(Provenance::Named, both(), vec![]);
    assert_eq!(stream.news(), ["a[env=prod]=special"]);
    let mut late = fixture.attach(&[plain("a")]);
    assert_eq!(late.news(), Vec::<String>::new(), "the general one is not for it");
    fixture.commit(Provenance::Named, both(), vec![]);
    assert_eq!(late.news(), ["a[env=prod]=special"]);
    fixture.remove(Provenance::Named, only("a", "prod"));
    assert_eq!([stream.news(), late.news()], [["a[anyone]=general"], ["a[anyone]=general"]]);
}

#[test]
fn p17_whoever_asks_again_has_it_sent_again() {
    let fixture = Fixture::new();
    let mut first = fixture.attach(&[plain("a"), plain("b")]);
    fixture.bring("a", "1");
    fixture.put(Provenance::Named, anyone("b"), "1");
    fixture.demand();
    let again = [plain("a"), plain("b")];
    first.attachment.ask_again(&again).expect("nothing is limited");
    assert_eq!((first.news(), fixture.demand()), (vec!["a[anyone]=1".into(), "b[anyone]=1".into()], vec![]));
    first.attachment.ask_again(&again).expect("nothing is limited");
    assert_eq!((first.whole(), fixture.demand()), (vec!["b[anyone]=1".to_owned()], vec![renewed("a")]));
    fixture.bring("a", "1");
    assert_eq!(first.news(), ["a[anyone]=1"]);
}

/// One who has been sent `a` for `env=prod`, and asks for it again by locator.
fn asking_again() -> (Fixture, Stream) {
    let fixture = Fixture::new();
    let again = [Selector::located("a", prod())];
    let mut stream = fixture.attach(&again);
    fixture.commit(Provenance::Named, vec![uncacheable(only("a", "prod"), "1")], vec![]);
    assert_eq!(stream.news(), ["a[env=prod]=1"]);
    stream.attachment.ask_again(&again).expect("nothing is limited");
    assert_eq!(stream.sent(), (vec![], vec![]), "upstream has to send it");
    (fixture, stream)
}

#[test]
fn p17_who_asks_again_loses_what_another_variant_takes_the_place_of() {
    let (fixture, mut stream) = asking_again();
    fixture.commit(Provenance::Named, vec![uncacheable(anyone("a"), "2")], vec![only("a", "prod")]);
    let gone = r#"Variant(a[env=prod])"#;
    assert_eq!(stream.sent(), (vec!["a[anyone]=2".into()], vec![gone.into()]));
    assert_eq!(stream.sent(), (vec![], vec![]), "once");
}

#[test]
fn p17_who_asks_again_for_what_is_no_more_loses_it() {
    let (fixture, mut stream) = asking_again();
    fixture.remove(Provenance::Named, only("a", "prod"));
    fixture.deny("a", prod());
    assert_eq!(stream.sent(), (vec![], vec![r#"Variant(a[env=prod])"#.into()]));
}

#[test]
fn p17_who_asks_again_keeps_what_comes_again() {
    let (fixture, mut stream) = asking_again();
    fixture.commit(Provenance::Named, vec![uncacheable(only("a", "prod"), "1")], vec![]);
    assert_eq!(stream.sent(), (vec!["a[env=prod]=1".into()], vec![]));
    fixture.remove(Provenance::Named, only("a", "prod"));
    assert_eq!(stream.sent().1.len(), 1);
}

#[test]
fn p17_who_returns_is_told_what_differs() {
    let fixture = Fixture::new();
    let body = uncacheable(anyone("a"), "1");
    for (held, sent) in [("1", vec![]), ("0", vec!["a[anyone]=1".to_owned()])] {
        let returning = fixture.attach(&[plain("a")]);
        let version = uncacheable(anyone("a"), held).version(Form::Plain);
        let known: KnownVersions = [(Name::from("a"), Arc::from(version.to_string()))].into_iter().collect();
        let pending = || stated(&returning.pending_with(Shape::Changes, Refresh::None, Some(&known))).0;
        assert_eq!(pending(), Vec::<String>::new());
        fixture.commit(Provenance::Named, vec![body.clone()], vec![]);
        assert_eq!(pending(), sent);
    }
}
