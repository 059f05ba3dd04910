//! The structure of the workspace: which crate may use which, and how long a file may be. When one of these
//! fails, it is the code that is wrong, or `ARCHITECTURE.md`; not the table.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Every crate, and which other crates of the workspace its code may use.
const ARROWS: &[(&str, &[&str])] = &[
    ("weir-types", &[]),
    ("weir-wire", &["weir-types"]),
    ("weir-protocol", &["weir-types"]),
    ("weir-database", &["weir-types"]),
    ("weir-session", &["weir-types", "weir-wire", "weir-database"]),
    ("weir-metrics", &[]),
    ("weir-store", &["weir-types", "weir-config", "weir-metrics", "weir-wire"]),
    ("weir-watch", &[]),
    ("weir-tls", &["weir-types", "weir-metrics", "weir-watch"]),
    (
        "weir-upstream",
        &[
            "weir-types",
            "weir-metrics",
            "weir-wire",
            "weir-protocol",
            "weir-database",
            "weir-config",
            "weir-store",
            "weir-watch",
            "weir-tls",
        ],
    ),
    (
        "weir-downstream",
        &[
            "weir-types",
            "weir-metrics",
            "weir-wire",
            "weir-database",
            "weir-config",
            "weir-session",
            "weir-tls",
        ],
    ),
    ("weir-config", &["weir-types"]),
    ("weir-telemetry", &["weir-config", "weir-metrics"]),
    ("weir-admin", &["weir-types", "weir-metrics", "weir-wire", "weir-database", "weir-tls"]),
    ("weir-testkit", &["weir-types", "weir-wire", "weir-protocol", "weir-database", "weir-session"]),
];

/// Crates whose code has no clock, no task and no socket.
const WITHOUT_IO: &[&str] = &["weir-types", "weir-protocol", "weir-database", "weir-session"];
const IO: &[&str] = &["tokio", "tokio-stream", "tokio-util", "tonic", "hyper", "axum"];

/// Folders without IO in crates that have it, and what must not occur in them.
const FOLDERS_WITHOUT_IO: &[&str] = &["crates/upstream/src/stream"];
const IO_IN_TEXT: &[&str] = &["tokio::net", "tokio::time", "tokio::spawn", "tonic::", "async fn", ".await"];

/// Packages that no shipped code may contain.
const DEV_ONLY: &[&str] = &["weir-testkit", "envoy-types"];

const MAX_LINES: usize = 400;

/// What sources end with.
const SOURCES: [&str; 5] = ["rs", "js", "css", "html", "go"];

#[derive(Debug)]
struct Package {
    name: String,
    directory: PathBuf,
    dependencies: Vec<Dependency>,
}

#[derive(Debug)]
struct Dependency {
    name: String,
    /// Neither for tests nor for build scripts.
    normal: bool,
    optional: bool,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace is above").to_owned()
}

fn packages() -> BTreeMap<String, Package> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--no-deps", "--format-version", "1"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    let packages = metadata["packages"].as_array().expect("a list of packages");
    packages.iter().map(package).map(|package| (package.name.clone(), package)).collect()
}

fn package(json: &Value) -> Package {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let dependencies = json["dependencies"].as_array().expect("a list of dependencies").iter();
    Package {
        name: text(&json["name"]),
        directory: Path::new(&text(&json["manifest_path"])).parent().expect("a directory").to_owned(),
        dependencies: dependencies
            .map(|dependency| Dependency {
                name: text(&dependency["name"]),
                normal: dependency["kind"].is_null(),
                optional: dependency["optional"] == true,
            })
            .collect(),
    }
}

impl Package {
    fn uses(&self) -> impl Iterator<Item = &str> {
        self.dependencies.iter().filter(|d| d.normal && !d.optional).map(|d| &*d.name)
    }

    fn is_shipped(&self) -> bool {
        !DEV_ONLY.contains(&&*self.name) && !["weir-tests", "weir-fuzz", "weir-bench"].contains(&&*self.name)
    }
}

#[test]
fn every_crate_has_its_place() {
    let packages = packages();
    for package in packages.values().filter(|p| p.directory.starts_with(root().join("crates"))) {
        assert!(ARROWS.iter().any(|(name, _)| *name == package.name), "{} is not in the table", package.name);
    }
    for (name, _) in ARROWS {
        assert!(packages.contains_key(*name), "{name} is in the table and does not exist");
    }
}

