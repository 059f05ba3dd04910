//! The xDS transport on the wire.

/// `envoy.service.discovery.v3`, generated from `proto/`.
#[allow(missing_docs, unreachable_pub, clippy::all)]
pub mod discovery {
    tonic::include_proto!("envoy.service.discovery.v3");
}

/// `envoy.service.status.v3`, generated from `proto/`.
#[allow(missing_docs, unreachable_pub, clippy::all)]
pub mod status {
    tonic::include_proto!("envoy.service.status.v3");
}

pub mod json;

pub mod call;
pub mod constraints;
pub mod file;
pub mod frame;
pub mod load_stats;
pub mod locator;
pub mod redact;
pub mod request;
pub mod resource;
pub mod rest;
pub mod scan;
pub mod services;
pub mod text;
pub mod trace;
pub mod validate;
mod weight;
