//! A control plane that sends anything, to a proxy that has subscribers.

use std::time::Duration;

use prost::Message;
use weir_protocol::Dialect;
use weir_testkit::resource::Published;
use weir_testkit::simulator::{Hop, Hostile};
use weir_upstream::codec;
use weir_wire::discovery::{DeltaDiscoveryResponse, DiscoveryResponse, ResourceName};
use weir_wire::resource::RESOURCE_TYPE_URL;

use crate::script::{LONGEST, Script};

pub(crate) fn run(data: &[u8]) {
    let mut script = Script::new(data);
    let kind = script.byte();
    let dialect = if kind & 1 == 0 { Dialect::Sotw } else { Dialect::Delta };
    let mut hostile = Hostile::new(Hop { dialect, native: kind & 2 == 0 });
    for _ in 0..LONGEST {
        if script.is_over() {
            break;
        }
        match script.byte() % 12 {
            0..3 => hostile.subscribe(script.bytes(), true),
            3 => hostile.subscribe(script.bytes(), false),
            4 => hostile.reset(script.byte()),
            5 => hostile.pass(Duration::from_secs(script.byte().into())),
            6 => {
                let stream = script.byte();
                state(&mut hostile, stream, dialect, script.block());
            }
            _ => {
                let stream = script.byte();
                let response = response(&mut script, dialect);
                state(&mut hostile, stream, dialect, &response);
            }
        }
    }
    hostile.relieve();
}

/// What cannot be decoded ends the stream.
fn state(hostile: &mut Hostile, stream: u8, dialect: Dialect, bytes: &[u8]) {
    let response = match dialect {
        Dialect::Sotw => DiscoveryResponse::decode(bytes).map(codec::read_sotw),
        Dialect::Delta => DeltaDiscoveryResponse::decode(bytes).map(codec::read_delta),
    };
    match response {
        Ok(response) => hostile.send(stream, response),
        Err(_) => hostile.reset(stream),
    }
}

/// A response that can be decoded, whatever it means.
fn response(script: &mut Script<'_>, dialect: Dialect) -> Vec<u8> {
    let type_url = script.type_url().to_owned();
    let version = script.pick(&["1", "2", ""]).to_owned();
    let nonce = script.byte().to_string();
    let published: Vec<_> = (0..script.byte() % 5).map(|_| script.published(&type_url)).collect();
    let removed = if script.byte().is_multiple_of(3) { script.names() } else { Vec::new() };
    let located: Vec<ResourceName> = match script.byte() % 4 {
        0 => vec![weir_testkit::constraints::variant("a", script.constraints())],
        _ => Vec::new(),
    };
    let resource_errors = (0..(script.byte() % 4).saturating_sub(2)).map(|_| script.error()).collect();
    match dialect {
        Dialect::Sotw => {
            let bare = script.byte() % 4;
            let any = |one: &Published| match (bare, &one.body) {
                (0, Some(body)) => body.clone(),
                _ => {
                    let value = one.wrapped(bare == 1).encode_to_vec();
                    let any = prost_types::Any { type_url: RESOURCE_TYPE_URL.to_owned(), value };
                    any.encode_to_vec().into()
                }
            };
            let resources = published.iter().map(any).collect();
            let version_info = version;
            let message = DiscoveryResponse {
                type_url,
                version_info,
                nonce,
                resources,
                resource_errors,
                ..Default::default()
            };
            message.encode_to_vec()
        }
        Dialect::Delta => {
            let wrapped = |one: &Published| one.wrapped(false).encode_to_vec().into();
            let message = DeltaDiscoveryResponse {
                type_url,
                nonce,
                resources: published.iter().map(wrapped).collect(),
                removed_resources: removed,
                removed_resource_names: located,
                resource_errors,
                ..Default::default()
            };
            message.encode_to_vec()
        }
    }
}
