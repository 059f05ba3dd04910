//! The settings of the manifest for Kubernetes, through the loss of the control plane and of a pod.

#[path = "support/mod.rs"]
mod support;

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use support::local;
use weir_testkit::process::{Weir, free_port, http};
use weir_testkit::wait::until;
use weir_testkit::{FakeControlPlane, Published, XdsClient, node, type_url};

const TOKEN: &str = "only-to-look";

/// The configuration that the manifest has.
fn configuration() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/kubernetes/weir.yaml");
    let manifest = fs::read_to_string(path).expect("there is a manifest");
    let lines = manifest.lines().skip_while(|line| line.trim() != "weir.toml: |").skip(1);
    let text: Vec<_> = lines.map_while(|line| line.strip_prefix("    ")).collect();
    text.join("\n")
}

/// The same where everything is on one machine: the addresses and the files are other ones, and nothing else.
struct Pod {
    directory: tempfile::TempDir,
    listen: SocketAddr,
    admin: SocketAddr,
}

impl Pod {
    fn new(control_plane: &FakeControlPlane) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let [listen, admin] = [free_port(), free_port()].map(local);
        let place = |name: &str| directory.path().join(name).display().to_string();
        let mut text = configuration();
        for (from, to) in [
            ("0.0.0.0:18000", listen.to_string()),
            ("0.0.0.0:19000", admin.to_string()),
            ("http://control-plane.example:18000", control_plane.uri()),
            ("/etc/weir-admin/token", place("token")),
            ("/var/lib/weir/store", place("store")),
        ] {
            assert_eq!(text.matches(from).count(), 1, "{from} in {text}");
            text = text.replace(from, &to);
        }
        fs::write(place("token"), TOKEN).expect("a token");
        fs::write(place("weir.toml"), text).expect("a configuration");
        Self { directory, listen, admin }
    }

    async fn start(&self) -> Weir {
        Weir::with_config(&self.directory.path().join("weir.toml"), self.listen, self.admin).await
    }
}

async fn until_ready(weir: &Weir, status: u16) {
    until(format!("/ready to be {status}"), async || {
        (weir.admin("/ready").await.status == status).then_some(())
    })
    .await;
}

/// Waits until Weir has all that it asked for: what is not complete is not kept on the volume.
async fn until_complete(weir: &Weir) {
    let bearer = format!("Bearer {TOKEN}");
    let headers = [("host", "test"), ("authorization", bearer.as_str())];
    until("the wildcard to be complete", async || {
        let answer = http::request(weir.admin_address(), "GET", "/upstreams", &headers, "").await.ok()?;
        (answer.status == 200 && answer.body.contains("\"state\":\"in-sync\"")).then_some(())
    })
    .await;
}

/// What a client gets of clusters.
async fn clusters(weir: &Weir) -> Vec<(String, String)> {
    let mut client = XdsClient::delta(weir.address(), &node("web-1")).await;
    client.subscribe(type_url("cds"), &["*"]);
    client.accept(type_url("cds")).await.texts()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u09_pods_that_hold_something_stay_in_service_without_their_control_plane() {
    let mut control_plane = FakeControlPlane::start().await;
    control_plane.set(Published::text(type_url("cds"), "a", "1"));
    let wanted = [("a".to_owned(), "1".to_owned())];
    let (pod, fresh) = (Pod::new(&control_plane), Pod::new(&control_plane));
    let mut weir = pod.start().await;
    until_ready(&weir, 200).await;
    assert_eq!(clusters(&weir).await, wanted);
    until_complete(&weir).await;
    let mut asks_in_vain = XdsClient::sotw(weir.address(), &node("web-2")).await;
    asks_in_vain.subscribe(type_url("eds"), &["none"]);
    control_plane.wait_for_request("the name", |request| request.asks_for("none")).await;
    assert_eq!(weir.admin("/ready").await.status, 200, "one client asks in vain");

    control_plane.stop().await;
    weir.child().wait_for_line(&["upstream disconnected"]).await;
    assert_eq!(weir.admin("/ready").await.status, 200, "it is warm");
    assert_eq!(clusters(&weir).await, wanted);

    // SIGTERM has everything written.
    drop(asks_in_vain);
    weir.signal("INT").await;
    weir.ended().await;
    weir.restart().await;
    until_ready(&weir, 200).await;
    assert_eq!(clusters(&weir).await, wanted, "the volume has it");

    let empty = fresh.start().await;
    empty.child().wait_for_line(&["upstream unreachable"]).await;
    let ready = empty.admin("/ready").await;
    assert!(ready.status == 503 && ready.body.contains("is not connected"), "{}", ready.body);
    control_plane.restart().await;
    until_ready(&empty, 200).await;
}
