use super::*;

#[test]
fn f01_files_are_found_by_their_names() {
    let dir = Dir::new(&[
        ("b.yaml", &cluster("b", "{}", "")),
        ("a.yml", &cluster("a", "{}", "")),
        ("below/c.json", &format!(r#"[{{"@type": "{}", "name": "c"}}]"#, cds())),
        (".hidden.yaml", "bad"),
        ("..2024/d.yaml", "bad"),
        ("README.md", "bad"),
        ("e.yaml~", "bad"),
    ]);
    let loaded = dir.load(&Loaded::default());
    assert_eq!(held(&loaded), ["a[anyone]", "b[anyone]", "c[anyone]"]);
    assert_eq!((loaded.problems(), loaded.file_count()), (&[][..], 3));
    let single = load(&dir.path().join("a.yml"), &Loaded::default()).unwrap();
    assert_eq!(held(&single), ["a[anyone]"]);
}

#[test]
fn f01_nothing_to_read_is_an_error() {
    let dir = Dir::new(&[]);
    let error = load(&dir.path(), &Loaded::default()).unwrap_err().to_string();
    let wanted = format!("cannot read resource files from {}: No such file", dir.path().display());
    assert!(error.starts_with(&wanted), "{error}");
}

#[test]
fn f01_the_last_good_content_of_a_bad_file_stays() {
    let dir = Dir::new(&[("a.yaml", &cluster("a", "{}", "")), ("b.yaml", &cluster("b", "{}", ""))]);
    let good = dir.load(&Loaded::default());
    dir.write("a.yaml", "resources: [");
    dir.write("b.yaml", &cluster("b2", "{}", ""));
    let bad = dir.load(&good);
    assert_eq!(held(&bad), ["a[anyone]", "b2[anyone]"]);
    assert_eq!(bad.problems().len(), 1);
    assert!(dir.problems(&bad)[0].starts_with("a.yaml:1: "), "{:?}", bad.problems());
    let still = dir.load(&bad);
    assert_eq!((held(&still), still.problems()), (held(&bad), bad.problems()));
    dir.write("a.yaml", &cluster("a2", "{}", ""));
    let mended = dir.load(&still);
    assert_eq!((held(&mended), mended.problems()), (vec!["a2[anyone]".into(), "b2[anyone]".into()], &[][..]));
    dir.remove("a.yaml");
    assert_eq!(held(&dir.load(&mended)), ["b2[anyone]"]);
}

#[test]
fn f01_a_file_that_is_bad_from_the_start_harms_no_other() {
    let dir = Dir::new(&[("a.yaml", "- x"), ("b.yaml", &cluster("b", "{}", ""))]);
    let loaded = dir.load(&Loaded::default());
    assert_eq!((held(&loaded), loaded.problems().len()), (vec!["b[anyone]".to_owned()], 1));
}

#[test]
fn p06_a_variant_comes_once_in_a_file() {
    let twice =
        cluster("a", "{ env: [x, y] }", "") + &cluster("b", "{}", "") + &cluster("a", "{ env: [y, x] }", "2");
    let dir = Dir::new(&[("a.yaml", &cluster("c", "{}", ""))]);
    let good = dir.load(&Loaded::default());
    dir.write("a.yaml", &twice);
    let loaded = dir.load(&good);
    assert_eq!(held(&loaded), ["c[anyone]"]);
    assert_eq!(dir.problems(&loaded), ["a.yaml:11: a for env=x or env=y is already defined at a.yaml:1"]);
}

#[test]
fn p06_a_variant_comes_once_in_all_files() {
    let dir =
        Dir::new(&[("b.yaml", &cluster("x", "{ env: prod }", "")), ("c.yaml", &cluster("y", "{}", ""))]);
    let good = dir.load(&Loaded::default());
    dir.write("a.yaml", &cluster("x", "{ env: prod }", "2"));
    dir.write("c.yaml", &(cluster("z", "{}", "") + &cluster("x", "{ env: prod }", "3")));
    let loaded = dir.load(&good);
    assert_eq!(held(&loaded), ["x[env=prod]", "y[anyone]"], "whoever had it keeps it");
    assert_eq!(
        dir.problems(&loaded),
        [
            "a.yaml:1: x for env=prod is already defined at b.yaml:1",
            "c.yaml:6: x for env=prod is already defined at b.yaml:1",
        ]
    );
    dir.remove("b.yaml");
    let moved = dir.load(&loaded);
    assert_eq!(held(&moved), ["x[env=prod]", "y[anyone]"], "the first of the others takes it");
    assert_eq!(dir.problems(&moved), ["c.yaml:6: x for env=prod is already defined at a.yaml:1"]);
}

#[test]
fn p06_a_bad_file_keeps_what_it_holds() {
    let dir = Dir::new(&[("a.yaml", &cluster("x", "{}", "")), ("b.yaml", &cluster("y", "{}", ""))]);
    let good = dir.load(&Loaded::default());
    dir.write("a.yaml", "- [");
    dir.write("b.yaml", &cluster("x", "{}", ""));
    let loaded = dir.load(&good);
    assert_eq!(held(&loaded), ["x[anyone]", "y[anyone]"]);
    assert_eq!(loaded.problems().len(), 2);
}

#[cfg(unix)]
#[test]
fn f01_links_that_lead_back_or_nowhere() {
    use std::os::unix::fs::symlink;
    let dir = Dir::new(&[("a.yaml", &cluster("a", "{}", ""))]);
    symlink(dir.path(), dir.path().join("loop")).unwrap();
    symlink("nowhere", dir.path().join("b.yaml")).unwrap();
    let loaded = dir.load(&Loaded::default());
    assert_eq!(held(&loaded), ["a[anyone]"]);
    assert!(dir.problems(&loaded)[0].starts_with("b.yaml: cannot be read: No such file"));
}
