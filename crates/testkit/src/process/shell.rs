//! A shell in which the commands of a page are run, one block after another.

use std::path::Path;

use tokio::io::AsyncWriteExt as _;
use tokio::process::{ChildStdin, Command};

use super::Child;

/// What is printed after a block, with its number and its exit code.
const END: &str = "--- end of block";

/// A bash, with what it runs in the background; all of it is killed on drop.
pub struct Shell {
    child: Child,
    stdin: ChildStdin,
    blocks: usize,
    /// How many lines belong to blocks that have ended.
    read: usize,
}

impl Shell {
    /// Starts one in a directory, with these folders before the others of its `PATH`.
    pub async fn start(directory: &Path, folders: &[&Path]) -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = folders.iter().map(|folder| (*folder).to_owned()).chain(std::env::split_paths(&path));
        let path = std::env::join_paths(folders).expect("no folder has a colon in its name");
        let mut command = Command::new("bash");
        // A group of its own, so that nothing that it has started outlives its value.
        command.arg("--norc").current_dir(directory).env("PATH", path).process_group(0);
        let mut child = Child::start("bash", &mut command);
        let stdin = child.stdin();
        let mut shell = Self { child, stdin, blocks: 0, read: 0 };
        // In one stream, so that all that a block prints comes before its end.
        shell.run("exec 2>&1").await;
        shell
    }

    /// Runs a block of commands to its end, and gives the exit code of the last one, or of the first that fails, with what was
    /// printed.
    pub async fn run(&mut self, block: &str) -> (i32, String) {
        self.blocks += 1;
        let end = format!("{END} {}: ", self.blocks);
        let text = format!("trap 'failed=$?' ERR; failed=0\n{block}\necho; echo \"{end}${{failed}}\"\n");
        self.stdin.write_all(text.as_bytes()).await.expect("bash reads");
        self.stdin.flush().await.expect("bash reads");
        let read = self.read;
        let ended = |lines: &[String]| {
            let at = lines.iter().position(|line| line.starts_with(&end))?;
            Some((at, lines[at][end.len()..].parse().ok()?, lines[read..at].join("\n")))
        };
        let (at, code, output) = self.child.wait_for(&format!("the end of\n{block}"), ended).await;
        self.read = at + 1;
        (code, output)
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        self.child.kill_group();
    }
}
