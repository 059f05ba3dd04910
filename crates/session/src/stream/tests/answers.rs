//! What a client has answered for, for whoever waits for it (u10).

use weir_database::Watch;
use weir_types::Dialect;

use super::fixture::anyones;
use super::*;

/// A client of endpoints that has accepted the first response.
fn client(dialect: Dialect) -> Fixture {
    let mut fixture = client_of(dialect, &["eds"]);
    fixture.commit("eds", &["a"]);
    let nonce = fixture.only().nonce;
    fixture.ack("eds", &nonce);
    fixture
}

/// Changes `a`, and watches who answers for it.
fn change(fixture: &mut Fixture) -> Watch {
    fixture.watched("eds", |fixture, batch| batch.upserts.push(fixture.fresh("eds", "a")))
}

/// How many have accepted it, and how many rejected it.
fn answers(watch: &Watch) -> (usize, usize) {
    let tally = watch.tally();
    (tally.accepted, tally.rejected)
}

#[test]
fn u10_a_client_answers_for_what_it_was_told_when_it_accepts_or_rejects_it() {
    for dialect in [Sotw, Delta] {
        let mut fixture = client(dialect);
        let watch = change(&mut fixture);
        let nonce = fixture.only().nonce;
        assert_eq!(answers(&watch), (0, 0), "sent is not accepted");
        fixture.ack("eds", &nonce);
        assert_eq!(answers(&watch), (1, 0));
        let watch = change(&mut fixture);
        let nonce = fixture.only().nonce;
        fixture.nack("eds", &nonce);
        assert_eq!(answers(&watch), (0, 1));
    }
}

#[test]
fn u10_an_answer_that_a_newer_response_has_overtaken_counts_for_what_it_answers() {
    for dialect in [Sotw, Delta] {
        let mut fixture = client(dialect);
        let first = change(&mut fixture);
        let older = fixture.only().nonce;
        let second = change(&mut fixture);
        let newest = fixture.only().nonce;
        for foreign in ["", "ffff-0", "no nonce"] {
            fixture.ack("eds", foreign);
            assert_eq!((answers(&first), answers(&second)), ((0, 0), (0, 0)), "{foreign}");
        }
        fixture.ack("eds", &older);
        assert_eq!((answers(&first), answers(&second)), ((1, 0), (0, 0)));
        fixture.ack("eds", &newest);
        assert_eq!(answers(&second), (1, 0));
    }
}

#[test]
fn u10_silence_is_an_answer_when_nothing_is_outstanding() {
    let mut fixture = Fixture::new(Sotw);
    fixture.commit_body("cds", "a", "1");
    fixture.subscribe("cds", &["a"]);
    let nonce = fixture.only().nonce;
    fixture.ack("cds", &nonce);
    // Concerns the view, and leaves nothing to be sent.
    let silent = |fixture: &mut Fixture, body: &'static str| {
        let watch = fixture.watched("cds", |fixture, batch| batch.upserts.push(fixture.fresh("cds", "a")));
        fixture.commit_body("cds", "a", body);
        assert_eq!(fixture.drain(), []);
        watch
    };
    let watch = silent(&mut fixture, "1");
    assert_eq!(answers(&watch), (1, 0));
    fixture.commit_body("cds", "a", "2");
    let nonce = fixture.only().nonce;
    let watch = silent(&mut fixture, "2");
    assert_eq!(answers(&watch), (0, 0));
    fixture.ack("cds", &nonce);
    assert_eq!(answers(&watch), (1, 0));
}

#[test]
fn u10_what_is_held_back_is_not_answered_for_by_accepting_the_rest() {
    let mut fixture = client_of(Delta, &["cds", "rds"]);
    let watch = fixture.watched("cds", |fixture, batch| {
        batch.upserts.push(fixture.fresh("cds", "a"));
        batch.removals.push(anyones("b"));
    });
    fixture.commit("rds", &["a"]);
    let sent = fixture.drain_later();
    let [additions, _, removals] = &sent[..] else { panic!("{sent:?}") };
    fixture.ack("cds", &additions.nonce);
    assert_eq!(answers(&watch), (0, 0), "the removal is still to be accepted");
    fixture.ack("cds", &removals.nonce);
    assert_eq!(answers(&watch), (1, 0));
}
