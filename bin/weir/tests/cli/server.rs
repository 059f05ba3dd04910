//! A running `weir serve`.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};

use serde_json::Value;

use crate::repository;

/// Killed when dropped.
pub(crate) struct Server {
    child: Child,
    /// Kept open: a program whose log nobody reads would end.
    log: BufReader<ChildStderr>,
    /// Lines that came while another one was waited for: tasks log in no fixed order.
    passed: Vec<Value>,
    /// The startup line.
    pub(crate) startup: Value,
}

impl Server {
    /// Starts it and waits for its startup line.
    pub(crate) fn start(config: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        command.args(["serve", "--config"]).arg(config).current_dir(repository()).env_remove("WEIR_LOG");
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut passed = Vec::new();
        let startup = wait_for(&mut log, &mut passed, "weir serves");
        Self { child, log, passed, startup }
    }

    /// Waits for a log line with this message that was not waited for before.
    pub(crate) fn wait_for(&mut self, message: &str) -> Value {
        match self.passed.iter().position(|event| event["message"] == message) {
            Some(position) => self.passed.remove(position),
            None => wait_for(&mut self.log, &mut self.passed, message),
        }
    }

    /// Where clients connect to.
    pub(crate) fn address(&self) -> &str {
        self.startup["clients"].as_str().unwrap()
    }

    /// Where the admin interface is.
    pub(crate) fn admin(&self) -> &str {
        self.startup["admin"].as_str().unwrap()
    }

    /// Sends it a signal and gives how it ended.
    pub(crate) fn end(mut self, signal: &str) -> ExitStatus {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        self.child.wait().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn wait_for(log: &mut impl BufRead, passed: &mut Vec<Value>, message: &str) -> Value {
    for line in log.lines().map_while(Result::ok) {
        let event = serde_json::from_str(&line).unwrap_or(Value::String(line));
        if event["message"] == message {
            return event;
        }
        passed.push(event);
    }
    panic!("it ended without {message:?}:\n{passed:#?}");
}
