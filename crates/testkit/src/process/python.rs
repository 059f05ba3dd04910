//! Clients and servers in Python: gRPC-Python clients that find their servers by `xds:///`, servers that answer with
//! their names, and clients of TLS. The scripts are in `tests/clients`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tokio::process::{ChildStdin, Command};

use super::caller::{Caller, grpc_bootstrap};
use super::{Child, tool, workspace};

fn script(name: &str) -> Command {
    let mut command = Command::new(tool("venv/bin/python"));
    command.arg("-u").arg(workspace().join("tests/clients").join(name));
    command
}

/// gRPC servers, one for each name, in one process.
pub struct GrpcServers {
    _child: Child,
    _stdin: ChildStdin,
    addresses: BTreeMap<String, SocketAddr>,
}

impl GrpcServers {
    /// Starts them and waits until they listen.
    pub async fn start(names: &[&str]) -> Self {
        Self::of(script("grpc_server.py").args(names)).await
    }

    /// The servers that a program starts, which prints their ports by name.
    pub(super) async fn of(command: &mut Command) -> Self {
        let mut child = Child::start("gRPC servers", command);
        let stdin = child.stdin();
        let ports: BTreeMap<String, u16> = child
            .wait_for("its ports", |lines| lines.iter().find_map(|l| serde_json::from_str(l).ok()))
            .await;
        let address = |(name, port)| (name, SocketAddr::from(([127, 0, 0, 1], port)));
        Self { _child: child, _stdin: stdin, addresses: ports.into_iter().map(address).collect() }
    }

    /// Where the one of this name listens.
    pub fn address(&self, name: &str) -> SocketAddr {
        self.addresses[name]
    }
}

impl Caller {
    /// A gRPC-Python client that makes RPCs to `xds:///target`, which it looks for at an ADS server. Servers answer
    /// with their names.
    pub fn grpc_python(server: SocketAddr, target: &str, id: &str, metadata: &Value) -> Self {
        Self::grpc_python_by(&grpc_bootstrap(server, id, metadata), target, &[])
    }

    /// As [`Self::grpc_python`], with a bootstrap, and with variables of its environment.
    pub fn grpc_python_by(bootstrap: &str, target: &str, variables: &[(&str, &str)]) -> Self {
        let mut command = script("grpc_client.py");
        command.arg(format!("xds:///{target}")).env("GRPC_XDS_BOOTSTRAP_CONFIG", bootstrap);
        command.envs(variables.iter().copied());
        Self::start("grpc_client.py", &mut command)
    }

    /// As [`Self::grpc_python`], for so many RPCs to `svc` at this pace; it stays after them.
    pub fn grpc_python_counted(server: SocketAddr, id: &str, count: usize, pace: Duration) -> Self {
        let mut command = script("grpc_client.py");
        command.args(["xds:///svc", &count.to_string(), &pace.as_secs_f64().to_string()]);
        command.env("GRPC_XDS_BOOTSTRAP_CONFIG", grpc_bootstrap(server, id, &Value::Null));
        Self::start("grpc_client.py", &mut command)
    }

    /// A client that makes HTTPS requests to `localhost` at this port, each on a connection of its own, and trusts the
    /// certificates in a PEM file. Its answers are the common names of those that it was shown.
    pub fn tls(port: u16, trusted: &Path) -> Self {
        Self::start("tls_client.py", script("tls_client.py").arg(port.to_string()).arg(trusted))
    }
}
