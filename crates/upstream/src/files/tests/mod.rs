//! The files as a whole: what is written into a directory, and what comes of it.

mod explaining;
mod format;
mod loading;
mod messages;
mod updating;
mod validating;
mod watching;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_types::{DynamicParameters, ResourceLocator, TypeUrl};

use super::load::{Loaded, load};

/// A directory of resource files.
pub(super) struct Dir {
    dir: tempfile::TempDir,
}

impl Dir {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = Self { dir: tempfile::tempdir().unwrap() };
        for (name, text) in files {
            dir.write(name, text);
        }
        dir
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("resources")
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.path().join(name)).unwrap();
    }

    fn load(&self, previous: &Loaded) -> Loaded {
        load(&self.path(), previous).unwrap()
    }

    /// `text` with this directory's path taken out.
    fn relative(&self, text: impl ToString) -> String {
        text.to_string().replace(&format!("{}/", self.path().display()), "")
    }

    fn problems(&self, loaded: &Loaded) -> Vec<String> {
        loaded.problems().iter().map(|problem| self.relative(problem)).collect()
    }
}

fn cds() -> TypeUrl {
    TypeUrl::from_short_name("cds").unwrap()
}

fn params(pairs: &[(&str, &str)]) -> DynamicParameters {
    pairs.iter().copied().collect()
}

fn locator(name: &str, pairs: &[(&str, &str)]) -> ResourceLocator {
    ResourceLocator::new(name, params(pairs))
}

/// A file with one cluster for `constraints`.
fn cluster(name: &str, constraints: &str, alt_stat_name: &str) -> String {
    format!(
        "- constraints: {constraints}\n  resource:\n    '@type': {}\n    name: {name}\n    \
         alt_stat_name: '{alt_stat_name}'\n",
        cds()
    )
}

/// `name[constraints]` of everything that is held.
fn held(loaded: &Loaded) -> Vec<String> {
    loaded.resources().map(|resource| format!("{:?}", resource.variant.key())).collect()
}

fn file(name: &str) -> Arc<Path> {
    Arc::from(Path::new(name))
}
