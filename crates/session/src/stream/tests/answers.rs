//! What a client has answered for, for whoever waits for it (u10).

use super::*;
use weir_types::Dialect::{Delta, Sotw};

impl Fixture {
    /// What was answered for since this was asked last: up to which commit, and whether it was rejected.
    pub(super) fn answers(&mut self, short: &str) -> Vec<(u64, bool)> {
        let mut answers = Vec::new();
        self.world(short, |world| answers = std::mem::take(&mut world.answers));
        answers
    }
}

fn says(dialect: Dialect, short: &str, nonce: &str) -> Inbound {
    match dialect {
        Sotw => replace(short, nonce, &["a"]),
        Delta => patch(short, nonce, &[], &[]),
    }
}

/// A client of endpoints that has accepted the first response.
fn client(dialect: Dialect) -> Fixture {
    let mut fixture = Fixture::new(dialect);
    fixture.says(match dialect {
        Sotw => replace("eds", "", &["a"]),
        Delta => patch("eds", "", &["a"], &[]),
    });
    fixture.drain();
    fixture.adds("eds");
    let (nonce, _) = fixture.only();
    fixture.says(says(dialect, "eds", &nonce));
    fixture.answers("eds");
    fixture
}

#[test]
fn u10_a_client_answers_for_what_it_was_told_when_it_accepts_or_rejects_it() {
    for dialect in [Sotw, Delta] {
        let mut fixture = client(dialect);
        fixture.adds("eds");
        let (nonce, _) = fixture.only();
        assert_eq!(fixture.answers("eds"), [], "sent is not accepted");
        fixture.says(says(dialect, "eds", &nonce));
        assert_eq!(fixture.answers("eds"), [(fixture.commits, false)]);
        fixture.adds("eds");
        let (nonce, _) = fixture.only();
        fixture.says(nack(says(dialect, "eds", &nonce)));
        assert_eq!(fixture.answers("eds"), [(fixture.commits, true)]);
    }
}

#[test]
fn u10_an_answer_that_a_newer_response_has_overtaken_counts_for_what_it_answers() {
    for dialect in [Sotw, Delta] {
        let mut fixture = client(dialect);
        fixture.adds("eds");
        let (older, _) = fixture.only();
        fixture.adds("eds");
        let (newest, _) = fixture.only();
        fixture.says(says(dialect, "eds", &older));
        assert_eq!(fixture.answers("eds"), [(fixture.commits - 1, false)]);
        fixture.says(says(dialect, "eds", &newest));
        assert_eq!(fixture.answers("eds"), [(fixture.commits, false)]);
        for foreign in ["", "ffff-0", "no nonce"] {
            fixture.says(says(dialect, "eds", foreign));
            assert_eq!(fixture.answers("eds"), [], "{foreign}");
        }
    }
}

#[test]
fn u10_silence_is_an_answer_when_nothing_is_outstanding() {
    let mut fixture = client(Delta);
    // Concerns the view, and leaves nothing to be sent.
    fixture.framer.silent = true;
    fixture.adds("eds");
    assert_eq!(fixture.drain(), []);
    assert_eq!(fixture.answers("eds"), [(fixture.commits, false)]);
    fixture.framer.silent = false;
    fixture.adds("eds");
    let (nonce, _) = fixture.only();
    fixture.framer.silent = true;
    fixture.adds("eds");
    assert_eq!(fixture.drain(), []);
    assert_eq!(fixture.answers("eds"), []);
    fixture.says(says(Delta, "eds", &nonce));
    assert_eq!(fixture.answers("eds"), [(fixture.commits, false)]);
}

#[test]
fn u10_what_is_held_back_is_not_answered_for_by_accepting_the_rest() {
    let mut fixture = Fixture::new(Delta);
    for short in ["cds", "rds"] {
        fixture.says(patch(short, "", &["a"], &[]));
    }
    fixture.drain();
    fixture.adds("cds");
    fixture.removes("cds");
    fixture.adds("rds");
    let sent: Vec<String> = std::iter::from_fn(|| fixture.next()).map(|(nonce, _)| nonce).collect();
    let [additions, _, removals] = &sent[..] else { panic!("{sent:?}") };
    fixture.answers("cds");
    fixture.says(patch("cds", additions, &[], &[]));
    assert_eq!(fixture.answers("cds"), [], "the removal is still to be accepted");
    fixture.says(patch("cds", removals, &[], &[]));
    assert_eq!(fixture.answers("cds"), [(fixture.commits - 1, false)]);
}
