//! A real Envoy that takes its configuration from a discovery server.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use super::{Child, free_port, http, tool};
use crate::client::Dialect;
use crate::resources::{rest, separately};
use crate::wait::until;

/// How an Envoy is set up.
#[derive(Clone, Debug)]
pub struct EnvoyOptions {
    /// The protocol version that it uses.
    pub dialect: Dialect,
    /// Its `node.id`.
    pub id: String,
    /// Its `node.cluster`.
    pub cluster: String,
    /// Its `node.metadata`.
    pub metadata: Value,
    /// Whether it sends its 61 kB of node once only.
    pub node_once: bool,
    /// Whether it takes clusters and listeners from the services of these types, rather than from the aggregated one.
    pub separate: bool,
    /// Which of the tools it is.
    pub program: &'static str,
    /// How it proves to the discovery server who it is; none for a connection without TLS.
    pub tls: Option<ClientTls>,
}

/// TLS to a server that asks for a certificate.
#[derive(Clone, Debug)]
pub struct ClientTls {
    /// The file of the authority that vouches for the server.
    pub ca: PathBuf,
    /// The file of the client's certificate.
    pub certificate: PathBuf,
    /// The file of its private key.
    pub key: PathBuf,
    /// The name in the server's certificate.
    pub server_name: &'static str,
}

impl EnvoyOptions {
    /// An Envoy with this id.
    pub fn new(dialect: Dialect, id: &str) -> Self {
        Self {
            dialect,
            id: id.to_owned(),
            cluster: "test".to_owned(),
            metadata: json!({}),
            node_once: false,
            separate: false,
            program: "envoy",
            tls: None,
        }
    }

    /// Adds a text to its metadata.
    #[must_use]
    pub fn metadata(mut self, key: &str, value: &str) -> Self {
        self.metadata[key] = json!(value);
        self
    }

    /// Has it use the services of single types. Resources then have to state that too: see [`separately`].
    #[must_use]
    pub fn separate(mut self) -> Self {
        self.separate = true;
        self
    }

    /// Lets it send its node in the first request of a stream only.
    #[must_use]
    pub fn node_once(mut self) -> Self {
        self.node_once = true;
        self
    }

    /// Takes another Envoy of the tools.
    #[must_use]
    pub fn program(mut self, program: &'static str) -> Self {
        self.program = program;
        self
    }

    /// Its bootstrap, with a discovery server behind it; to be added to for [`Envoy::with_bootstrap`].
    pub fn bootstrap(&self, server: SocketAddr) -> Value {
        let api_type = if self.dialect == Dialect::Sotw { "GRPC" } else { "DELTA_GRPC" };
        let over_ads = json!({ "ads": {}, "resource_api_version": "V3" });
        let mut dynamic = json!({ "cds_config": over_ads, "lds_config": over_ads });
        if self.separate {
            dynamic = separately(self.dialect, dynamic);
        } else {
            dynamic["ads_config"] = json!({
                "api_type": api_type,
                "transport_api_version": "V3",
                "set_node_on_first_message_only": self.node_once,
                "grpc_services": [{ "envoy_grpc": { "cluster_name": "xds" } }],
            });
        }
        let mut xds = xds_cluster(server);
        if let Some(tls) = &self.tls {
            xds["transport_socket"] = tls.transport_socket();
        }
        json!({
            "node": { "id": self.id, "cluster": self.cluster, "metadata": self.metadata },
            "dynamic_resources": dynamic,
            "static_resources": { "clusters": [xds] },
        })
    }
}

impl ClientTls {
    fn transport_socket(&self) -> Value {
        json!({ "name": "envoy.transport_sockets.tls", "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
            "sni": self.server_name,
            "common_tls_context": {
                "tls_params": { "tls_maximum_protocol_version": "TLSv1_3" },
                "tls_certificates": [{
                    "certificate_chain": { "filename": self.certificate },
                    "private_key": { "filename": self.key },
                }],
                "validation_context": {
                    "trusted_ca": { "filename": self.ca },
                    "match_typed_subject_alt_names": [
                        { "san_type": "DNS", "matcher": { "exact": self.server_name } },
                    ],
                },
            },
        }})
    }
}

/// The static cluster `xds`: a gRPC server.
pub fn xds_cluster(server: SocketAddr) -> Value {
    json!({
        "name": "xds",
        "type": "STATIC",
        "connect_timeout": "1s",
        "typed_extension_protocol_options": { "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
            "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
            "explicit_http_config": { "http2_protocol_options": {} },
        }},
        "load_assignment": { "cluster_name": "xds", "endpoints": [{ "lb_endpoints": [
            { "endpoint": { "address": socket_address(server) } },
        ]}]},
    })
}

