//! What a stream remembers of a client, whatever the client does.

use super::*;
use crate::stream::logical::MAX_GIVEN_UP;
use weir_types::Dialect::{Delta, Sotw};

/// Gives up so many names that a wildcard covers, one at a time, and reads nothing; the refusal, if there is one.
fn gives_up(fixture: &mut Fixture, count: usize) -> Option<Refused> {
    let mut views = FakeViews(Rc::clone(&fixture.worlds));
    let dialect = fixture.stream.dialect();
    (0..count).find_map(|i| {
        let name = format!("n{i}");
        let said = match dialect {
            Sotw => [replace("cds", "", &["*", &name]), replace("cds", "", &["*"])],
            Delta => [patch("cds", "", &[&name], &[]), patch("cds", "", &[], &[&name])],
        };
        said.into_iter()
            .find_map(|inbound| fixture.stream.handle_message(inbound, &mut views, fixture.now).err())
    })
}

#[test]
fn e05_names_that_are_given_up_are_remembered_up_to_a_limit() {
    for dialect in [Delta, Sotw] {
        let mut fixture = Fixture::new(dialect);
        fixture.says(match dialect {
            Sotw => replace("cds", "", &["*"]),
            Delta => patch("cds", "", &["*"], &[]),
        });
        fixture.drain();
        assert_eq!(gives_up(&mut fixture, 100), None);
        fixture.drain();
        assert_eq!(fixture.stream.remembered(), 0, "{dialect}: whoever reads is not limited");
        let refused = gives_up(&mut fixture, 2 * MAX_GIVEN_UP);
        let remembered = fixture.stream.remembered();
        match dialect {
            // Each list contains all that is wanted: what was given up before is remembered no longer.
            Sotw => assert_eq!((refused, remembered), (None, 1)),
            Delta => {
                assert!(matches!(refused, Some(Refused::TooMuch(_))), "{refused:?}");
                assert!(remembered <= MAX_GIVEN_UP + 2, "{remembered}");
            }
        }
    }
}

#[test]
fn o03_clusters_of_which_the_endpoints_are_never_asked_for_are_not_remembered_for_good() {
    let mut fixture = Fixture::new(Delta);
    fixture.says(patch("cds", "", &["*"], &[]));
    let mut most = 0;
    for i in 0..1_000 {
        fixture.world("cds", |world| world.warming = [format!("c{i}").into()].into());
        fixture.adds("cds");
        let (nonce, _) = fixture.only();
        fixture.says(patch("cds", &nonce, &[], &[]));
        most = most.max(fixture.stream.remembered());
    }
    assert!(most > 0 && most < 100, "{most}");
    fixture.says(holding(patch("eds", "", &["c0", "c999"], &[]), &["c0", "c999"]));
    let (_, asked) = fixture.only();
    assert_eq!(asked.owed, ["c0", "c999"], "a client that does ask waits for any of them");
}
