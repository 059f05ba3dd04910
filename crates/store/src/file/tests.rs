use std::fs;

use super::*;

/// Opens a file that `spoil` has been at, and gives the names of what was set aside.
fn opened_after(spoil: impl FnOnce(&Path)) -> Vec<PathBuf> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    spoil(&path);
    let connection = open_or_replace(&path).expect("there is a store");
    connection.execute("INSERT INTO locators VALUES (1, 'a', x'', 0, NULL)", []).unwrap();
    aside(&path).unwrap()
}

type Spoil = fn(&Path);

fn filled(path: &Path) {
    let connection = open_or_replace(path).unwrap();
    for row in 0..2000 {
        let name = format!("{row:0200}");
        connection.execute("INSERT INTO locators VALUES (1, ?1, x'', 0, NULL)", [name]).unwrap();
    }
    connection.pragma_update(None, "wal_checkpoint", "TRUNCATE").unwrap();
}

#[test]
fn u09_a_file_that_cannot_be_used_is_set_aside_and_a_new_one_begun() {
    assert!(opened_after(|_| ()).is_empty(), "there was none");
    assert!(opened_after(|path| fs::write(path, "").unwrap()).is_empty(), "an empty one is a new one");
    assert!(opened_after(filled).is_empty(), "it is ours");
    let spoils: [(&str, Spoil); 7] = [
        ("a text", |path| fs::write(path, "[store]\n".repeat(1000)).unwrap()),
        ("another program's database", |path| {
            Connection::open(path).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
        }),
        ("a newer format", |path| {
            filled(path);
            Connection::open(path).unwrap().pragma_update(None, "user_version", FORMAT + 1).unwrap();
        }),
        ("one cut short", |path| {
            filled(path);
            let file = OpenOptions::new().write(true).open(path).unwrap();
            file.set_len(file.metadata().unwrap().len() / 2).unwrap();
        }),
        ("one with pages of something else", |path| {
            filled(path);
            let mut bytes = fs::read(path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle..middle + 16384].fill(0xa5);
            fs::write(path, bytes).unwrap();
        }),
        ("a torn header", |path| {
            filled(path);
            let mut bytes = fs::read(path).unwrap();
            bytes[..100].fill(0);
            fs::write(path, bytes).unwrap();
        }),
        ("one without its tables", |path| {
            let connection = open_or_replace(path).unwrap();
            connection.execute_batch("DROP TABLE locators").unwrap();
        }),
    ];
    for (what, spoil) in spoils {
        let aside = opened_after(spoil);
        assert_eq!(aside.len(), 1, "{what}: {aside:?}");
    }
}

#[test]
fn what_was_set_aside_is_never_written_over() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    for text in ["one", "two", "three"] {
        fs::write(&path, text.repeat(1000)).unwrap();
        open_or_replace(&path).unwrap();
    }
    fs::write(directory.path().join("store.broken-by-hand"), "").unwrap();
    assert_eq!(aside(&path).unwrap().len(), 3);
}

#[test]
fn only_its_owner_may_read_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    let connection = open_or_replace(&path).unwrap();
    connection.execute("INSERT INTO locators VALUES (1, 'a', x'', 0, NULL)", []).unwrap();
    for path in [path.clone(), suffixed(&path, "-wal"), suffixed(&path, "-shm")] {
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{path:?}");
    }
}

#[test]
fn there_is_no_store_where_there_can_be_none() {
    let directory = tempfile::tempdir().unwrap();
    assert!(open_or_replace(directory.path()).is_err(), "it is a directory");
    assert!(directory.path().exists());
    assert!(open_or_replace(&directory.path().join("nowhere/store")).is_err());
}
