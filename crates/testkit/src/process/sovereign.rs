//! Sovereign: a control plane of somebody else's, which is polled over REST-JSON.

use std::net::SocketAddr;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use super::{Child, free_port, http, tool};
use crate::wait::until;

/// Renders what stands in a file, on each poll.
const TEMPLATE: &str = "\
import json
import pathlib


def call(*args, **kwargs):
    return json.loads(pathlib.Path(__file__).with_suffix('.json').read_text())
";

/// It serves in one process: its own program would leave a worker behind when it is killed.
const PROGRAM: &str = "\
import sys
import uvicorn
from sovereign.app import app

uvicorn.run(app, host='127.0.0.1', port=int(sys.argv[1]), log_level='warning')
";

/// The process. It knows clusters and endpoints.
pub struct Sovereign {
    child: Child,
    directory: TempDir,
    address: SocketAddr,
}

impl Sovereign {
    /// Starts one and waits until it answers.
    pub async fn start(clusters: &[Value], endpoints: &[Value]) -> Self {
        let directory = TempDir::with_prefix("weir-sovereign-").expect("a temporary directory");
        let config = json!({ "templates": { "default": [
            template(directory.path(), "clusters"),
            template(directory.path(), "endpoints"),
        ]}});
        let path = directory.path().join("sovereign.yaml");
        std::fs::write(&path, config.to_string()).expect("write the configuration");
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let mut command = Command::new(tool("venv/bin/python"));
        command.args(["-c", PROGRAM, &address.port().to_string()]);
        command.env("SOVEREIGN_CONFIG", format!("file://{}", path.display()));
        command.current_dir(directory.path());
        write(directory.path(), "clusters", clusters);
        write(directory.path(), "endpoints", endpoints);
        let child = Child::start("sovereign", &mut command);
        let mut sovereign = Self { child, directory, address };
        sovereign.answers().await;
        sovereign
    }

    async fn answers(&mut self) {
        let (child, address) = (&mut self.child, self.address);
        until("sovereign to answer", || {
            child.expect_running();
            async move { http::get(address, "/healthcheck").await.ok().filter(|a| a.status == 200) }
        })
        .await;
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Replaces all `clusters`, or `endpoints`.
    pub fn set(&self, path: &str, resources: &[Value]) {
        write(self.directory.path(), path, resources);
    }
}

fn template(directory: &Path, path: &str) -> Value {
    let file = directory.join(format!("{path}.py"));
    std::fs::write(&file, TEMPLATE).expect("write a template");
    json!({ "type": path, "spec": { "protocol": "python", "serialization": "raw", "path": file } })
}

fn write(directory: &Path, path: &str, resources: &[Value]) {
    let file = directory.join(format!("{path}.json"));
    let beside = file.with_extension("new");
    std::fs::write(&beside, json!(resources).to_string()).expect("write resources");
    std::fs::rename(beside, file).expect("rename resources");
}
