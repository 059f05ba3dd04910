//! Weir with each kind of source of resources behind it, changed in one and the same way.
#![allow(dead_code, reason = "every test binary uses a part of it")]

pub mod go_control_plane;
pub mod pki;

use std::net::SocketAddr;

use serde_json::Value;
use weir_testkit::constraints::value;
use weir_testkit::process::{Weir, WeirBuilder};
use weir_testkit::resource::Published;
use weir_testkit::resources::{constrained, file, published};
use weir_testkit::{Dialect, FakeControlPlane};

/// Where Weir takes resources from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A directory.
    Files,
    /// A control plane of today, one stream per parameter set; with the protocol that is used with it, behind `v2 `
    /// where its services are called by the names of v2.
    Streams(&'static str),
    /// A control plane that supports TP2; with the protocol that is used with it.
    Native(&'static str),
}

/// All there are.
pub const SOURCES: [Source; 5] = [
    Source::Files,
    Source::Streams("ads-delta"),
    Source::Streams("ads-sotw"),
    Source::Native("ads-delta"),
    Source::Native("ads-sotw"),
];

/// A resource for everyone, or for those whose `env` has this value.
pub type Item = (Option<&'static str>, Value);

/// Resources for everyone.
pub fn for_all(resources: impl IntoIterator<Item = Value>) -> Vec<Item> {
    resources.into_iter().map(|resource| (None, resource)).collect()
}

/// A Weir and its source.
pub struct Bed {
    pub weir: Weir,
    source: Source,
    pub control_plane: Option<FakeControlPlane>,
}

impl Bed {
    /// A running Weir whose source has these resources.
    pub async fn start(source: Source, items: &[Item]) -> Self {
        // Shown if the test fails, where one test goes through several.
        println!("--- {source:?}");
        let control_plane = match source {
            Source::Files => None,
            Source::Streams(_) => Some(FakeControlPlane::start().await),
            Source::Native(_) => Some(FakeControlPlane::start_tp2().await),
        };
        let builder = Weir::builder().parameter_from_metadata("env");
        let builder = match (source, &control_plane) {
            (Source::Streams(protocol), Some(upstream)) => using(builder, upstream, protocol, "streams"),
            (Source::Native(protocol), Some(upstream)) => using(builder, upstream, protocol, "native"),
            _ => builder.files(&[("resources.json", &as_file(items))]),
        };
        if let Some(control_plane) = &control_plane {
            control_plane.set_all(as_published(source, items));
        }
        Self { weir: builder.start().await, source, control_plane }
    }

    /// Where clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.weir.address()
    }

    /// Replaces all resources, in one step.
    pub fn set(&self, items: &[Item]) {
        match &self.control_plane {
            None => self.weir.write_file("resources.json", &as_file(items)),
            Some(control_plane) => {
                control_plane.change(|published| *published = as_published(self.source, items));
            }
        }
    }

    /// Panics if the control plane ever had a stream of another dialect than the one that Weir is to use with it.
    pub fn expect_only_its_dialect(&self) {
        let (Source::Streams(protocol) | Source::Native(protocol)) = self.source else { return };
        let dialect = if protocol.ends_with("delta") { Dialect::Delta } else { Dialect::Sotw };
        let control_plane = self.control_plane.as_ref().expect("there is a control plane");
        control_plane.look(|state| {
            assert!(!state.streams.is_empty(), "Weir never came");
            assert!(state.streams.iter().all(|stream| stream.dialect == dialect), "{}", state.describe());
        });
    }

    /// The control plane. Panics if there is none.
    pub fn control_plane(&mut self) -> &mut FakeControlPlane {
        self.control_plane.as_mut().expect("there is a control plane")
    }
}

fn using(builder: WeirBuilder, upstream: &FakeControlPlane, protocol: &str, parameters: &str) -> WeirBuilder {
    match protocol.strip_prefix("v2 ") {
        None if protocol == "rest" => builder
            .upstream(upstream, protocol, parameters)
            .section("refresh_interval = \"50ms\"\nrefresh_jitter = \"10ms\""),
        Some(protocol) => builder.upstream(upstream, protocol, parameters).section("transport = \"v2\""),
        None => builder.upstream(upstream, protocol, parameters),
    }
}

fn as_file(items: &[Item]) -> String {
    let resources: Vec<_> = items
        .iter()
        .map(|(env, resource)| env.map_or_else(|| resource.clone(), |env| constrained("env", env, resource)))
        .collect();
    file(&resources)
}

/// As a control plane has it that knows nothing of constraints, and goes by the node.
pub fn for_nodes((env, resource): &Item) -> Published {
    let published = published(resource);
    match env {
        Some(env) => published.for_metadata("env", env),
        None => published,
    }
}

fn as_published(source: Source, items: &[Item]) -> Vec<Published> {
    let publish = |item: &Item| match (item, source) {
        ((Some(env), resource), Source::Native(_)) => published(resource).constrained(value("env", env)),
        _ => for_nodes(item),
    };
    items.iter().map(publish).collect()
}

/// A port on the loopback.
pub fn local(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}
