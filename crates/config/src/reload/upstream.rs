//! What changes of an upstream.
//!
//! What it is, and in which words it is asked for what, stays until a restart: nothing that is held could be taken over
//! otherwise. Where that has changed, all of the upstream stays as it was, since its endpoints are for what stands
//! beside them.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Counts, Setting};
use crate::Config;
use crate::settings::{DynamicParameters, Exchange, NodeTemplate, Polling, Source, Streaming, Upstream};
use crate::values::{PositiveDuration, Protocol, Transport, VirtualHosts};

/// Everything that has no row of its own, and which upstreams there are.
pub(super) const ALL: Setting = Setting {
    key: "upstream",
    counts: Counts::AtOnce,
    differs: differs!(config, config.upstreams.iter().map(without_fixed).collect::<Vec<_>>()),
    keep,
};

pub(super) const VIRTUAL_HOSTS: Setting = Setting {
    key: "upstream.virtual_hosts",
    counts: Counts::NewStreams,
    differs: differs!(config, config.virtual_hosts()),
    keep: |_, _| (),
};

/// A setting that cannot change. All of them are kept together.
macro_rules! fixed {
    ($key:literal: |$fixed:ident| $value:expr) => {
        Setting {
            key: $key,
            counts: Counts::Restart,
            differs: differs!(config, of_each(config, |$fixed| $value)),
            keep: |_, _| (),
        }
    };
}

pub(super) const FILES: Setting = fixed!("upstream.files": |fixed| fixed.files);
pub(super) const POLL_INTERVAL: Setting = fixed!("upstream.poll_interval": |fixed| fixed.poll_interval);
pub(super) const PROTOCOL: Setting = fixed!("upstream.protocol": |fixed| fixed.protocol);
pub(super) const TRANSPORT: Setting = fixed!("upstream.transport": |fixed| fixed.transport);
pub(super) const DYNAMIC_PARAMETERS: Setting =
    fixed!("upstream.dynamic_parameters": |fixed| fixed.keys.is_some());
pub(super) const PARAMETER_KEYS: Setting = fixed!("upstream.parameter_keys": |fixed| fixed.keys);
pub(super) const NODE: Setting = fixed!("upstream.node": |fixed| fixed.node);

/// What cannot change of an upstream; none is what its kind does not have.
#[derive(Default, PartialEq)]
struct Fixed<'a> {
    files: Option<&'a Path>,
    poll_interval: Option<PositiveDuration>,
    protocol: Option<Protocol>,
    transport: Option<Transport>,
    keys: Option<&'a [String]>,
    node: Option<&'a NodeTemplate>,
}

impl<'a> Fixed<'a> {
    fn of(upstream: &'a Upstream) -> Self {
        let mut fixed = Self::default();
        match &upstream.source {
            Source::Files(files) => {
                (fixed.files, fixed.poll_interval) = (Some(&*files.path), files.poll_interval);
            }
            Source::ControlPlane(control_plane) => {
                fixed.protocol = Some(control_plane.modes.protocol);
                fixed.transport = Some(match &control_plane.exchange {
                    Exchange::Streaming(streaming) => streaming.transport,
                    Exchange::Polling(_) => Transport::default(),
                });
                if let Some(parameters) = &control_plane.parameters {
                    (fixed.keys, fixed.node) = (Some(parameters.keys()), Some(&parameters.node));
                }
            }
        }
        fixed
    }
}

fn of_each<'a, T>(config: &'a Config, value: impl Fn(Fixed<'a>) -> T) -> BTreeMap<&'a str, T> {
    config.upstreams.iter().map(|upstream| (&*upstream.authority, value(Fixed::of(upstream)))).collect()
}

/// An upstream without what cannot change, and the terms of its streams and polls: defaults where it has none.
fn without_fixed(upstream: &Upstream) -> (Upstream, Streaming, Polling) {
    let (mut upstream, mut streaming, mut polling) =
        (upstream.clone(), Streaming::default(), Polling::default());
    upstream.virtual_hosts = VirtualHosts::default();
    match &mut upstream.source {
        Source::Files(files) => {
            files.path.clear();
            files.poll_interval = None;
        }
        Source::ControlPlane(control_plane) => {
            control_plane.modes.protocol = Protocol::default();
            control_plane.modes.dynamic_parameters = DynamicParameters::default();
            match std::mem::replace(&mut control_plane.exchange, Exchange::Streaming(streaming)) {
                Exchange::Streaming(own) => streaming = Streaming { transport: Transport::default(), ..own },
                Exchange::Polling(own) => polling = own,
            }
            if let Some(parameters) = &mut control_plane.parameters {
                parameters.clear_fixed();
            }
        }
    }
    (upstream, streaming, polling)
}

/// Has those upstreams stay as they were of which something has changed that cannot.
fn keep(next: &mut Config, running: &Config) {
    for upstream in &mut next.upstreams {
        let before = running.upstreams.iter().find(|before| before.authority == upstream.authority);
        if let Some(before) = before.filter(|before| Fixed::of(before) != Fixed::of(upstream)) {
            upstream.clone_from(before);
        }
    }
}
