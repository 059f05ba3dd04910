//! Which tests hold which promise: `docs/conformance.md` gives the ids, the tests carry them in their names.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// Where the promises are, relative to the workspace.
const PROMISES: &str = "docs/conformance.md";
/// Where tests are, relative to the workspace.
const SOURCES: [&str; 4] = ["crates", "bin", "tests/tests", "tests/src"];

/// Counts the tests that hold each promise, or prints them `all`, and fails when one has none, or a test names one that is
/// not made.
pub(crate) fn report(root: &Path, all: bool) -> Result<()> {
    let text = fs::read_to_string(root.join(PROMISES)).with_context(|| format!("read {PROMISES}"))?;
    let mut promises: BTreeMap<String, Promise> = promises(&text).collect();
    let mut unknown = Vec::new();
    for test in tests(root)? {
        for id in ids(&test.name) {
            match promises.get_mut(id) {
                Some(promise) => promise.tests.push(format!("{}::{}", test.file, test.name)),
                None => unknown.push(format!("{id} in {}::{}", test.file, test.name)),
            }
        }
    }
    for (id, Promise { about, tests }) in promises.iter().filter(|_| all) {
        println!("{id}  {about}");
        tests.iter().for_each(|test| println!("     {test}"));
    }
    let bare: Vec<&str> =
        promises.iter().filter(|(_, promise)| promise.tests.is_empty()).map(|(id, _)| &**id).collect();
    let tests: usize = promises.values().map(|promise| promise.tests.len()).sum();
    println!("{} promises, held by {tests} tests", promises.len());
    if !bare.is_empty() {
        bail!("no test holds {}", bare.join(", "));
    }
    if !unknown.is_empty() {
        bail!("{PROMISES} has no {}", unknown.join(", "));
    }
    Ok(())
}

struct Promise {
    about: String,
    tests: Vec<String>,
}

/// The rows of the tables: `| id | promise |`.
fn promises(text: &str) -> impl Iterator<Item = (String, Promise)> {
    text.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        let id = cells.next().filter(|id| is_id(id))?;
        let about = cells.next()?.trim_end_matches(" |").to_owned();
        Some((id.to_owned(), Promise { about, tests: Vec::new() }))
    })
}

struct Test {
    file: String,
    name: String,
}

/// Every function that an attribute makes a test, in all sources.
fn tests(root: &Path) -> Result<Vec<Test>> {
    let mut files = Vec::new();
    for source in SOURCES {
        collect(&root.join(source), &mut files)?;
    }
    files.sort();
    let mut tests = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        let file = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        tests.extend(test_names(&text).map(|name| Test { file: file.clone(), name }));
    }
    Ok(tests)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// The functions that follow a test attribute, with other attributes in between.
fn test_names(text: &str) -> impl Iterator<Item = String> {
    let mut is_test = false;
    text.lines().filter_map(move |line| {
        let line = line.trim_start();
        if line.starts_with("#[") || line.starts_with("//") {
            is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
            return None;
        }
        let test = std::mem::take(&mut is_test);
        let line = line.strip_prefix("async ").unwrap_or(line);
        let name = line.strip_prefix("fn ").filter(|_| test)?;
        Some(name.split(['(', '<']).next().unwrap_or_default().to_owned())
    })
}

/// The ids at the head of a test's name: `i05_u03_what_was_missed…`.
fn ids(name: &str) -> impl Iterator<Item = &str> {
    name.split('_').take_while(|word| is_id(word))
}

fn is_id(word: &str) -> bool {
    matches!(word.as_bytes(), [letter, tens, ones]
        if letter.is_ascii_lowercase() && tens.is_ascii_digit() && ones.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_found_by_their_attribute() {
        let text = "\
            #[tokio::test(start_paused = true)]\n\
            // Why.\n\
            async fn p04_d02_unknown_keys<T>() {}\n\
            fn p05_a_helper() {}\n\
            #[test]\n\
            #[ignore = \"slow\"]\n\
            fn s01_whole(x in 0..2) {}\n";
        assert_eq!(test_names(text).collect::<Vec<_>>(), ["p04_d02_unknown_keys", "s01_whole"]);
        assert_eq!(ids("p04_d02_unknown_keys").collect::<Vec<_>>(), ["p04", "d02"]);
        assert_eq!(ids("what_p04_means").count(), 0);
    }

    #[test]
    fn promises_are_rows_with_an_id() {
        let text = "| id | promise |\n|---|---|\n| d01 | served |\n| d0x | not one |\n";
        let found: Vec<_> = promises(text).map(|(id, promise)| (id, promise.about)).collect();
        assert_eq!(found, [("d01".to_owned(), "served".to_owned())]);
    }
}
