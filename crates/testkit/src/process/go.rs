//! Programs in Go, which `cargo xtask setup` builds from the modules under `tests/go`.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;

use super::browser::found;
use super::{Caller, GrpcServers, grpc_bootstrap, tool, tools};

/// Why there are no programs in Go here, if so. Panics instead where they have to be there: with `CI` set, and where they
/// only have to be built.
pub fn no_go() -> Option<String> {
    if tools().join("go").is_dir() {
        return None;
    }
    assert!(found("go").is_none(), "the programs in Go are missing: run `cargo xtask setup`");
    assert!(std::env::var_os("CI").is_none(), "Go is not installed, and with CI set no test may be skipped");
    Some("Go is not installed".to_owned())
}

/// The program of the module of this name. Panics, with what to do, if it is not there.
pub fn go_program(module: &str) -> Command {
    Command::new(tool(&format!("go/{module}")))
}

impl Caller {
    /// A gRPC-Go client that makes so many RPCs to `xds:///svc` at this pace, and stays after them.
    pub fn grpc_go_counted(server: SocketAddr, id: &str, count: usize, pace: Duration) -> Self {
        let mut command = go_program("grpc-go");
        command.args(["count", &count.to_string(), &format!("{}ms", pace.as_millis()), "svc"]);
        command.env("GRPC_XDS_BOOTSTRAP_CONFIG", grpc_bootstrap(server, id, &Value::Null));
        Self::start("grpc-go", &mut command)
    }
}

impl GrpcServers {
    /// As [`GrpcServers::start`], for many RPCs a second.
    pub async fn start_go(names: &[&str]) -> Self {
        Self::of(go_program("grpc-go").arg("serve").args(names)).await
    }
}
