//! Resource files, to be looked at.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail};
use weir_config::Source;
use weir_upstream::files::{self, Loaded};

use super::{Looked, Material, Subject, Subjects};

/// The files of the upstreams of a configuration.
pub(super) fn look_at_config(config: &Path) -> Result<Material> {
    let loaded = weir_config::load(config)?;
    let paths = loaded.upstreams.iter().filter_map(|upstream| match &upstream.source {
        Source::Files(files) => Some(files.path.clone()),
        Source::ControlPlane(_) => None,
    });
    let paths: Vec<_> = paths.collect();
    if paths.is_empty() {
        bail!("{}: no upstream has files; ask a running instance: leave out --config", config.display());
    }
    look(&paths)
}

/// These files and directories.
pub(super) fn look(paths: &[PathBuf]) -> Result<Material> {
    let (mut subjects, mut problems) = (Subjects::new(), Vec::new());
    for path in paths {
        let loaded = files::load(path, &Loaded::default())?;
        for resource in loaded.resources() {
            let key = (resource.type_url.clone(), resource.variant.name().clone());
            let subject = subjects.entry(key).or_insert_with(|| Subject {
                variants: Vec::new(),
                whole: true,
                unanswered: Vec::new(),
                violations: Vec::new(),
            });
            subject.violations.extend(resource.violations.iter().cloned());
            let (variant, place) = (Arc::clone(&resource.variant), resource.origin.to_string());
            subject.variants.push(Looked { variant, rank: 0, place });
        }
        problems.extend(loaded.problems().iter().map(ToString::to_string));
    }
    Ok(Material { subjects, problems })
}
