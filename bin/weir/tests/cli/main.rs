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

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What came of a run.
#[derive(Debug)]
struct Outcome {
    code: i32,
    stdout: String,
    stderr: String,
}

/// Runs the program from the root of the repository.
fn weir(arguments: &[&str]) -> Outcome {
    outcome(command(arguments).output().unwrap())
}

/// The same, with this on its standard input.
fn weir_reading(arguments: &[&str], input: &str) -> Outcome {
    let mut command = command(arguments);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    outcome(child.wait_with_output().unwrap())
}

/// The program with these arguments, and without an environment of its own.
fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.args(arguments).current_dir(repository());
    for (variable, _) in std::env::vars().filter(|(variable, _)| variable.starts_with("WEIR_")) {
        command.env_remove(variable);
    }
    command
}

fn outcome(Output { status, stdout, stderr }: Output) -> Outcome {
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
