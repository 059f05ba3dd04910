//! The program as people use it: arguments in, text and an exit code out.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test ends where it fails")]

mod check;
mod completions;
mod explain;
mod export;
mod get;
mod instance;
mod lint;
mod manual;
mod operate;
mod serve;
mod server;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What came of a run.
#[derive(Debug)]
struct Outcome {
    code: i32,
    stdout: String,
    stderr: String,
}

/// Runs the program from the root of the repository.
fn weir(arguments: &[&str]) -> Outcome {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    let command = command
        .args(arguments)
        .current_dir(repository())
        .env_remove("WEIR_CONFIG")
        .env_remove("WEIR_LOG")
        .env_remove("WEIR_ADMIN");
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Outcome { code: status.code().unwrap(), stdout: text(stdout), stderr: text(stderr) }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A directory with these files.
fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    directory
}

/// A configuration that serves the files in `resources/` beside it.
const FILES: &str = "
[downstream]
listen = ['127.0.0.1:0']
[[upstream]]
files = 'resources'
";
