//! A control plane made with go-control-plane, steered by a test.

use std::net::SocketAddr;

use serde_json::{Value, json};
use weir_testkit::process::{Child, free_port, go_program, http};

/// A control plane made with go-control-plane, which has a snapshot for each node id.
pub struct GoControlPlane {
    pub address: SocketAddr,
    admin: SocketAddr,
    _child: Child,
}

impl GoControlPlane {
    /// One that listens, with nothing to send yet.
    pub async fn start() -> Self {
        let local = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let (address, admin) = (local(free_port()), local(free_port()));
        let mut command = go_program("go-control-plane");
        let (listen, steer) = (address.to_string(), admin.to_string());
        command.args(["-cache", "snapshot", "-hash", "id", "-listen", &listen, "-admin", &steer]);
        let child = Child::start("go-control-plane", &mut command);
        child.wait_for_line(&["listening"]).await;
        let control_plane = Self { address, admin, _child: child };
        control_plane.steer("POST", "/start", "").await;
        control_plane
    }

    /// Replaces all resources of a node.
    pub async fn publish(&self, node: &str, resources: &[Value]) {
        self.steer("PUT", &format!("/resources?node={node}"), &json!(resources).to_string()).await;
    }

    /// Closes the port and all streams, and listens again.
    pub async fn interrupt(&self) {
        self.steer("POST", "/stop", "").await;
        self.steer("POST", "/start", "").await;
    }

    /// What a client with this node id has reported; null before its first message.
    pub async fn load(&self, node: &str) -> Value {
        let loads: Value = serde_json::from_str(&self.steer("GET", "/loads", "").await).expect("JSON");
        loads[node].clone()
    }

    async fn steer(&self, method: &str, path: &str, body: &str) -> String {
        let answer = http::request(self.admin, method, path, &[("host", "test")], body).await;
        let answer = answer.expect("the control plane answers");
        assert_eq!(answer.status, 200, "{method} {path}: {}", answer.body);
        answer.body
    }
}
