//! The control plane of a run: a gRPC server of incremental aggregated discovery that uses TP2.
//!
//! It holds encoded resources and sends what changes to whoever subscribes to it, at once. It runs on a thread
//! of its own, so that its CPU time can be distinguished from the clients'.

mod service;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tonic::Status;
use weir_wire::discovery::{DeltaDiscoveryResponse, ResourceName};

use super::resources::Key;

/// The names of its threads start with this.
pub(crate) const THREADS: &str = "control-plane";
/// Responses under way to one stream.
const BACKLOG: usize = 4096;
/// How long its tasks may take to end.
const PATIENCE: Duration = Duration::from_secs(10);

type Responses = mpsc::Sender<Result<DeltaDiscoveryResponse, Status>>;

/// The control plane; ended on drop.
pub(crate) struct ControlPlane {
    address: SocketAddr,
    shared: Arc<Mutex<State>>,
    /// Its threads end with it; none while it is away.
    runtime: Option<Runtime>,
}

#[derive(Default)]
struct State {
    published: HashMap<String, BTreeMap<Key, Bytes>>,
    streams: Vec<Stream>,
    nonces: u64,
    /// The error that a client gave for a response.
    rejected: Option<String>,
}

struct Stream {
    responses: Responses,
    subscribed: HashMap<String, Subscribed>,
}

/// What one stream wants of one type: names, with the variant that is asked for, if one is.
#[derive(Default)]
struct Subscribed(HashSet<Key>);

impl Subscribed {
    fn includes(&self, resource: &Key) -> bool {
        [&*resource.name, "*"].into_iter().any(|name| {
            let wanted = |variant: Option<String>| self.0.contains(&Key { name: name.to_owned(), variant });
            match &resource.variant {
                Some(_) => wanted(resource.variant.clone()),
                // It is for everyone, whatever they ask for: rare enough to look through all.
                None => wanted(None) || self.0.iter().any(|key| key.name == name),
            }
        })
    }
}

impl ControlPlane {
    /// Listens on a port of the loopback interface.
    pub(crate) fn start() -> Result<Self> {
        let shared = Arc::<Mutex<State>>::default();
        let (runtime, address) = serve(SocketAddr::from(([127, 0, 0, 1], 0)), &shared)?;
        Ok(Self { address, shared, runtime: Some(runtime) })
    }

    /// Ends all streams, and listens no more. What is published stays.
    pub(crate) fn leave(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(PATIENCE);
        }
        self.shared.lock().streams.clear();
    }

    /// Listens again, where it did before.
    pub(crate) fn come_back(&mut self) -> Result<()> {
        self.runtime = Some(serve(self.address, &self.shared)?.0);
        Ok(())
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Publishes these resources of one type at once, in place of the same ones if there are any.
    pub(crate) fn publish(&self, type_url: &str, resources: &[(Key, Bytes)]) -> Result<()> {
        let due = self.shared.lock().publish(type_url, resources);
        for (responses, response) in due {
            // A stream that has ended does not matter.
            let _ = responses.blocking_send(Ok(response));
        }
        self.check()
    }

    /// An error if anything that was published was rejected.
    pub(crate) fn check(&self) -> Result<()> {
        let rejected = self.shared.lock().rejected.take();
        ensure!(
            rejected.is_none(),
            "the server rejected what was published: {}",
            rejected.unwrap_or_default()
        );
        Ok(())
    }
}

/// Listens at `address`, on a thread of its own.
fn serve(address: SocketAddr, shared: &Arc<Mutex<State>>) -> Result<(Runtime, SocketAddr)> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name(THREADS)
        .enable_all()
        .build()
        .context("start the control plane's runtime")?;
    let listener = runtime.block_on(TcpListener::bind(address))?;
    let address = listener.local_addr()?;
    runtime.spawn(service::serve(listener, Arc::clone(shared)));
    Ok((runtime, address))
}

impl State {
    fn publish(
        &mut self,
        type_url: &str,
        resources: &[(Key, Bytes)],
    ) -> Vec<(Responses, DeltaDiscoveryResponse)> {
        let published = self.published.entry(type_url.to_owned()).or_default();
        published.extend(resources.iter().cloned());
        let mut due = Vec::new();
        for stream in &self.streams {
            let Some(subscribed) = stream.subscribed.get(type_url) else { continue };
            let wanted = resources.iter().filter(|(key, _)| subscribed.includes(key));
            let wanted: Vec<_> = wanted.map(|(_, resource)| resource.clone()).collect();
            if !wanted.is_empty() {
                self.nonces += 1;
                due.push((stream.responses.clone(), response(type_url, self.nonces, wanted, vec![])));
            }
        }
        due
    }

    /// The answer to a subscription: what there is, and which names there are not.
    fn answer(&mut self, type_url: &str, wanted: &HashSet<Key>) -> DeltaDiscoveryResponse {
        let none = BTreeMap::new();
        let published = self.published.get(type_url).unwrap_or(&none);
        let (mut resources, mut missing) = (Vec::new(), Vec::new());
        if wanted.iter().any(|key| key.name == "*") {
            let subscribed = Subscribed(wanted.clone());
            let matching = published.iter().filter(|(key, _)| subscribed.includes(key));
            resources.extend(matching.map(|(_, resource)| resource.clone()));
        } else {
            // What is for everyone answers many locators of its name, once.
            let mut found = BTreeMap::new();
            for key in wanted {
                let any = Key { name: key.name.clone(), variant: None };
                match published.get_key_value(key).or_else(|| published.get_key_value(&any)) {
                    Some((key, resource)) => drop(found.insert(key, resource)),
                    None => missing.push(key.name.clone()),
                }
            }
            resources.extend(found.into_values().cloned());
        }
        self.nonces += 1;
        response(type_url, self.nonces, resources, missing)
    }
}

fn response(
    type_url: &str,
    nonce: u64,
    resources: Vec<Bytes>,
    missing: Vec<String>,
) -> DeltaDiscoveryResponse {
    let missing = missing.into_iter().map(|name| ResourceName { name, dynamic_parameter_constraints: None });
    DeltaDiscoveryResponse {
        type_url: type_url.to_owned(),
        nonce: nonce.to_string(),
        resources,
        removed_resource_names: missing.collect(),
        ..DeltaDiscoveryResponse::default()
    }
}
