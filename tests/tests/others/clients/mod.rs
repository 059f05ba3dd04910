//! Clients that others made, making requests to targets without end. Each kind has a file of its own.
//!
//! A target is what people want to reach: the listener of its name leads there. The first target gets [`RATE`] requests a
//! second, each other one a tenth of that.

mod envoy;
mod grpc;

use std::net::SocketAddr;

use serde_json::{Value, json};
use weir_testkit::Dialect;
use weir_testkit::process::{Backend, GrpcServers, no_java};
use weir_testkit::resources::{api_listener, grpc_routes, listener, routes};

use super::control_planes::XdsServer;
use super::observed::Observed;

/// Requests a second.
pub const RATE: usize = 300;

/// What can be tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientKind {
    /// Envoy, with this variant of the protocol.
    Envoy(Dialect),
    /// The oldest Envoy that its project supports.
    OldestEnvoy(Dialect),
    /// gRPC C-core.
    GrpcPython,
    GrpcGo,
    GrpcJava,
    GrpcNode,
}

/// What a client states of itself. The cluster of gRPC clients is always `test`.
#[derive(Clone, Copy, Debug)]
pub struct ClientNode<'a> {
    pub id: &'a str,
    pub cluster: &'a str,
}

/// A running client.
pub struct Client {
    kind: ClientKind,
    targets: Vec<(&'static str, u16)>,
    process: Process,
    observed: Observed,
}

enum Process {
    Envoy(envoy::Loaded),
    Grpc(grpc::Loaded),
}

/// The servers that requests end at, by name.
pub enum Servers {
    Http(Vec<(&'static str, Backend)>),
    Grpc(Box<GrpcServers>),
}

impl ClientKind {
    /// Why it cannot run here, if so.
    pub fn obstacle(self) -> Option<String> {
        match self {
            Self::GrpcJava => no_java(),
            _ => None,
        }
    }

    fn is_envoy(self) -> bool {
        matches!(self, Self::Envoy(_) | Self::OldestEnvoy(_))
    }

    /// Servers that this kind of client can call.
    pub async fn servers(self, names: &[&'static str]) -> Servers {
        if !self.is_envoy() {
            return Servers::Grpc(Box::new(GrpcServers::start_go(names).await));
        }
        let mut backends = Vec::new();
        for name in names {
            backends.push((*name, Backend::start(name).await));
        }
        Servers::Http(backends)
    }
}

impl Servers {
    pub fn address(&self, name: &str) -> SocketAddr {
        match self {
            Self::Http(backends) => {
                backends.iter().find(|(n, _)| *n == name).expect("it was started").1.address()
            }
            Self::Grpc(servers) => servers.address(name),
        }
    }
}

impl Client {
    /// A client of an xDS server. Targets are subscribed to from the start, there or not.
    pub fn start(
        kind: ClientKind,
        server: &XdsServer,
        node: ClientNode<'_>,
        targets: &[(&'static str, u16)],
    ) -> Self {
        let observed = Observed::new();
        // What control planes read: ours the first, Istio the others.
        let metadata = json!({ "env": "prod", "NAMESPACE": "default", "CLUSTER_ID": "Kubernetes" });
        let process = if kind.is_envoy() {
            Process::Envoy(envoy::Loaded::start(kind, server, node, &metadata, targets, &observed))
        } else {
            let address = server.address;
            Process::Grpc(grpc::Loaded::start(kind, address, node.id, &metadata, targets, &observed))
        };
        Self { kind, targets: targets.to_vec(), process, observed }
    }

    /// What its requests came to.
    pub fn observed(&self) -> &Observed {
        &self.observed
    }

    /// The listener and the routes by which this client reaches a target.
    pub fn path(&self, target: &str, cluster: &str) -> [Value; 2] {
        let name = format!("{target}-routes");
        if self.kind.is_envoy() {
            [listener(target, self.port(target), &name), routes(&name, cluster)]
        } else {
            [api_listener(target, &name), grpc_routes(&name, cluster)]
        }
    }

    /// The port of a target.
    pub fn port(&self, target: &str) -> u16 {
        self.targets.iter().find(|(name, _)| *name == target).expect("one of its targets").1
    }

    /// All resources that it holds, in a form that is equal for equal resources, whoever sent them.
    pub async fn dump(&mut self) -> Vec<String> {
        let mut dump = match &mut self.process {
            Process::Envoy(envoy) => envoy.dump().await,
            Process::Grpc(client) => client.dump().await,
        };
        for (target, port) in &self.targets {
            for entry in &mut dump {
                *entry = entry.replace(&port.to_string(), &format!("PORT-OF-{target}"));
            }
        }
        dump.sort();
        dump
    }
}

/// Takes out what depends on who sent a resource, and when.
fn without_circumstances(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            ["version_info", "last_updated"].into_iter().for_each(|key| drop(fields.remove(key)));
            fields.values_mut().for_each(without_circumstances);
        }
        Value::Array(items) => items.iter_mut().for_each(without_circumstances),
        _ => {}
    }
}