fn socket_address(address: SocketAddr) -> Value {
    json!({ "socket_address": { "address": address.ip().to_string(), "port_value": address.port() } })
}

/// The process.
pub struct Envoy {
    child: Child,
    admin: SocketAddr,
    _directory: TempDir,
}

impl Envoy {
    /// Starts one. It need not be ready yet: see [`Self::live`].
    pub fn start(server: SocketAddr, options: &EnvoyOptions) -> Self {
        Self::launch(options.program, &options.id, |_| options.bootstrap(server))
    }

    /// Starts one with a bootstrap of its own, made for the directory in which it is written. The admin interface is
    /// added.
    pub fn with_bootstrap(id: &str, bootstrap: impl FnOnce(&Path) -> Value) -> Self {
        Self::launch("envoy", id, bootstrap)
    }

    fn launch(program: &str, id: &str, bootstrap: impl FnOnce(&Path) -> Value) -> Self {
        let directory = TempDir::with_prefix("weir-envoy-").expect("a temporary directory");
        let admin = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let mut config = bootstrap(directory.path());
        config["admin"] = json!({ "address": socket_address(admin) });
        let path = directory.path().join("bootstrap.json");
        std::fs::write(&path, config.to_string()).expect("write the bootstrap");
        let mut command = Command::new(tool(program));
        command.args(["--concurrency", "1", "--disable-hot-restart", "--log-level", "warning"]);
        command.arg("--config-path").arg(&path);
        let child = Child::start(&format!("envoy {id}"), &mut command);
        Self { child, admin, _directory: directory }
    }

    /// Starts one that polls for its clusters and listeners over REST-JSON and HTTP/1.1.
    pub fn polling(server: SocketAddr, id: &str) -> Self {
        let mut xds = xds_cluster(server);
        xds["typed_extension_protocol_options"] = json!({});
        Self::with_bootstrap(id, |_| {
            json!({
                "node": { "id": id, "cluster": "test" },
                "dynamic_resources": { "cds_config": rest(), "lds_config": rest() },
                "static_resources": { "clusters": [xds] },
            })
        })
    }

    /// Waits until it has all of its configuration and serves. Panics if it went on without what did not come.
    pub async fn live(&mut self) {
        self.until("Envoy to be live", async |admin| {
            let answer = http::get(admin, "/ready").await.ok()?;
            (answer.status == 200).then_some(())
        })
        .await;
        self.expect_no_fetch_timeout().await;
    }

    /// Panics if it ever went on without resources that did not come, as it does after 15 s. What it has after that, it
    /// was given in time. Virtual hosts are no matter: where they come on demand, nothing answers the first question.
    pub async fn expect_no_fetch_timeout(&self) {
        let timeouts = self.admin("/stats?usedonly&filter=init_fetch_timeout$").await;
        let wrong: Vec<_> =
            timeouts.lines().filter(|line| !line.contains("vhds") && !line.ends_with(": 0")).collect();
        assert!(wrong.is_empty(), "Envoy waited in vain for resources: {wrong:?}");
    }

    /// Looks at its admin interface until there is what is looked for.
    pub async fn until<T>(&mut self, what: &str, look: impl AsyncFn(SocketAddr) -> Option<T>) -> T {
        let (child, admin, look) = (&mut self.child, self.admin, &look);
        until(what, || {
            child.expect_running();
            look(admin)
        })
        .await
    }

    /// The answer of its admin interface under this path. Panics if it does not answer.
    pub async fn admin(&self, path: &str) -> String {
        let answer = http::get(self.admin, path).await;
        answer
            .unwrap_or_else(|e| panic!("ask Envoy for {path}: {e}; its output:\n{}", self.child.output()))
            .body
    }

    /// Its whole configuration, as it has taken it.
    pub async fn config_dump(&self) -> Value {
        serde_json::from_str(&self.admin("/config_dump?include_eds").await).expect("Envoy answers in JSON")
    }

    /// One counter or gauge; none if Envoy has not got it.
    pub async fn stat(&self, name: &str) -> Option<u64> {
        stat(self.admin, name).await
    }

    /// Waits until a counter or gauge is as `wanted` requires.
    pub async fn wait_for_stat(&mut self, name: &str, wanted: impl Fn(u64) -> bool) {
        let (what, wanted) = (format!("the statistic {name}"), &wanted);
        self.until(&what, async |admin| stat(admin, name).await.filter(|value| wanted(*value)).map(|_| ()))
            .await;
    }

    /// What it printed: warnings and errors.
    pub fn output(&self) -> String {
        self.child.output()
    }
}

async fn stat(admin: SocketAddr, name: &str) -> Option<u64> {
    let text = http::get(admin, &format!("/stats?filter=^{}$", name.replace('.', "\\."))).await.ok()?.body;
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")?.parse().ok())
}
