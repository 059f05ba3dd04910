//! A directory of files, read as a whole: what it holds, with the last good content of each file that is bad.
//!
//! Pure but for reading: the caller passes what was there before and gets what is there now.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_types::{FileFormat, TypeUrl, VariantKey};
use xxhash_rust::xxh3::xxh3_128;

use super::resource::{Origin, Problem, Resource, parse};

/// The directory, or the one file, cannot be read at all.
#[derive(Debug, thiserror::Error)]
#[error("cannot read resource files from {path}: {error}")]
pub struct Unreadable {
    /// What was to be read.
    pub path: PathBuf,
    /// Why it cannot be.
    #[source]
    pub error: io::Error,
}

impl From<Unreadable> for Problem {
    fn from(unreadable: Unreadable) -> Self {
        let Unreadable { path, error } = unreadable;
        self::unreadable(&path.into(), &error)
    }
}

/// What the files hold.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    files: BTreeMap<Arc<Path>, Content>,
    problems: Vec<Problem>,
}

/// What is served of one file.
#[derive(Clone, Debug, Default)]
struct Content {
    /// A hash of the bytes that this was read from; none while the file never was good.
    hash: Option<u128>,
    resources: Arc<[Resource]>,
}

impl Loaded {
    /// The resources, by file and in the file's order. No two of a type have the same name and constraints.
    pub fn resources(&self) -> impl Iterator<Item = &Resource> {
        self.files.values().flat_map(|content| content.resources.iter())
    }

    /// What is wrong with files, by file and line. Of a bad file the last good content is kept.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The rules of Envoy's API that resources break, by file and line.
    pub fn violations(&self) -> Vec<Problem> {
        let mut violations: Vec<_> = self.resources().flat_map(|one| &one.violations).cloned().collect();
        violations.sort_unstable();
        violations
    }

    /// How many files there are, bad ones included.
    pub fn file_count(&self) -> usize {
        self.files.len()
    }
}

/// Reads all resource files below `path`, or the one file `path`. Hidden files and directories are passed over. Files that did not change since `previous` are not parsed again.
///
/// # Errors
/// When `path` itself cannot be read; what is wrong with a file is among [`Loaded::problems`].
pub fn load(path: &Path, previous: &Loaded) -> Result<Loaded, Unreadable> {
    let mut listing = Listing::default();
    listing.walk_root(path).map_err(|error| Unreadable { path: path.to_owned(), error })?;
    let mut merge =
        Merge { previous, kept: BTreeMap::new(), fresh: BTreeMap::new(), problems: listing.problems };
    for unreadable in &listing.unreadable {
        merge.keep_below(unreadable);
    }
    for file in listing.files {
        merge.read(file);
    }
    Ok(merge.finish())
}

/// The files of a directory.
#[derive(Default)]
struct Listing {
    files: Vec<Arc<Path>>,
    /// GlobIndex that could not be listed.
    unreadable: Vec<PathBuf>,
    problems: Vec<Problem>,
    /// The directories that were visited: a symbolic link may lead back.
    visited: BTreeSet<PathBuf>,
}

impl Listing {
    fn walk_root(&mut self, path: &Path) -> io::Result<()> {
        if fs::metadata(path)?.is_dir() {
            return self.walk(path);
        }
        self.files.push(path.into());
        Ok(())
    }

    fn walk(&mut self, dir: &Path) -> io::Result<()> {
        if !self.visited.insert(fs::canonicalize(dir)?) {
            return Ok(());
        }
        let mut paths = fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
        paths.sort_unstable();
        for path in paths.into_iter().filter(|path| !is_hidden(path)) {
            if path.is_dir() {
                if let Err(error) = self.walk(&path) {
                    self.problems.push(unreadable(&Arc::from(&*path), &error));
                    self.unreadable.push(path);
                }
            } else if FileFormat::of(&path).is_some() {
                self.files.push(path.into());
            }
        }
        Ok(())
    }
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

fn unreadable(file: &Arc<Path>, error: &io::Error) -> Problem {
    Problem {
        origin: Origin { file: Arc::clone(file), line: None },
        reason: format!("cannot be read: {error}"),
    }
}

/// Puts together what is kept from before and what was read anew.
struct Merge<'a> {
    previous: &'a Loaded,
    /// Files that did not change, and the last good content of bad ones.
    kept: BTreeMap<Arc<Path>, Content>,
    /// Changed files that are good in themselves.
    fresh: BTreeMap<Arc<Path>, Content>,
    problems: Vec<Problem>,
}

impl Merge<'_> {
    fn read(&mut self, file: Arc<Path>) {
        let bytes = match fs::read(&file) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.problems.push(unreadable(&file, &error));
                return self.keep(file);
            }
        };
        let hash = Some(xxh3_128(&bytes));
        if self.previous.files.get(&file).is_some_and(|content| content.hash == hash) {
            return self.keep(file);
        }
        let parsed = parse(&file, &bytes).and_then(|resources| match repeated(&resources) {
            problems if problems.is_empty() => Ok(resources),
            problems => Err(problems),
        });
        match parsed {
            Ok(resources) => {
                self.fresh.insert(file, Content { hash, resources: resources.into() });
            }
            Err(problems) => {
                self.problems.extend(problems);
                self.keep(file);
            }
        }
    }

    fn keep(&mut self, file: Arc<Path>) {
        let content = self.previous.files.get(&file).cloned().unwrap_or_default();
        self.kept.insert(file, content);
    }

    fn keep_below(&mut self, dir: &Path) {
        let below = self.previous.files.iter().filter(|(file, _)| file.starts_with(dir));
        self.kept.extend(below.map(|(file, content)| (Arc::clone(file), content.clone())));
    }

    /// Takes the changed files as far as they do not repeat what another holds. One that does is bad, and its
    /// last good content is kept: what was kept before never conflicts, so each round leaves fewer to try.
    fn finish(mut self) -> Loaded {
        while let Some((file, problems)) = self.conflict() {
            self.problems.extend(problems);
            self.fresh.remove(&file);
            self.keep(file);
        }
        self.problems.sort_unstable();
        self.kept.append(&mut self.fresh);
        Loaded { files: self.kept, problems: self.problems }
    }

    /// The first changed file that repeats what a kept one or an earlier one holds.
    fn conflict(&self) -> Option<(Arc<Path>, Vec<Problem>)> {
        let mut held = Held::default();
        for content in self.kept.values() {
            held.add(&content.resources);
        }
        self.fresh.iter().find_map(|(file, content)| {
            let problems = held.add(&content.resources);
            (!problems.is_empty()).then(|| (Arc::clone(file), problems))
        })
    }
}

/// What repeats itself within one file.
fn repeated(resources: &[Resource]) -> Vec<Problem> {
    Held::default().add(resources)
}

/// Who holds which variant.
#[derive(Default)]
struct Held<'a>(HashMap<(&'a TypeUrl, &'a VariantKey), &'a Origin>);

impl<'a> Held<'a> {
    /// Adds `resources` and states which of them were held already (TP2: a name with equal constraints may
    /// come only once).
    fn add(&mut self, resources: &'a [Resource]) -> Vec<Problem> {
        let mut problems = Vec::new();
        for resource in resources {
            let key = resource.variant.key();
            match self.0.get(&(&resource.type_url, key)) {
                None => {
                    self.0.insert((&resource.type_url, key), &resource.origin);
                }
                Some(first) => {
                    let (name, constraints) = (&key.name, &key.constraints);
                    let reason = format!("{name} for {constraints} is already defined at {first}");
                    problems.push(Problem { origin: resource.origin.clone(), reason });
                }
            }
        }
        problems
    }
}
