//! istiod with its resources in a folder that it watches, and a Kubernetes without any object: it does not start without a
//! Kubernetes. A target is a Gateway and a VirtualService, a cluster is a ServiceEntry.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;
use weir_testkit::process::{Child, free_port, go_program};
use weir_testkit::wait::until;

use super::XdsServer;
use super::kubernetes::Kubernetes;
use crate::lane::World;

/// The id of its clients: a gateway of a namespace.
pub const CLIENT: &str = "router~127.0.0.1~client.default~default.svc.cluster.local";
/// The node of a Weir in front of it: a gateway too.
pub const UPSTREAM: &str = "[upstream.node]\nid = \"router~127.0.0.1~weir.default~default.svc.cluster.local\"\n\
     metadata = { NAMESPACE = \"default\", CLUSTER_ID = \"Kubernetes\" }\n";

/// The program, and the files that it works with.
pub struct Istiod {
    child: Option<Child>,
    kubernetes: Kubernetes,
    address: SocketAddr,
    directory: TempDir,
    /// Whether it takes the identity of a client from a header, and compares it with the node.
    authenticates: bool,
}

impl Istiod {
    /// Writes its configuration. It has to be started then.
    pub async fn prepare() -> Self {
        let directory = TempDir::with_prefix("weir-istiod-").expect("a temporary directory");
        let kubernetes = Kubernetes::start().await;
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let istiod = Self { child: None, kubernetes, address, directory, authenticates: false };
        std::fs::create_dir(istiod.path("resources")).expect("make a directory");
        // What Envoy gets of Istio's agent, and filters that only Istio's proxy has.
        let mesh = json!({ "enableAutoMtls": false, "enablePrometheusMerge": false, "defaultProviders": {} });
        istiod.write("mesh.yaml", &mesh.to_string());
        istiod.write("kubernetes.yaml", &istiod.kubernetes.config().to_string());
        istiod
    }

    /// As it is, and with the identity of each client from its `x-forwarded-client-cert`.
    pub fn authenticating(self) -> Self {
        Self { authenticates: true, ..self }
    }

    /// Where xDS clients connect to.
    pub fn server(&self) -> XdsServer {
        XdsServer { address: self.address, tls: None }
    }

    /// Replaces all resources, also while it is stopped.
    pub fn publish(&self, world: &World, port: impl Fn(&str) -> u16) {
        let mut resources = Vec::new();
        for (target, (cluster, server)) in world {
            resources.push(gateway(target, port(target)));
            resources.push(virtual_service(target, cluster));
            resources.push(service_entry(cluster, *server));
        }
        let text: Vec<_> = resources.iter().map(Value::to_string).collect();
        self.write("new.yaml", &text.join("\n---\n"));
        std::fs::rename(self.path("new.yaml"), self.path("resources/resources.yaml")).expect("rename a file");
    }

    /// Kills it.
    pub async fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().await;
        }
    }

    /// Starts it, and waits until it serves.
    pub async fn start(&mut self) {
        let local = |port: u16| format!("127.0.0.1:{port}");
        let mut command = go_program("istiod");
        command.args(["discovery", "--registries=Kubernetes", "--secureGRPCAddr=", "--httpsAddr="]);
        command.args(["--ctrlz_port=0", "--grpcAddr", &self.address.to_string()]);
        command.args(["--httpAddr", &local(free_port()), "--monitoringAddr", &local(free_port())]);
        command.arg("--configDir").arg(self.path("resources"));
        command.arg("--kubeconfig").arg(self.path("kubernetes.yaml"));
        command.arg("--meshConfig").arg(self.path("mesh.yaml"));
        command.env("ENABLE_CA_SERVER", "false").env("PILOT_ENABLE_ALPN_FILTER", "false");
        command.env("PILOT_ENABLE_METADATA_EXCHANGE", "false").env("HOME", self.directory.path());
        if self.authenticates {
            command.env("TRUSTED_GATEWAY_CIDR", "127.0.0.1/32").env("XDS_AUTH_PLAINTEXT", "true");
        }
        command.current_dir(self.directory.path());
        let mut child = Child::start("istiod", &mut command).showing(|line| line.contains("error"));
        let address = self.address;
        until("istiod to listen", || {
            child.expect_running();
            async move { TcpStream::connect(address).await.ok() }
        })
        .await;
        self.child = Some(child);
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("write a file");
    }
}

fn resource(kind: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "networking.istio.io/v1",
        "kind": kind,
        "metadata": { "name": name, "namespace": "default" },
        "spec": spec,
    })
}

fn gateway(target: &str, port: u16) -> Value {
    let port = json!({ "number": port, "name": "http", "protocol": "HTTP" });
    resource("Gateway", target, &json!({ "servers": [{ "port": port, "hosts": ["*"] }] }))
}

fn virtual_service(target: &str, cluster: &str) -> Value {
    let destination = json!({ "host": format!("{cluster}.test"), "port": { "number": 80 } });
    let routes = json!([{ "route": [{ "destination": destination }], "retries": { "attempts": 0 } }]);
    resource("VirtualService", target, &json!({ "hosts": ["*"], "gateways": [target], "http": routes }))
}

fn service_entry(cluster: &str, server: Option<SocketAddr>) -> Value {
    let mut spec = json!({
        "hosts": [format!("{cluster}.test")],
        "ports": [{ "number": 80, "name": "http", "protocol": "HTTP" }],
        "resolution": "STATIC",
    });
    match server {
        Some(server) => {
            let address = server.ip().to_string();
            spec["endpoints"] = json!([{ "address": address, "ports": { "http": server.port() } }]);
        }
        // Of no workload.
        None => spec["workloadSelector"] = json!({ "labels": { "of": "nobody" } }),
    }
    resource("ServiceEntry", cluster, &spec)
}
