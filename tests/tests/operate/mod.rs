//! Two Envoys behind Weir, and a control plane that has for one of them what it rejects.

pub mod page;

use serde_json::{Value, json};
use weir_testkit::process::{Envoy, EnvoyOptions, Ran, Weir, free_port};
use weir_testkit::resources::{direct_routes, listener_with_routes, static_cluster};
use weir_testkit::wait::until_within;
use weir_testkit::{Dialect, FakeControlPlane};

use crate::LONG;
use crate::support::{Item, local};
use page::Example;

pub struct Scene {
    pub weir: Weir,
    pub envoys: [Envoy; 2],
    pub control_plane: FakeControlPlane,
    port: u16,
}

/// A cluster that Envoy rejects: it does not state where its endpoints come from.
fn bad(name: &str) -> Value {
    json!({ "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", "name": name, "type": "EDS" })
}

/// A backend for each, of which that for `env=test` is `test`; and what is for all.
fn items(test: Value, port: u16) -> Vec<Item> {
    let cluster = |name: &str| static_cluster(name, &[local(9)]);
    let for_all = ["cart", "checkout", "search"].map(|name| (None, cluster(name)));
    let ingress = listener_with_routes("ingress", port, direct_routes("ingress", "hello"));
    let mut items = vec![(Some("prod"), cluster("backend")), (Some("test"), test), (None, ingress)];
    items.extend(for_all);
    items
}

impl Scene {
    pub async fn start() -> Self {
        let (control_plane, port) = (FakeControlPlane::start().await, free_port());
        let items = items(bad("backend"), port);
        control_plane.set_all(items.iter().map(crate::support::for_nodes));
        let weir = Weir::builder()
            .parameter_from_metadata("env")
            .upstream(&control_plane, "ads-delta", "streams")
            .section("shrink_guard = { percent = 30, minimum = 2, confirm_after = \"1h\" }")
            .section("[drain]\ndelay = \"100ms\"\nover = \"100ms\"\ngrace = \"100ms\"")
            .start()
            .await;
        let envoy = |dialect, id: &str, env: &str| {
            Envoy::start(weir.address(), &EnvoyOptions::new(dialect, id).metadata("env", env))
        };
        let envoys = [envoy(Dialect::Sotw, "web-1", "prod"), envoy(Dialect::Delta, "web-2", "test")];
        Self { weir, envoys, control_plane, port }
    }

    /// Waits until both have answered for everything.
    pub async fn settle(&self) {
        until_within(LONG, "all to be received, one Envoy to accept and one to reject", || async {
            let status = self.weir.run(&["status", "--output", "json"]).await;
            let status: Value = serde_json::from_str(&status.stdout).unwrap_or_default();
            let types = json!({ "cds": { "in-sync": 1, "rejecting": 1 }, "lds": { "in-sync": 2 } });
            let mut links = status["upstreams"].as_array()?.iter();
            let received = links.all(|link| link["state"] == "in-sync");
            (status["ready"] == true && status["types"] == types && received).then_some(())
        })
        .await;
    }

    /// Has a good cluster for everyone.
    pub fn mend(&self) {
        let items = items(static_cluster("backend", &[local(10)]), self.port);
        self.control_plane
            .change(|published| *published = items.iter().map(crate::support::for_nodes).collect());
    }

    pub async fn ask(&self, path: &str) -> Value {
        let answer = self.weir.admin(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{path}: {error}: {}", answer.body))
    }

    /// The stream of a node.
    pub async fn id_of(&self, node: &str) -> String {
        self.ask(&format!("/clients?node={node}")).await["items"][0]["id"].to_string()
    }

    /// Makes it be as a section of the page has it.
    pub async fn prepare(&mut self, heading: &str) {
        match heading {
            "Is it healthy?" => self.settle().await,
            "The control plane removed too much" => {
                let left = items(bad("backend"), self.port).into_iter().take(3);
                let left: Vec<_> = left.map(|item| crate::support::for_nodes(&item)).collect();
                self.control_plane.change(|published| *published = left);
            }
            "The control plane is down" => self.control_plane.stop().await,
            _ => {}
        }
    }

    /// Runs a command until what it prints is what the page has.
    pub async fn expect(&self, example: &Example<'_>) {
        let config = self.weir.config().display().to_string();
        let arguments: Vec<_> = example
            .arguments()
            .into_iter()
            .map(|argument| if argument == "/etc/weir/weir.toml" { config.as_str() } else { argument })
            .collect();
        let mut last: Option<Ran> = None;
        let what = format!("what the page shows of {:?}", example.command);
        let looking = tokio::time::timeout(LONG, async {
            loop {
                let ran = self.weir.run(&arguments).await;
                let is_so = ran.code != 2 && example.is_shown_by(&ran.stdout);
                last = Some(ran);
                if is_so || !example.only_looks() {
                    return is_so;
                }
            }
        });
        if looking.await != Ok(true) {
            panic!(
                "{what}:\n{}\nbut it prints {:?}\n{}",
                example.shown.join("\n"),
                last,
                last.as_ref().map_or("", |ran| &ran.stdout)
            );
        }
    }
}
