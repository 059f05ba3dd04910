//! What cannot be accepted exists all the same: whatever goes beside it, it is not said to be gone (e03).

use super::*;

fn aliased(name: &str, alias: &str) -> Variant {
    Variant::new(key(name), Content { aliases: Arc::from([Name::from(alias)]), ..content("1") })
}

fn undecided(batch: &Batch) -> Vec<&Name> {
    batch.undecided.iter().map(|undecided| &undecided.name).collect()
}

#[test]
fn e03_a_name_that_has_lost_its_alias_waits_for_something_acceptable() {
    let mut f = Fixture::native(Dialect::Delta).with(&eds(), &["a", "x"], vec![aliased("x", "a")]);
    let applied = f.respond_with(&eds(), vec![rejected(Some("a"), "a: bad")], &["x"]);
    assert_eq!(removals(&applied.batch), keys(&["x"]));
    assert_eq!(absent(&applied.batch, Absence::Known), locators(&["x"]));
    assert_eq!(undecided(&applied.batch), [&Name::from("a")]);
    assert_eq!(absent(&f.time_out()[0], Absence::TimedOut), locators(&["a"]), "it was not sent again");
}

#[test]
fn e03_a_name_that_is_said_to_be_gone_is_gone_whatever_else_came_of_it() {
    let mut f = Fixture::native(Dialect::Delta).with(&eds(), &["a", "x"], vec![aliased("x", "a")]);
    let applied = f.respond_with(&eds(), vec![rejected(Some("a"), "a: bad")], &["x", "a"]);
    assert_eq!(absent(&applied.batch, Absence::Known), locators(&["a", "x"]));
    assert_eq!(undecided(&applied.batch), Vec::<&Name>::new());
}

#[test]
fn e03_what_is_stated_for_an_alias_stays_if_it_comes_and_cannot_be_accepted() {
    let mut f = Fixture::native(Dialect::Delta).with(&eds(), &["a"], vec![aliased("x", "a")]);
    f.stream.disconnected();
    f.connect();
    let applied = f.respond_with(&eds(), vec![rejected(Some("x"), "x: bad")], &["a"]);
    assert_eq!(removals(&applied.batch), []);
    assert_eq!(absent(&applied.batch, Absence::Known), []);
}

#[test]
fn e03_a_member_that_cannot_be_accepted_stays_when_its_glob_is_said_to_be_empty() {
    let [glob, one, two] = ["xdstp://x/acme/d/*", "xdstp://x/acme/d/1", "xdstp://x/acme/d/2"];
    let both = vec![variant(one, "1"), variant(two, "1")];
    let mut f = Fixture::native(Dialect::Delta).with(&eds(), &[glob], both);
    let applied = f.respond_with(&eds(), vec![rejected(Some(one), "bad")], &[glob]);
    assert_eq!(removals(&applied.batch), keys(&[two]));
}
