//! Acknowledgements that wait until others have been asked (u10, e04).

use super::*;

/// A stream with an answered response of endpoints, and one that is held back.
fn held(dialect: Dialect) -> (Fixture, Ticket) {
    let mut f = Fixture::named(dialect).with(&eds(), &["a"], vec![variant("a", "1")]);
    let ticket = f.respond(&eds(), vec![variant("a", "2")], &[]).ticket.unwrap();
    f.stream.defer_ack(&ticket);
    (f, ticket)
}

fn answers(requests: Vec<Request>) -> Vec<(String, Option<String>)> {
    requests.into_iter().map(|request| (request.nonce.to_string(), request.nack)).collect()
}

#[test]
fn u10_a_held_answer_is_given_when_it_is_released_and_later_ones_wait_their_turn() {
    for dialect in [Dialect::Sotw, Dialect::Delta] {
        let (mut f, ticket) = held(dialect);
        assert_eq!(f.sent(), []);
        let second = f.respond(&eds(), vec![variant("a", "3")], &[]);
        assert_eq!(upserts(&second.batch).len(), 1, "applied at once");
        f.respond_with(&eds(), vec![rejected(Some("a"), "a: bad")], &[]);
        assert_eq!(f.sent(), [], "{dialect}: in order");
        f.stream.complete_ack(&ticket, None);
        let nack = Some("a: bad".to_owned());
        assert_eq!(answers(f.sent()), [("n2".into(), None), ("n3".into(), None), ("n4".into(), nack)]);
        f.stream.complete_ack(&ticket, None);
        assert_eq!(f.sent(), []);
    }
}

#[test]
fn u10_other_types_are_not_held_up() {
    let (mut f, _) = held(Dialect::Sotw);
    f.subscribe(&cds(), &["c"]);
    assert_eq!(f.request().type_url, cds());
    f.respond(&cds(), vec![variant("c", "1")], &[]);
    assert_eq!(answers(f.sent()), [("n3".into(), None)]);
}

#[test]
fn u10_what_is_asked_meanwhile_acknowledges_nothing() {
    let (mut f, ticket) = held(Dialect::Sotw);
    f.subscribe(&eds(), &["b"]);
    let request = f.request();
    assert_eq!((&*request.nonce, &*request.version), ("n1", "v1"), "what was accepted last");
    assert_eq!(request.subscribe, locators(&["a", "b"]));
    f.stream.complete_ack(&ticket, None);
    let request = f.request();
    assert_eq!((&*request.nonce, &*request.version), ("n2", "v2"));
    assert_eq!(request.subscribe, locators(&["a", "b"]), "for a server that would not listen before");

    let (mut f, ticket) = held(Dialect::Delta);
    f.subscribe(&eds(), &["b"]);
    let request = f.request();
    assert_eq!((&*request.nonce, request.subscribe), ("", locators(&["b"])));
    f.stream.complete_ack(&ticket, None);
    assert_eq!(answers(f.sent()), [("n2".into(), None)]);
}

#[test]
fn u10_what_was_given_up_and_wanted_again_meanwhile_is_left_out_where_the_server_listens() {
    let (mut f, ticket) = held(Dialect::Sotw);
    f.unsubscribe(&eds(), &["a"]);
    f.subscribe(&eds(), &["a"]);
    assert_eq!(f.request().subscribe, locators(&["a"]));
    f.stream.complete_ack(&ticket, None);
    let lists: Vec<_> = f.sent().into_iter().map(|request| request.subscribe).collect();
    assert_eq!(lists, [vec![], locators(&["a"])]);
}

#[test]
fn e04_a_rejection_by_others_is_a_nack_and_no_version_stands_for_what_is_held() {
    let (mut f, ticket) = held(Dialect::Sotw);
    f.stream.complete_ack(&ticket, Some("no".into()));
    let request = f.request();
    assert_eq!((&*request.nonce, request.nack.as_deref()), ("n2", Some("no")));
    assert_eq!(&*request.version, "v1", "the last accepted one");
    assert_eq!(&*f.connect()[0].version, "", "which would be wrong if the server went back to it");

    let (mut f, ticket) = held(Dialect::Delta);
    f.stream.complete_ack(&ticket, Some("no".into()));
    assert_eq!(answers(f.sent()), [("n2".into(), Some("no".into()))]);
    assert_eq!(f.connect()[0].initial_versions, [("a".into(), "2".into())], "what is held is held");
}

#[test]
fn u10_a_new_stream_does_not_outrun_what_an_old_one_waited_for() {
    for dialect in [Dialect::Sotw, Dialect::Delta] {
        let (mut f, ticket) = held(dialect);
        let first = f.connect().remove(0);
        assert_eq!((&*first.nonce, &*first.version, first.nack), ("", "", None), "{dialect}");
        f.respond(&eds(), vec![variant("a", "2")], &[]);
        assert_eq!(f.sent(), [], "{dialect}: the same content, of which others have yet to be received");
        f.stream.complete_ack(&ticket, Some("no".into()));
        assert_eq!(answers(f.sent()), [("n3".into(), None)], "{dialect}: the old stream is not answered");
    }
}

#[test]
fn u10_what_is_rejected_already_or_was_not_asked_for_waits_for_nobody() {
    let mut f = Fixture::named(Dialect::Delta).with(&eds(), &["a"], vec![]);
    assert_eq!(f.respond_with(&eds(), vec![rejected(Some("a"), "a: bad")], &[]).ticket, None);
    assert_eq!(f.respond(&cds(), vec![variant("c", "1")], &[]).ticket, None);
}

#[test]
fn u10_a_type_that_moves_to_another_stream_leaves_nothing_to_wait_for() {
    let (mut f, _) = held(Dialect::Delta);
    let mut to = Fixture::named(Dialect::Delta);
    to.connect();
    to.stream.take_over(f.stream.hand_over(&eds()).unwrap());
    to.sent();
    to.respond(&eds(), vec![variant("a", "3")], &[]);
    assert_eq!(answers(to.sent()), [("n1".into(), None)]);
}
