//! How the project speaks: words that no source, page or help text contains, and public types that have a name of
//! their own. `docs/contributing.md` has the rules. The list of shared names may only shrink.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Words without a place in comments, texts and identifiers, in all their forms.
const BANNED: &[&str] = &[
    "tell",
    "tells",
    "told",
    "telling",
    "say",
    "says",
    "said",
    "saying",
    "unsaid",
    "hear",
    "hears",
    "heard",
    "hearing",
    "speak",
    "speaks",
    "spoke",
    "spoken",
    "speaking",
    "bear",
    "bears",
    "bore",
    "borne",
    "bearing",
    "bury",
    "buries",
    "buried",
    "mourn",
    "mourns",
    "mourned",
    "bequeath",
    "bequeaths",
    "bequeathed",
    "heir",
    "heirs",
    "grave",
    "graves",
    "fleeting",
];

/// What is searched, relative to the workspace.
const ROOTS: &[&str] = &[
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "README.md",
    "SECURITY.md",
    ".cargo",
    ".clippy.toml",
    "Cargo.toml",
    "benches",
    "bin",
    "config",
    "crates",
    "deny.toml",
    "deploy",
    "docs",
    "proto",
    "tests",
];

/// Endings of files that are texts of ours.
const TEXTS: &[&str] =
    &["cjs", "css", "go", "html", "js", "json", "md", "proto", "py", "rs", "service", "toml", "yaml", "yml"];

/// Files that must contain the words, or are not written by us.
const EXCEPT: &[&str] = &["tests/tests/words.rs", "tests/package-lock.json", "proptest-regressions"];

/// Public types that share a name, which may only become fewer. Most are a section of the configuration beside the
/// settings of the crate that it is for, until there is one type for both, and answers of the admin interface beside what
/// they are made from.
const SHARED_NAMES: &[&str] = &[
    "Acknowledge",
    "Answer",
    "Applied",
    "Change",
    "Client",
    "ClientCertificate",
    "ColdStart",
    "ColdStarts",
    "Condition",
    "Connection",
    "Dialect",
    "DynamicParameters",
    "Error",
    "Explanation",
    "Failing",
    "Held",
    "Identity",
    "Kind",
    "Limits",
    "Locality",
    "LogLevel",
    "Mismatch",
    "Nack",
    "Naming",
    "Node",
    "NodeTemplate",
    "Origin",
    "Part",
    "Prefetch",
    "Problem",
    "Propagated",
    "Refused",
    "Rejected",
    "Request",
    "Resource",
    "Response",
    "Sent",
    "Service",
    "Settings",
    "ShrinkGuard",
    "Source",
    "Standing",
    "Statement",
    "Status",
    "Store",
    "Tally",
    "Telemetry",
    "Upstream",
    "Watch",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace is above").to_owned()
}

/// All texts below [`ROOTS`], by path relative to the workspace.
fn texts() -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    ROOTS.iter().for_each(|path| collect(&root().join(path), &mut texts));
    assert!(texts.len() > 500, "the sources are there: {}", texts.len());
    texts
}

fn collect(path: &Path, texts: &mut BTreeMap<String, String>) {
    let relative = path.strip_prefix(root()).expect("below the workspace").display().to_string();
    if EXCEPT.iter().any(|except| relative.ends_with(except)) {
        return;
    }
    if path.is_dir() {
        let entries = std::fs::read_dir(path).expect("a directory");
        entries.for_each(|entry| collect(&entry.expect("an entry").path(), texts));
    } else if path.extension().is_some_and(|ending| TEXTS.iter().any(|text| ending == *text)) {
        texts.insert(relative, std::fs::read_to_string(path).expect("a text"));
    }
}

/// The words of a line, in lower case: parts of identifiers too, except of tests that carry the id of a promise, since
/// those names are frozen.
fn words(line: &str) -> impl Iterator<Item = String> {
    let identifiers = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    identifiers.filter(|identifier| !is_promise(identifier)).flat_map(|identifier| {
        let mut words = vec![String::new()];
        let mut was_lower = false;
        for c in identifier.chars() {
            if !c.is_ascii_alphabetic() || was_lower && c.is_ascii_uppercase() {
                words.push(String::new());
            }
            was_lower = c.is_ascii_lowercase();
            words.last_mut().expect("a word").extend(c.is_ascii_alphabetic().then(|| c.to_ascii_lowercase()));
        }
        words
    })
}

/// Whether an identifier begins with an id of `docs/conformance.md`, as `p16_…`.
fn is_promise(identifier: &str) -> bool {
    matches!(identifier.as_bytes(), [letter, tens, ones, b'_', ..]
        if letter.is_ascii_lowercase() && tens.is_ascii_digit() && ones.is_ascii_digit())
}

#[test]
fn banned_words_are_not_used() {
    let mut found = Vec::new();
    for (path, text) in texts() {
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !is_renaming(&path, line)) {
            let Some(word) = words(line).find(|word| BANNED.contains(&&**word)) else { continue };
            found.push(format!("{path}:{number}: {word}: {}", line.trim()));
        }
    }
    assert!(found.is_empty(), "{} lines with banned words:\n{}", found.len(), found.join("\n"));
}

/// Whether a line is a row of the changelog that names something by its old name.
fn is_renaming(path: &str, line: &str) -> bool {
    path == "CHANGELOG.md" && line.starts_with("| ")
}

#[test]
fn no_two_public_types_share_a_name() {
    let mut types: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in
        texts().into_iter().filter(|(path, _)| path.ends_with(".rs") && path.contains("/src/"))
    {
        for name in text.lines().filter_map(public_type) {
            types.entry(name.to_owned()).or_default().insert(path.clone());
        }
    }
    types.retain(|_, paths| paths.len() > 1);
    let names: Vec<_> = types.keys().map(|name| &**name).collect();
    let new: Vec<_> = types.iter().filter(|(name, _)| !SHARED_NAMES.contains(&&***name)).collect();
    assert!(new.is_empty(), "each needs a name of its own: {new:#?}");
    let own: Vec<_> = SHARED_NAMES.iter().filter(|name| !names.contains(name)).collect();
    assert!(own.is_empty(), "no longer shared, so take them out of SHARED_NAMES: {own:?}");
}

/// The type that a line makes public beyond its crate.
fn public_type(line: &str) -> Option<&str> {
    let mut words = line.strip_prefix("pub ")?.split(' ');
    words.next().filter(|word| ["struct", "enum", "trait", "type", "union"].contains(word))?;
    words.next()?.split(|c: char| !c.is_ascii_alphanumeric()).next()
}

#[test]
fn words_are_found_in_identifiers() {
    let found = |line| words(line).filter(|word| BANNED.contains(&&**word)).collect::<Vec<_>>();
    assert_eq!(found("/// Tells `wasTold`, not_said2 of HEARD."), ["tells", "told", "said", "heard"]);
    assert_eq!(found("Bearer forbearance p16_what_was_said"), [""; 0]);
}