#[test]
fn no_arrow_turns_round() {
    let packages = packages();
    for (name, allowed) in ARROWS {
        for used in packages[*name].uses().filter(|used| packages.contains_key(*used)) {
            assert!(allowed.contains(&used), "{name} may not use {used}");
        }
    }
}

#[test]
fn machines_have_no_io() {
    let packages = packages();
    for name in WITHOUT_IO {
        for used in packages[*name].uses() {
            assert!(!IO.contains(&used), "{name} may not use {used}");
        }
    }
}

#[test]
fn folders_of_machines_have_no_io() {
    for folder in FOLDERS_WITHOUT_IO {
        let mut files = Vec::new();
        collect_sources(&root().join(folder), &mut files);
        assert!(!files.is_empty(), "{folder} is there");
        for file in files {
            let text = std::fs::read_to_string(&file).expect("sources are text");
            let found = IO_IN_TEXT.iter().find(|io| text.contains(**io));
            assert_eq!(found, None, "{} may not use it", file.display());
        }
    }
}

#[test]
fn nothing_of_the_tests_is_shipped() {
    for package in packages().values().filter(|package| package.is_shipped()) {
        for used in package.uses() {
            assert!(!DEV_ONLY.contains(&used), "{} may use {used} in its tests only", package.name);
        }
    }
}

#[test]
fn a_file_holds_one_idea() {
    let mut files = Vec::new();
    for package in packages().values() {
        collect_sources(&package.directory, &mut files);
    }
    assert!(files.len() > 20, "the sources are there: {files:?}");
    let lines = |file: &PathBuf| std::fs::read_to_string(file).expect("sources are text").lines().count();
    let long: Vec<_> = files.iter().map(|file| (lines(file), file)).filter(|(n, _)| *n > MAX_LINES).collect();
    assert!(long.is_empty(), "files of more than {MAX_LINES} lines: {long:#?}");
}

#[test]
fn every_dependency_has_its_reason() {
    let (page, packages) = (read("ARCHITECTURE.md"), packages());
    let (_, table) = page.split_once("## Dependencies").expect("a table of dependencies");
    let used =
        packages.values().flat_map(|package| &package.dependencies).map(|dependency| &*dependency.name);
    let foreign = used.filter(|name| !packages.contains_key(*name));
    let missing: BTreeSet<_> = foreign.filter(|name| !table.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "not in the table of ARCHITECTURE.md: {missing:?}");
}

#[test]
fn every_file_on_the_page_exists() {
    let path = regex::Regex::new(r"[a-z0-9_/]+(?:\.rs|\.md|/)(?:[`\s,:;.)]|$)").expect("valid");
    let (page, mut crates, mut missing) = (read("ARCHITECTURE.md"), Vec::new(), Vec::new());
    let (map, _) = page.split_once("## Rules that hold everywhere").expect("a map of the code");
    for line in map.lines() {
        if line.starts_with('#') {
            crates = line.split('`').skip(1).step_by(2).map(|name| root().join(name).join("src")).collect();
        }
        for found in path.find_iter(line) {
            let found = found.as_str().trim_end_matches(|c: char| c != '/' && !c.is_alphanumeric());
            let places = crates.iter().cloned().chain([root(), root().join("crates")]);
            if found.len() > 3 && !places.into_iter().any(|place| place.join(found).exists()) {
                missing.push(found.to_owned());
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new(), "named in ARCHITECTURE.md");
}

#[test]
fn the_readme_leads_to_every_page() {
    let readme = read("README.md");
    let pages = std::fs::read_dir(root().join("docs"))
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"));
    let missing: Vec<_> = pages
        .filter(|name| name.ends_with(".md") && !readme.contains(&format!("| [docs/{name}](docs/{name}) |")))
        .collect();
    assert!(missing.is_empty(), "no row in README.md: {missing:?}");
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).expect("a text")
}

fn collect_sources(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect_sources(&path, files);
        } else if path.extension().is_some_and(|extension| SOURCES.iter().any(|source| extension == *source))
        {
            files.push(path);
        }
    }
}
