use weir_types::{Absence, Answered, Batch, Provenance, Scope};

use super::super::source::Source;
use super::*;

/// `cds +a[anyone] -b[env=prod]`
fn shown(batches: &[Batch]) -> Vec<String> {
    let show = |batch: &Batch| {
        assert_eq!((batch.provenance, &batch.answered[..]), (Provenance::Local, &[Answered::all()][..]));
        let added = batch.upserts.iter().map(|variant| format!(" +{:?}", variant.key()));
        let removed = batch.removals.iter().map(|key| format!(" -{key:?}"));
        batch.type_url.short_name().to_owned() + &added.chain(removed).collect::<String>()
    };
    batches.iter().map(show).collect()
}

fn typed(short: &str, name: &str) -> String {
    let key = if short == "eds" { "cluster_name" } else { "name" };
    format!("- {{ '@type': {}, {key}: {name} }}\n", TypeUrl::from_short_name(short).unwrap())
}

#[test]
fn o01_additions_then_removals_in_make_before_break_order() {
    let all = |name: &str| ["rds", "lds", "eds", "cds"].map(|short| typed(short, name)).concat();
    let dir = Dir::new(&[("a.yaml", &all("old"))]);
    let mut source = Source::default();
    let loaded = dir.load(&Loaded::default());
    let wanted = ["cds +old[anyone]", "eds +old[anyone]", "lds +old[anyone]", "rds +old[anyone]"];
    assert_eq!(shown(&source.update(&loaded)), wanted);
    dir.write("a.yaml", &all("new"));
    let wanted = [
        "cds +new[anyone]",
        "eds +new[anyone]",
        "lds +new[anyone]",
        "rds +new[anyone]",
        "rds -old[anyone]",
        "lds -old[anyone]",
        "eds -old[anyone]",
        "cds -old[anyone]",
    ];
    assert_eq!(shown(&source.update(&dir.load(&loaded))), wanted);
}

#[test]
fn p08_variants_are_replaced_at_once() {
    let dir = Dir::new(&[("a.yaml", &cluster("a", "{}", ""))]);
    let mut source = Source::default();
    let loaded = dir.load(&Loaded::default());
    source.update(&loaded);
    dir.write("a.yaml", &(cluster("a", "{ env: prod }", "") + &cluster("a", "{ env: { not: prod } }", "")));
    let batches = source.update(&dir.load(&loaded));
    assert_eq!(shown(&batches), ["cds +a[env=prod] +a[env!=prod] -a[anyone]"]);
}

#[test]
fn d08_what_did_not_change_is_not_committed() {
    let dir = Dir::new(&[("a.yaml", &cluster("a", "{}", "")), ("b.yaml", &cluster("b", "{}", "1"))]);
    let mut source = Source::default();
    let loaded = dir.load(&Loaded::default());
    source.update(&loaded);
    dir.write("a.yaml", &("# a comment\n".to_owned() + &cluster("a", "{}", "")));
    let commented = dir.load(&loaded);
    assert!(source.update(&commented).is_empty());
    dir.write("b.yaml", &cluster("b", "{}", "2"));
    assert_eq!(shown(&source.update(&dir.load(&commented))), ["cds +b[anyone]"]);
}

#[test]
fn e05_a_bad_file_commits_nothing() {
    let dir = Dir::new(&[("a.yaml", &cluster("a", "{}", ""))]);
    let mut source = Source::default();
    let mut loaded = dir.load(&Loaded::default());
    source.update(&loaded);
    for bad in [
        "- [",
        "- { '@type': type.googleapis.com/envoy.config.cluster.v3.Cluster, nam: a }",
        "- { name: b, resource: { '@type': x/acme.Widget, value: 'not base64' } }",
        &(cluster("b", "{}", "") + &cluster("b", "{}", "")),
        &cluster("b", "{ env: {} }", ""),
        &cluster(&"x".repeat(5000), "{}", ""),
        &cluster("b", "{}", "")
            .replace("constraints: {}", "dynamic_parameter_constraints: { not_constraints: {} }"),
    ] {
        dir.write("a.yaml", bad);
        loaded = dir.load(&loaded);
        assert_eq!((loaded.problems().len(), held(&loaded)), (1, vec!["a[anyone]".to_owned()]), "{bad}");
        assert!(source.update(&loaded).is_empty(), "{bad}");
    }
}

#[test]
fn i06_names_that_nothing_answers_are_absent_at_once() {
    let dir = Dir::new(&[("a.yaml", &cluster("a", "{ env: prod }", ""))]);
    let mut source = Source::default();
    let loaded = dir.load(&Loaded::default());
    source.update(&loaded);
    assert!(source.want(cds(), locator("a", &[("env", "prod")])).is_none());
    let batch = source.want(cds(), locator("a", &[("env", "test")])).unwrap();
    assert_eq!((&*batch.absent[0].name, batch.absent[0].absence), ("a", Absence::Known));
    assert_eq!(batch.absent[0].scope, Scope::Exactly(params(&[("env", "test")])));

    dir.write("a.yaml", &cluster("a", "{ env: [test] }", ""));
    let batches = source.update(&dir.load(&loaded));
    assert_eq!(shown(&batches), ["cds +a[env=test] -a[env=prod]"]);
    assert_eq!(batches[0].absent.len(), 1, "prod has lost its variant, test has one now");
    assert_eq!(batches[0].absent[0].scope, Scope::Exactly(params(&[("env", "prod")])));
}

#[test]
fn i09_an_alias_is_a_name() {
    let text = cluster("a", "{}", "").replace("  resource:", "  aliases: [b]\n  resource:");
    let dir = Dir::new(&[("a.yaml", &text)]);
    let mut source = Source::default();
    source.update(&dir.load(&Loaded::default()));
    assert!(source.want(cds(), locator("b", &[])).is_none());
    assert!(source.want(cds(), locator("c", &[])).is_some());
}

#[test]
fn i14_i15_a_resource_without_a_body_does_not_exist() {
    let vhds = TypeUrl::from_short_name("vhds").unwrap();
    let missing = format!("type_url: {vhds}\nresources: [{{ name: r/none, aliases: [r/x] }}]");
    let dir = Dir::new(&[("a.yaml", &missing)]);
    let mut source = Source::default();
    let loaded = dir.load(&Loaded::default());
    assert!(source.update(&loaded).is_empty());
    let batch = source.want(vhds, locator("r/x", &[])).unwrap();
    assert_eq!((&*batch.absent[0].name, batch.absent[0].absence), ("r/x", Absence::Known));
}

#[test]
fn s11_a_wildcard_is_answered_also_where_there_is_nothing() {
    let mut source = Source::default();
    let batch = source.want(cds(), locator("*", &[("env", "x")])).unwrap();
    assert_eq!(batch.answered, [Answered::wildcard(Scope::Exactly(params(&[("env", "x")])))]);
    assert!(batch.absent.is_empty());
}

#[test]
fn names_that_are_given_up_are_forgotten() {
    let dir = Dir::new(&[("a.yaml", &cluster("a", "{}", "")), ("b.yaml", &cluster("b", "{}", ""))]);
    let mut source = Source::default();
    let loaded = dir.load(&Loaded::default());
    source.update(&loaded);
    source.want(cds(), locator("a", &[]));
    source.give_up(&cds(), &locator("a", &[]));
    dir.remove("a.yaml");
    let batches = source.update(&dir.load(&loaded));
    assert!(batches[0].absent.is_empty());
}
