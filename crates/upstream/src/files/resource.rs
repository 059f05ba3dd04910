//! The resources of one file: which there are, where, and what is wrong with those that are none.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use serde::de::Error as _;
use weir_types::{Content, FileFormat, TypeUrl, Variant};

use super::de::Error;
use super::node::Syntax;
use super::{document, message};

/// Where something stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// The file.
    pub file: Arc<Path>,
    /// The line, from 1; none for what is about the file as a whole.
    pub line: Option<u64>,
}

/// `dir/file.yaml:12`
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        self.line.map_or(Ok(()), |line| write!(f, ":{line}"))
    }
}

/// A resource, and where it was read.
#[derive(Clone, Debug)]
pub struct Resource {
    /// Its type.
    pub type_url: TypeUrl,
    /// Its name, constraints and content.
    pub variant: Arc<Variant>,
    /// Where it starts.
    pub origin: Origin,
    /// The rules of Envoy's API that it breaks. It is served all the same.
    pub violations: Vec<Problem>,
}

/// Something that is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Where.
    pub origin: Origin,
    /// What.
    pub reason: String,
}

/// `dir/file.yaml:12: reason`
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.reason)
    }
}

/// The stack for reading one file: as much as the deepest document takes, several times over.
const STACK: usize = 32 << 20;

/// The resources in a file's `bytes`, in the format of its ending, else as YAML.
///
/// # Errors
/// Everything that is wrong with it.
pub fn parse(file: &Arc<Path>, bytes: &[u8]) -> Result<Vec<Resource>, Vec<Problem>> {
    // Documents are read recursively, and the caller may sit on a stack of any size.
    let failed =
        |reason: String| Err(vec![Problem { origin: Origin { file: Arc::clone(file), line: None }, reason }]);
    thread::scope(|scope| {
        let reader = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || read(file, bytes));
        match reader.map(thread::ScopedJoinHandle::join) {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => failed("reading it failed".to_owned()),
            Err(error) => failed(format!("cannot be read: {error}")),
        }
    })
}

/// A resource in a file.
pub(super) struct Found {
    pub(super) type_url: TypeUrl,
    pub(super) variant: Variant,
    /// Where it starts, where that is known.
    pub(super) line: Option<u64>,
    /// The rules that it breaks.
    pub(super) violations: Vec<Error>,
}

fn read(file: &Arc<Path>, bytes: &[u8]) -> Result<Vec<Resource>, Vec<Problem>> {
    let found = match FileFormat::of(file).unwrap_or(FileFormat::Yaml) {
        FileFormat::Yaml => text(bytes).and_then(|text| document::read(text, Syntax::Yaml)),
        FileFormat::Json => text(bytes).and_then(|text| document::read(text, Syntax::Json)),
        FileFormat::Binary => message::read_binary(bytes),
        FileFormat::Text => text(bytes).and_then(message::read_text),
    };
    let origin = |line| Origin { file: Arc::clone(file), line };
    let problem = |error: &Error| Problem { origin: origin(error.line()), reason: error.to_string() };
    match found {
        Ok(found) => Ok(found
            .into_iter()
            .map(|Found { type_url, variant, line, violations }| Resource {
                type_url,
                variant: Arc::new(fresh(variant)),
                origin: origin(line),
                violations: violations.iter().map(problem).collect(),
            })
            .collect()),
        Err(errors) => Err(errors.iter().map(problem).collect()),
    }
}

/// A file is where the resource comes from, not a cache of it: whoever asks for it is given the content of the file now.
fn fresh(variant: Variant) -> Variant {
    match variant.content().do_not_cache {
        true => {
            let content = Content { do_not_cache: false, ..variant.content().clone() };
            Variant::new(variant.key().clone(), content)
        }
        false => variant,
    }
}

fn text(bytes: &[u8]) -> Result<&str, Vec<Error>> {
    str::from_utf8(bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
        vec![Error::custom("not UTF-8").at(line as u64)]
    })
}
