//! Which subscriptions are written to files.

use std::borrow::Cow;
use std::path::Path;

use weir_types::FileFormat;
use weir_types::xdstp::canonical;

use crate::file;
use crate::findings::Findings;
use crate::settings::Export;

pub(super) fn validate(files: Vec<file::Export>, directory: &Path, findings: &mut Findings) -> Vec<Export> {
    let targets = files.iter().enumerate().map(|(i, file)| (format!("export[{i}].to"), file.to.as_path()));
    findings.add_duplicates(targets, |to, other| {
        format!("{:?} is also {other}; each export needs a file of its own", to.display().to_string())
    });
    let mut exports = Vec::new();
    for (i, mut file) in files.into_iter().enumerate() {
        for (j, name) in file.names.iter_mut().enumerate() {
            match canonical(name).map(Cow::into_owned) {
                Ok(spelling) => *name = spelling,
                Err(error) => findings.add(format!("export[{i}].names[{j}]"), error.to_string()),
            }
        }
        match FileFormat::of(&file.to) {
            Some(format) => exports.push(Export {
                type_url: file.type_url.0.0,
                names: file.names,
                parameters: file.parameters,
                to: directory.join(&file.to),
                format,
            }),
            None => {
                let message =
                    format!("{:?} says no format; the end has to be {}", file.to, FileFormat::ENDINGS);
                findings.add(format!("export[{i}].to"), message);
            }
        }
    }
    exports
}
