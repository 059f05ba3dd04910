//! What a path stands for: the links on the way to what it names.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// How many links lead on from one path at most, as for the system itself (`ELOOP`).
const MOST_LINKS: usize = 40;

/// What has to be looked at to notice that something else stands at some paths, or that it is not the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trail {
    /// The paths, and what becomes of them link by link.
    pub(crate) paths: BTreeSet<PathBuf>,
    /// Where they end.
    pub(crate) ends: BTreeSet<PathBuf>,
    /// The directories in which the links are, and the ends.
    pub(crate) directories: BTreeSet<PathBuf>,
}

impl Trail {
    /// Of `paths`, which are absolute. None of them need exist.
    pub(crate) fn of(paths: &[PathBuf]) -> Self {
        let mut trail = Self::default();
        paths.iter().for_each(|path| trail.add(path));
        trail
    }

    fn add(&mut self, path: &Path) {
        let mut path = path.to_owned();
        for _ in 0..MOST_LINKS {
            let (resolved, link) = follow_first_link(&path);
            self.paths.insert(path);
            path = resolved;
            let Some(link) = link else { break };
            self.directories.insert(directory(&link));
        }
        self.directories.insert(directory(&path));
        self.paths.insert(path.clone());
        self.ends.insert(path);
    }

    /// Whether an event at `path` concerns these paths: an event at what is on the way to them, or below.
    pub(crate) fn concerns(&self, path: &Path) -> bool {
        self.paths.iter().any(|known| path.starts_with(known) || known.starts_with(path))
    }
}

/// `path` with the first link in it followed, and where that link is; none where there is no link.
fn follow_first_link(path: &Path) -> (PathBuf, Option<PathBuf>) {
    let mut resolved = PathBuf::new();
    let mut parts = path.components();
    while let Some(part) = parts.next() {
        match part {
            Component::CurDir => continue,
            Component::ParentDir => {
                resolved.pop();
                continue;
            }
            part => resolved.push(part),
        }
        let Ok(target) = fs::read_link(&resolved) else { continue };
        let link = resolved.clone();
        resolved.pop();
        resolved.push(target);
        resolved.extend(parts);
        return (resolved, Some(link));
    }
    (resolved, None)
}

/// The directory that `path` is in, or would be: as much of it as there is.
fn directory(path: &Path) -> PathBuf {
    let above = path.ancestors().skip(1).find(|above| above.is_dir());
    above.unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Of a path in a directory with some directories, and links in it.
    fn trail_of(path: &str, directories: &[&str], links: &[(&str, &str)]) -> [Vec<String>; 3] {
        let root = tempfile::tempdir().unwrap();
        let base = root.path().canonicalize().unwrap();
        directories.iter().for_each(|name| fs::create_dir_all(base.join(name)).unwrap());
        links.iter().for_each(|(target, link)| symlink(target, base.join(link)).unwrap());
        let Trail { paths, ends, directories } = Trail::of(&[base.join(path)]);
        let relative = |set: BTreeSet<PathBuf>| {
            set.iter().map(|path| path.strip_prefix(&base).unwrap().display().to_string()).collect()
        };
        [paths, ends, directories].map(relative)
    }

    #[test]
    fn a_path_is_followed_link_by_link() {
        for (what, path, directories, links, wanted) in [
            ("plain", "a", &[][..], &[][..], [&["a"][..], &["a"], &[""]]),
            ("in directories that do not exist", "a/b/c", &["a"], &[], [&["a/b/c"], &["a/b/c"], &["a"]]),
            (
                "as Kubernetes mounts",
                "m/a",
                &["m/..1"],
                &[("..data/a", "m/a"), ("..1", "m/..data")],
                [&["m/..1/a", "m/..data/a", "m/a"], &["m/..1/a"], &["m", "m/..1"]],
            ),
            (
                "a directory on the way",
                "x/../l/a",
                &["x", "d/e"],
                &[("./d/../d/e", "l")],
                [&["d/../d/e/a", "d/e/a", "x/../l/a"], &["d/e/a"], &["", "d/e"]],
            ),
            ("to nowhere", "l", &[], &[("gone/a", "l")], [&["gone/a", "l"], &["gone/a"], &[""]]),
            ("to itself", "l", &[], &[("l", "l")], [&["l"], &["l"], &[""]]),
        ] {
            assert_eq!(trail_of(path, directories, links), wanted, "{what}");
        }
    }

    #[test]
    fn what_is_beside_a_path_is_no_concern() {
        let paths = ["/etc/weir/weir.toml", "/etc/weir/..data/weir.toml"].map(PathBuf::from).into();
        let trail = Trail { paths, ..Trail::default() };
        for (path, concerns) in [
            ("/etc/weir/weir.toml", true),
            ("/etc/weir/weir.toml/below", true),
            ("/etc/weir/..data", true),
            ("/etc/weir", true),
            ("/etc/weir/weir.toml.swp", false),
            ("/etc/weir/log", false),
            ("/etc/other", false),
        ] {
            assert_eq!(trail.concerns(Path::new(path)), concerns, "{path}");
        }
    }
}
