//! Envoy Gateway as its users run it outside of Kubernetes: its resources are a file in a folder that it watches. A target is
//! a listener of the Gateway and a route, a cluster is a Backend.
//!
//! Its ports are fixed, so that only one can run at a time. Its host infrastructure runs an Envoy of its own for each Gateway,
//! in whose place there is a program that ends at once.

use std::net::SocketAddr;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;
use weir_testkit::process::{Child, ClientTls, go_program};
use weir_testkit::wait::until;

use super::XdsServer;
use crate::lane::World;

/// The namespace of everything.
const NAMESPACE: &str = "default";
/// Where it listens for xDS clients.
const ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 18000);
/// Its name in its certificate.
const SERVER_NAME: &str = "envoy-gateway";
/// The controller that it is, in Gateway classes.
const CONTROLLER: &str = "gateway.envoyproxy.io/gatewayclass-controller";
/// What it prints once it has read its resources.
const READ: &str = "reload resources finished";
/// Which Envoy it is to run.
const ENVOY_VERSION: &str = "1.39.0";

/// The rules by which a Weir in front of it distinguishes clients: a Gateway is a `node.cluster`.
pub const PARAMETERS: &str = "[[dynamic_parameters]]\nkey = \"gateway\"\nfrom = \"node.cluster\"\n";
/// The node of such a Weir, for the clients of a Gateway.
pub const UPSTREAM: &str =
    "parameter_keys = [\"gateway\"]\n[upstream.node]\nid = \"weir-{gateway}\"\ncluster = \"{gateway}\"\n";

/// A Gateway to be published.
pub struct Gateway<'a> {
    pub name: &'a str,
    /// The targets that it leads to.
    pub world: &'a World,
    /// The port of a target.
    pub port: &'a dyn Fn(&str) -> u16,
}

/// The program, and the files that it works with.
pub struct EnvoyGateway {
    child: Option<Child>,
    directory: TempDir,
}

impl EnvoyGateway {
    /// Makes certificates and a configuration. It has to be started then.
    pub async fn prepare() -> Self {
        let directory = TempDir::with_prefix("weir-envoy-gateway-").expect("a temporary directory");
        let path = |name: &str| directory.path().join(name);
        let programs = path("data/envoy-versions").join(ENVOY_VERSION).join("bin");
        for made in [&path("resources"), &programs] {
            std::fs::create_dir_all(made).expect("make a directory");
        }
        symlink("/bin/true", programs.join("envoy")).expect("link a program");
        let config = json!({
            "apiVersion": "gateway.envoyproxy.io/v1alpha1",
            "kind": "EnvoyGateway",
            "gateway": { "controllerName": CONTROLLER },
            "provider": { "type": "Custom", "custom": {
                "resource": { "type": "File", "file": { "paths": [path("resources")] } },
                "infrastructure": { "type": "Host", "host": {
                    "configHome": path("config"), "dataHome": path("data"),
                    "stateHome": path("state"), "runtimeDir": path("run"),
                }},
            }},
            "extensionApis": { "enableBackend": true },
        });
        std::fs::write(path("envoy-gateway.yaml"), config.to_string()).expect("write the configuration");
        let mut command = go_program("envoy-gateway");
        command.args(["certgen", "--local", "--config-home"]).arg(path("config"));
        let made = command.env("HOME", directory.path()).output().await.expect("it runs");
        assert!(made.status.success(), "make certificates: {}", String::from_utf8_lossy(&made.stderr));
        Self { child: None, directory }
    }

    /// Where xDS clients connect to.
    pub fn server(&self) -> XdsServer {
        let file = |name| self.path("config/certs/envoy").join(name);
        let (ca, certificate, key) = (file("ca.crt"), file("tls.crt"), file("tls.key"));
        let tls = ClientTls { ca, certificate, key, server_name: SERVER_NAME };
        XdsServer { address: ADDRESS, tls: Some(tls) }
    }

