//! A resource file; the first byte chooses its format.

use std::path::Path;
use std::sync::Arc;

use weir_upstream::files::parse;

pub(crate) fn run(data: &[u8]) {
    let Some((format, bytes)) = data.split_first() else { return };
    let name = ["x.yaml", "x.json", "x.pb", "x.pb_text"][usize::from(format % 4)];
    match parse(&Arc::from(Path::new(name)), bytes) {
        Ok(resources) => resources.iter().for_each(|resource| assert!(!resource.variant.name().is_empty())),
        Err(problems) => {
            assert!(!problems.is_empty());
            // What a panic inside would be reported as.
            assert!(problems.iter().all(|problem| problem.reason != "reading it failed"));
        }
    }
}
