//! gRPC-Node clients that find their servers by `xds:///`. The program is in `tests/clients`.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::process::Command;

use super::caller::{Caller, grpc_bootstrap};
use super::{tool, workspace};

impl Caller {
    /// A gRPC-Node client that makes RPCs to `xds:///target`, which it looks for at an ADS server. Servers answer with
    /// their names.
    pub fn grpc_node(server: SocketAddr, target: &str, id: &str, metadata: &Value) -> Self {
        let mut command = Command::new("node");
        command.arg(workspace().join("tests/clients/grpc_client.cjs")).arg(format!("xds:///{target}"));
        command.env("NODE_PATH", tool("node/node_modules"));
        command.env("GRPC_XDS_BOOTSTRAP_CONFIG", grpc_bootstrap(server, id, metadata));
        Self::start("grpc_client.cjs", &mut command)
    }
}
