//! go-control-plane, the library that most control planes are made with. The program is in `tests/go/go-control-plane`.

use std::net::SocketAddr;

use serde_json::{Value, json};
use weir_testkit::process::{Child, free_port, go_program, http};

use super::ControlPlane;

/// A control plane made with one of the library's caches.
pub struct GoControlPlane {
    address: SocketAddr,
    admin: SocketAddr,
    /// By what it distinguishes nodes, of the one node that there is.
    node: String,
    _child: Child,
}

impl GoControlPlane {
    /// `cache` and `hash` are the flags of the program. It publishes for the node with this `key`.
    pub async fn launch(cache: &str, hash: &str, key: &str) -> Self {
        let local = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let (address, admin) = (local(free_port()), local(free_port()));
        let mut command = go_program("go-control-plane");
        command.args(["-cache", cache, "-hash", hash]);
        command.args(["-listen", &address.to_string(), "-admin", &admin.to_string()]);
        let child = Child::start("go-control-plane", &mut command);
        child.wait_for_line(&["listening"]).await;
        Self { address, admin, node: key.to_owned(), _child: child }
    }

    async fn steer(&self, method: &str, path: &str, body: &str) {
        let answer = http::request(self.admin, method, path, &[("host", "test")], body).await;
        let answer = answer.expect("go-control-plane answers");
        assert_eq!(answer.status, 200, "{method} {path}: {}", answer.body);
    }
}

impl ControlPlane for GoControlPlane {
    fn address(&self) -> SocketAddr {
        self.address
    }

    async fn publish(&mut self, resources: &[Value]) {
        self.steer("PUT", &format!("/resources?node={}", self.node), &json!(resources).to_string()).await;
    }

    async fn stop(&mut self) {
        self.steer("POST", "/stop", "").await;
    }

    async fn start(&mut self) {
        self.steer("POST", "/start", "").await;
    }
}