    /// Replaces all resources by those of some Gateways, also while it is stopped, and waits until they have been read: it
    /// validates them all for about a second, or for several on a busy machine.
    pub async fn publish(&self, gateways: &[Gateway<'_>]) {
        let read = |lines: &[String]| lines.iter().filter(|line| line.contains(READ)).count();
        let before = self.child.as_ref().map(|child| read(&child.lines().borrow()));
        let mut resources = vec![gateway_class(), envoy_proxy()];
        for gateway in gateways {
            resources.push(gateway.resource());
            for (target, (cluster, server)) in gateway.world {
                resources.push(route(gateway.name, target, cluster));
                resources.extend(server.map(|server| backend(gateway.name, cluster, server)));
            }
        }
        let text: Vec<_> = resources.iter().map(Value::to_string).collect();
        // A leading dot keeps it from being read before it is whole.
        let beside = self.path(".resources.yaml");
        std::fs::write(&beside, text.join("\n---\n")).expect("write a file");
        std::fs::rename(&beside, self.path("resources/resources.yaml")).expect("rename a file");
        if let (Some(child), Some(before)) = (&self.child, before) {
            child.wait_for(READ, |lines| (read(lines) > before).then_some(())).await;
        }
    }

    /// Kills it.
    pub async fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().await;
        }
    }

    /// Starts it, and waits until it serves what its file has.
    pub async fn start(&mut self) {
        assert!(TcpStream::connect(ADDRESS).await.is_err(), "somebody else listens on {ADDRESS}");
        let mut command = go_program("envoy-gateway");
        command.args(["server", "--config-path"]).arg(self.path("envoy-gateway.yaml"));
        let mut child = Child::start("envoy-gateway", command.env("HOME", self.directory.path()))
            .showing(|line| line.contains("error"));
        child.wait_for_line(&["Watching path added"]).await;
        until("Envoy Gateway to listen", || {
            child.expect_running();
            async { TcpStream::connect(ADDRESS).await.ok() }
        })
        .await;
        self.child = Some(child);
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

fn gateway_class() -> Value {
    let parameters = json!({ "group": "gateway.envoyproxy.io", "kind": "EnvoyProxy", "name": "test", "namespace": NAMESPACE });
    json!({
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "GatewayClass",
        "metadata": { "name": "test" },
        "spec": { "controllerName": CONTROLLER, "parametersRef": parameters },
    })
}

fn envoy_proxy() -> Value {
    json!({
        "apiVersion": "gateway.envoyproxy.io/v1alpha1",
        "kind": "EnvoyProxy",
        "metadata": { "name": "test", "namespace": NAMESPACE },
        "spec": { "provider": { "type": "Host", "host": { "envoyVersion": ENVOY_VERSION } } },
    })
}

impl Gateway<'_> {
    fn resource(&self) -> Value {
        let listener =
            |target: &&str| json!({ "name": target, "protocol": "HTTP", "port": (self.port)(target) });
        let listeners: Vec<_> = self.world.keys().map(listener).collect();
        json!({
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "Gateway",
            "metadata": { "name": self.name, "namespace": NAMESPACE },
            "spec": { "gatewayClassName": "test", "listeners": listeners },
        })
    }
}

/// A route's name is part of its cluster's, so that another cluster is another route.
fn route(gateway: &str, target: &str, cluster: &str) -> Value {
    let backend = json!({ "group": "gateway.envoyproxy.io", "kind": "Backend", "name": format!("{gateway}-{cluster}") });
    json!({
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": { "name": format!("{gateway}-{target}-{cluster}"), "namespace": NAMESPACE },
        "spec": {
            "parentRefs": [{ "name": gateway, "sectionName": target }],
            "rules": [{ "backendRefs": [backend] }],
        },
    })
}

fn backend(gateway: &str, cluster: &str, server: SocketAddr) -> Value {
    json!({
        "apiVersion": "gateway.envoyproxy.io/v1alpha1",
        "kind": "Backend",
        "metadata": { "name": format!("{gateway}-{cluster}"), "namespace": NAMESPACE },
        "spec": { "endpoints": [{ "ip": { "address": server.ip().to_string(), "port": server.port() } }] },
    })
}
