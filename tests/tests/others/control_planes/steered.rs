//! Control planes made with libraries, as most are: programs of ours that do nothing but use the library, and that are steered
//! over HTTP. They are in `tests/go` and `tests/java`; `tests/go/go-control-plane/main.go` describes how they are steered.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::process::Command;
use weir_testkit::process::{Child, free_port, go_program, http, java_program};
use weir_testkit::resources::{assignment, eds_cluster};

use super::ControlPlaneKind;
use crate::clients::Client;
use crate::lane::{Between, NodeKey, World};

/// A running program.
pub struct Steered {
    address: SocketAddr,
    admin: SocketAddr,
    /// By what it distinguishes nodes, of the one node that there is.
    node: &'static str,
    _child: Child,
}

impl Steered {
    /// Starts one that distinguishes nodes in this way, for a lane with this in between.
    pub async fn launch(kind: ControlPlaneKind, node: NodeKey, between: Between) -> Self {
        let local = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let (address, admin) = (local(free_port()), local(free_port()));
        let hash = match node {
            NodeKey::Id => "id",
            NodeKey::Cluster => "cluster",
            NodeKey::Metadata => "env",
        };
        let mut command = program(kind);
        command.args(["-hash", hash, "-listen", &address.to_string(), "-admin", &admin.to_string()]);
        let child = Child::start(&kind.to_string(), &mut command);
        child.wait_for_line(&["listening"]).await;
        Self { address, admin, node: node.of(between), _child: child }
    }

    /// Where xDS clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Replaces all resources, also while it is stopped.
    pub async fn publish(&mut self, world: &World, client: &Client) {
        self.publish_for(self.node, world, client).await;
    }

    /// Replaces all resources of another node.
    pub async fn publish_for(&self, node: &str, world: &World, client: &Client) {
        self.put_for(node, &resources(world, client)).await;
    }

    /// Replaces all resources by these.
    pub async fn put(&self, resources: &[Value]) {
        self.put_for(self.node, resources).await;
    }

    async fn put_for(&self, node: &str, resources: &[Value]) {
        self.steer("PUT", &format!("/resources?node={node}"), &json!(resources).to_string()).await;
    }

    /// Ends all streams, and listens no more.
    pub async fn stop(&mut self) {
        self.steer("POST", "/stop", "").await;
    }

    /// Listens again.
    pub async fn start(&mut self) {
        self.steer("POST", "/start", "").await;
    }

    async fn steer(&self, method: &str, path: &str, body: &str) {
        let answer = http::request(self.admin, method, path, &[("host", "test")], body).await;
        let answer = answer.expect("the control plane answers");
        assert_eq!(answer.status, 200, "{method} {path}: {}", answer.body);
    }
}

fn program(kind: ControlPlaneKind) -> Command {
    match kind {
        ControlPlaneKind::Go(cache) => {
            let mut command = go_program("go-control-plane");
            command.args(["-cache", cache]);
            command
        }
        ControlPlaneKind::Java => java_program("java-control-plane"),
        ControlPlaneKind::EnvoyGateway | ControlPlaneKind::Istiod => {
            unreachable!("{kind} is not steered over HTTP")
        }
    }
}

fn resources(world: &World, client: &Client) -> Vec<Value> {
    let mut resources = Vec::new();
    for (target, (cluster, server)) in world {
        resources.push(eds_cluster(cluster));
        resources.extend(server.map(|server| assignment(cluster, &[server])));
        resources.extend(client.path(target, cluster));
    }
    resources
}
