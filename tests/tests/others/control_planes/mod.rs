//! Control planes that others made. Each has a file of its own.

mod envoy_gateway;
mod istiod;
mod kubernetes;
mod steered;

use std::fmt;
use std::net::SocketAddr;
use std::time::Instant;

use weir_testkit::process::{ClientTls, no_go, no_java};

use super::clients::Client;
use super::lane::{Between, NodeKey, World};
pub use envoy_gateway::{EnvoyGateway, Gateway};
pub use istiod::{CLIENT as ISTIO_GATEWAY, Istiod};
pub use steered::Steered;

/// What can be tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlPlaneKind {
    /// go-control-plane with this one of its caches.
    Go(&'static str),
    /// java-control-plane with its snapshot cache.
    Java,
    EnvoyGateway,
    Istiod,
}

impl ControlPlaneKind {
    /// Why it cannot run here, if so.
    pub fn obstacle(self) -> Option<String> {
        match self {
            Self::Go(_) | Self::EnvoyGateway | Self::Istiod => no_go(),
            Self::Java => no_java(),
        }
    }

    /// The `node.id` of its clients.
    pub fn node_id(self) -> &'static str {
        match self {
            Self::Go(_) | Self::Java | Self::EnvoyGateway => "client",
            Self::Istiod => istiod::CLIENT,
        }
    }

    /// The `node.cluster` of its clients.
    pub fn node_cluster(self) -> &'static str {
        match self {
            Self::Go(_) | Self::Java | Self::Istiod => "test",
            Self::EnvoyGateway => "default/test",
        }
    }

    /// What a Weir in front of it is configured with, as keys and tables of its `[[upstream]]`.
    pub fn upstream(self) -> &'static str {
        match self {
            Self::Go(_) => "",
            Self::Java => "node_on_first_message_only = false",
            Self::EnvoyGateway => envoy_gateway::UPSTREAM,
            Self::Istiod => istiod::UPSTREAM,
        }
    }

    /// What else such a Weir is configured with, as tables.
    pub fn sections(self) -> &'static str {
        match self {
            Self::Go(_) | Self::Java | Self::Istiod => "",
            Self::EnvoyGateway => envoy_gateway::PARAMETERS,
        }
    }

    /// Whether clients that are connected to it directly may miss what clients of a Weir have.
    pub fn withholds_directly(self) -> bool {
        match self {
            Self::Go(_) | Self::EnvoyGateway | Self::Istiod => false,
            // See `java_withholds.rs`. Weir is subscribed in state of the world, type by type.
            Self::Java => true,
        }
    }

    /// Whether only one can run at a time, since its ports are fixed.
    pub fn is_alone(self) -> bool {
        match self {
            Self::Go(_) | Self::Java | Self::Istiod => false,
            Self::EnvoyGateway => true,
        }
    }
}

impl fmt::Display for ControlPlaneKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Go(cache) => write!(f, "go-control-plane, {cache}"),
            Self::Java => f.write_str("java-control-plane"),
            Self::EnvoyGateway => f.write_str("Envoy Gateway"),
            Self::Istiod => f.write_str("istiod"),
        }
    }
}

/// Where xDS clients connect to, and how.
#[derive(Clone, Debug)]
pub struct XdsServer {
    pub address: SocketAddr,
    pub tls: Option<ClientTls>,
}

impl XdsServer {
    /// The keys of an `[[upstream]]` of Weir that takes its resources from there.
    pub fn upstream(&self, protocol: &str) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let address = self.address;
        format!(
            "[[upstream]]\nauthority = \"\"\nendpoints = [\"{scheme}://{address}\"]\n\
             protocol = \"{protocol}\"\ndynamic_parameters = \"streams\""
        )
    }

    /// The table of that upstream for TLS, if any.
    pub fn upstream_tls(&self) -> String {
        let Some(ClientTls { ca, certificate, key, server_name }) = &self.tls else { return String::new() };
        let [ca, certificate, key] = [ca, certificate, key].map(|path| path.display());
        format!(
            "[upstream.tls]\nca = \"{ca}\"\ncertificate = \"{certificate}\"\nkey = \"{key}\"\n\
             server_name = \"{server_name}\""
        )
    }
}

/// A control plane, which is changed by replacing all that it publishes.
pub enum ControlPlane {
    Steered(Steered),
    EnvoyGateway(EnvoyGateway),
    Istiod(Istiod),
}

impl ControlPlane {
    /// Prepares one that distinguishes nodes in this way, for a lane with this in between. It has to be started then.
    pub async fn prepare(kind: ControlPlaneKind, node: NodeKey, between: Between) -> Self {
        match kind {
            ControlPlaneKind::Go(_) | ControlPlaneKind::Java => {
                Self::Steered(Steered::launch(kind, node, between).await)
            }
            ControlPlaneKind::EnvoyGateway => Self::EnvoyGateway(EnvoyGateway::prepare().await),
            ControlPlaneKind::Istiod => Self::Istiod(Istiod::prepare().await),
        }
    }

    /// Where xDS clients connect to.
    pub fn server(&self) -> XdsServer {
        match self {
            Self::Steered(program) => XdsServer { address: program.address(), tls: None },
            Self::EnvoyGateway(program) => program.server(),
            Self::Istiod(program) => program.server(),
        }
    }

    /// Replaces everything that it publishes, for a client, also while it is stopped. The time is when the control plane had
    /// it all.
    pub async fn publish(&mut self, world: &World, client: &Client) -> Instant {
        match self {
            Self::Steered(program) => {
                let published = Instant::now();
                program.publish(world, client).await;
                published
            }
            Self::Istiod(program) => {
                let published = Instant::now();
                program.publish(world, |target| client.port(target));
                published
            }
            Self::EnvoyGateway(program) => {
                let port = |target: &str| client.port(target);
                program.publish(&[Gateway { name: "test", world, port: &port }]).await;
                Instant::now()
            }
        }
    }

    /// Ends all streams, and listens no more.
    pub async fn stop(&mut self) {
        match self {
            Self::Steered(program) => program.stop().await,
            Self::EnvoyGateway(program) => program.stop().await,
            Self::Istiod(program) => program.stop().await,
        }
    }

    /// Listens again.
    pub async fn start(&mut self) {
        match self {
            Self::Steered(program) => program.start().await,
            Self::EnvoyGateway(program) => program.start().await,
            Self::Istiod(program) => program.start().await,
        }
    }
}
