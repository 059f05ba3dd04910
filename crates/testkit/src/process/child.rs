//! A child process and everything that it prints.

use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{ChildStdin, Command};
use tokio::sync::watch;

use crate::wait::PATIENCE;

/// How much of its output is shown when a test fails.
const LAST_LINES: usize = 200;

/// A running process; killed on drop.
pub struct Child {
    name: String,
    child: tokio::process::Child,
    lines: watch::Sender<Vec<String>>,
    shown: fn(&str) -> bool,
}

impl Child {
    /// Starts it and collects what it prints, line by line.
    pub fn start(name: &str, command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|e| panic!("start {name} ({command:?}): {e}"));
        let lines = watch::Sender::new(Vec::new());
        collect(child.stdout.take().expect("it is piped"), lines.clone());
        collect(child.stderr.take().expect("it is piped"), lines.clone());
        Self { name: name.to_owned(), child, lines, shown: |_| true }
    }

    /// Shows only some of its lines when a test fails.
    #[must_use]
    pub fn showing(mut self, shown: fn(&str) -> bool) -> Self {
        self.shown = shown;
        self
    }

    /// Its process id; none if it has ended.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Its standard input; closed when dropped. Can be taken once.
    pub fn stdin(&mut self) -> ChildStdin {
        self.child.stdin.take().expect("taken once")
    }

    /// Panics with its output if it has ended.
    pub fn expect_running(&mut self) {
        if let Ok(Some(status)) = self.child.try_wait() {
            panic!("{} ended with {status}; its output:\n{}", self.name, self.output());
        }
    }

    /// Kills it (SIGKILL) and waits until it is gone.
    pub async fn kill(&mut self) {
        self.child.kill().await.unwrap_or_else(|e| panic!("kill {}: {e}", self.name));
    }

    /// Kills it with all that it has started, which has to be a process group of its own.
    pub(super) fn kill_group(&self) {
        if let Some(id) = self.id() {
            // There is nobody to report a failure to.
            _ = std::process::Command::new("kill").args(["-s", "KILL", "--", &format!("-{id}")]).status();
        }
    }

    /// Asks it to end (SIGTERM) and waits until it has.
    pub async fn terminate(&mut self) -> std::process::ExitStatus {
        self.signal("TERM").await;
        self.ended().await
    }

    /// Sends it a signal, if it is still there: `TERM`, `HUP`, ….
    pub async fn signal(&self, signal: &str) {
        if let Some(id) = self.child.id() {
            let status = Command::new("kill").args(["-s", signal, &id.to_string()]).status().await;
            assert!(status.is_ok_and(|status| status.success()), "send SIG{signal} to {}", self.name);
        }
    }

    /// Waits until it has ended by itself.
    pub async fn ended(&mut self) -> std::process::ExitStatus {
        match tokio::time::timeout(PATIENCE, self.child.wait()).await {
            Ok(status) => status.expect("a child can be waited for"),
            Err(_) => panic!("{} does not end; its output:\n{}", self.name, self.output()),
        }
    }

    /// How much memory it has that belongs to no file and is resident, in bytes. Panics if it has ended.
    pub fn memory(&self) -> usize {
        let id = self.child.id().unwrap_or_else(|| panic!("{} has ended", self.name));
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("read a process's status");
        let kilobytes = status
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:"))
            .and_then(|rest| rest.trim().strip_suffix(" kB")?.parse::<usize>().ok());
        kilobytes.unwrap_or_else(|| panic!("no RssAnon in {status}")) << 10
    }

    /// Everything that it printed until now.
    pub fn output(&self) -> String {
        self.lines.borrow().join("\n")
    }

    /// Everything that it prints, line by line.
    pub fn lines(&self) -> watch::Receiver<Vec<String>> {
        self.lines.subscribe()
    }

    /// Has `take` called with each line that is JSON, from the first one on.
    pub fn for_each_json(&self, mut take: impl FnMut(&Value) + Send + 'static) {
        let mut lines = self.lines();
        tokio::spawn(async move {
            let mut seen = 0;
            loop {
                let new: Vec<_> = lines.borrow_and_update()[seen..].to_vec();
                seen += new.len();
                new.iter().filter_map(|line| serde_json::from_str(line).ok()).for_each(|line| take(&line));
                if lines.changed().await.is_err() {
                    break;
                }
            }
        });
    }

    /// Waits until `find` finds something in what was printed. Panics with the output if it never does.
    pub async fn wait_for<T>(&self, what: &str, mut find: impl FnMut(&[String]) -> Option<T>) -> T {
        let mut lines = self.lines.subscribe();
        let mut found = None;
        let waiting = lines.wait_for(|lines| {
            found = find(lines);
            found.is_some()
        });
        if tokio::time::timeout(PATIENCE, waiting).await.is_err() {
            panic!("waited in vain for {} to print {what}; its output:\n{}", self.name, self.output());
        }
        found.expect("waited until it was found")
    }

    /// The first line that contains all of `parts`, as soon as it is there.
    pub async fn wait_for_line(&self, parts: &[&str]) -> String {
        let find = |lines: &[String]| {
            lines.iter().find(|line| parts.iter().all(|part| line.contains(part))).cloned()
        };
        self.wait_for(&format!("a line with {parts:?}"), find).await
    }
}

/// When a test fails, what its processes printed last is part of the story.
impl Drop for Child {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let lines = self.lines.borrow();
            let shown: Vec<_> = lines.iter().filter(|line| (self.shown)(line)).map(|line| &**line).collect();
            let last = &shown[shown.len().saturating_sub(LAST_LINES)..];
            eprintln!("--- {} printed last:\n{}", self.name, last.join("\n"));
        }
    }
}

fn collect(from: impl AsyncRead + Unpin + Send + 'static, into: watch::Sender<Vec<String>>) {
    tokio::spawn(async move {
        let mut from = BufReader::new(from).lines();
        while let Ok(Some(line)) = from.next_line().await {
            into.send_modify(|lines| lines.push(line));
        }
    });
}
