use super::super::explain::{Mismatch, explain};
use super::*;

fn loaded() -> (Dir, Loaded) {
    let dir = Dir::new(&[(
        "a.yaml",
        &[
            cluster("a", "{ env: [prod, test], version: { exists: false } }", "1"),
            cluster("a", "{ version: v1 }", "2"),
            cluster("a", "{ env: test }", "3"),
            cluster("other", "{}", "4"),
        ]
        .concat(),
    )]);
    let loaded = dir.load(&Loaded::default());
    assert!(loaded.problems().is_empty());
    (dir, loaded)
}

#[test]
fn p02_the_variant_that_matches_and_why_the_others_do_not() {
    let (dir, loaded) = loaded();
    let given = params(&[("env", "prod"), ("zone", "x")]);
    let explanation = explain(&loaded, &cds(), &"a".into(), &given);
    assert_eq!(dir.relative(&explanation.chosen.unwrap().origin), "a.yaml:1");
    assert!(explanation.rivals.is_empty());
    let of = |resource| {
        let mismatch = Mismatch::of(resource, &given).unwrap();
        let (key, value) = mismatch.given.into_iter().next().unwrap();
        (mismatch.requirement, key.to_string(), value)
    };
    let why: Vec<_> = explanation.mismatches.iter().copied().map(of).collect();
    let [absent, other] = ["version", "env"].map(str::to_owned);
    assert_eq!(why, [("version=v1".into(), absent, None), ("env=test".into(), other, Some("prod".into()))]);
}

#[test]
fn p12_where_variants_overlap() {
    let (dir, loaded) = loaded();
    let explanation = explain(&loaded, &cds(), &"a".into(), &params(&[("env", "test")]));
    assert_eq!(dir.relative(&explanation.chosen.unwrap().origin), "a.yaml:1", "constrained by more keys");
    assert_eq!(explanation.rivals.len(), 1);
    let pairs = explanation.overlaps.flatten().map(|overlap| {
        let [left, right] = overlap.pair.map(|resource| resource.origin.line.unwrap());
        (left, right, overlap.witness.as_ref().unwrap().to_string())
    });
    assert_eq!(
        pairs.collect::<Vec<_>>(),
        [(1, 11, "{env=test}".to_owned()), (6, 11, "{env=test, version=v1}".to_owned())]
    );
}

#[test]
fn an_unknown_name_has_no_variants() {
    let (_dir, loaded) = loaded();
    let explanation = explain(&loaded, &cds(), &"b".into(), &params(&[]));
    assert!(
        explanation.chosen.is_none()
            && explanation.mismatches.is_empty()
            && explanation.overlaps.count() == 0
    );
}
