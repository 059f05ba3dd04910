//! What outlives the process.

use std::path::Path;

use crate::file;
use crate::findings::Findings;
use crate::settings::Store;

/// Less holds next to nothing.
const LEAST: usize = 1 << 20;

pub(super) fn validate(file: file::Store, directory: &Path, findings: &mut Findings) -> Option<Store> {
    let before = findings.0.len();
    if file.path.file_name().is_none() {
        let message =
            format!("{:?} is no file; name one, in a directory that outlives the process", file.path);
        findings.add("store.path", message);
    }
    if file.max_size.0.0 < LEAST {
        let message = format!("{} bytes is too small; the least is 1MiB", file.max_size.0.0);
        findings.add("store.max_size", message);
    }
    match (file.persist_secrets, &file.key_file) {
        (true, None) => {
            findings.add("store.persist_secrets", "secrets are stored encrypted only; name a key_file");
        }
        (false, Some(_)) => {
            findings.add("store.key_file", "nothing is encrypted with it unless persist_secrets is true");
        }
        (true, Some(_)) | (false, None) => {}
    }
    (findings.0.len() == before).then(|| Store {
        path: directory.join(file.path),
        max_size: file.max_size.0.0 as u64,
        keep_unwanted: file.keep_unwanted.0.0,
        key_file: file.key_file.map(|key_file| directory.join(key_file)),
    })
}
