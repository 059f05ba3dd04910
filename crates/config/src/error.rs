//! What is wrong with a file, for the person who wrote it.

use std::fmt;
use std::path::PathBuf;

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("{}: {source}", file.display())]
    Unreadable {
        /// Which file.
        file: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The file can be read and is not valid. One line for each problem.
    #[error("{}", Lines { file, problems })]
    Invalid {
        /// Which file.
        file: PathBuf,
        /// What is wrong, by line; never empty.
        problems: Vec<Problem>,
    },
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where, from 1.
    pub line: usize,
    /// The dotted key, as in `upstream[0].dynamic_parameters`; empty for the file as a whole.
    pub key: String,
    /// What is wrong: with the value, and with what is allowed.
    pub message: String,
}

struct Lines<'a> {
    file: &'a PathBuf,
    problems: &'a [Problem],
}

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, Problem { line, key, message }) in self.problems.iter().enumerate() {
            let newline = if i == 0 { "" } else { "\n" };
            write!(f, "{newline}{}:{line}: ", self.file.display())?;
            if !key.is_empty() {
                write!(f, "{key}: ")?;
            }
            f.write_str(message)?;
        }
        Ok(())
    }
}
