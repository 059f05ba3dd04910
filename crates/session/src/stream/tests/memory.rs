//! What a stream remembers of a client, whatever the client does.

use super::*;
use crate::StreamError;
use crate::stream::type_subscription::MAX_GIVEN_UP;

/// Gives up so many names that a wildcard covers, one at a time, and reads nothing; the refusal, if there is one.
fn gives_up(fixture: &mut Fixture, count: usize) -> Option<StreamError> {
    (0..count).find_map(|i| {
        let name = format!("n{i}");
        let messages = match fixture.dialect {
            Sotw => [replace("cds", "", &["*", &name]), replace("cds", "", &["*"])],
            Delta => [patch("cds", "", &[&name], &[]), patch("cds", "", &[], &[&name])],
        };
        messages.into_iter().find_map(|message| fixture.tries(message).err())
    })
}

#[test]
fn e05_names_that_are_given_up_are_remembered_up_to_a_limit() {
    for dialect in [Delta, Sotw] {
        let mut fixture = Fixture::new(dialect);
        fixture.answer("cds");
        fixture.subscribe("cds", &["*"]);
        fixture.drain();
        assert_eq!(gives_up(&mut fixture, 100), None);
        fixture.drain();
        assert_eq!(fixture.session.remembered(), 0, "{dialect}: whoever reads is not limited");
        let refused = gives_up(&mut fixture, MAX_GIVEN_UP + 100);
        let remembered = fixture.session.remembered();
        match dialect {
            // Each list contains all that is wanted: what was given up before is remembered no longer.
            Sotw => assert_eq!((refused, remembered), (None, 1)),
            Delta => {
                let refused = refused.expect("it is too much");
                assert!(refused.message.contains("were given up"), "{refused}");
                assert!(remembered <= MAX_GIVEN_UP + 2, "{remembered}");
            }
        }
    }
}

#[test]
fn o03_clusters_of_which_the_endpoints_are_never_asked_for_are_not_remembered_for_good() {
    let mut fixture = Fixture::new(Delta);
    fixture.answer("cds");
    fixture.subscribe("cds", &["*"]);
    fixture.drain();
    let mut most = 0;
    for i in 0..1_000 {
        fixture.commit_clusters(&[&format!("c{i}")]);
        let nonce = fixture.only().nonce;
        fixture.ack("cds", &nonce);
        most = most.max(fixture.session.remembered());
    }
    assert!(most > 0 && most < 100, "{most}");
    fixture.commit("eds", &["c0", "c999"]);
    let (first, last) = (fixture.version("eds", "c0"), fixture.version("eds", "c999"));
    fixture.sends(holding(patch("eds", "", &["c0", "c999"], &[]), &[("c0", &first), ("c999", &last)]));
    assert_eq!(fixture.only().resources, ["c0", "c999"], "a client that does ask waits for any of them");
}
