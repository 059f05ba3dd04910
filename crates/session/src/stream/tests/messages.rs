//! Requests and responses as they travel.

use prost::Message as _;
use weir_types::{Dialect, Form, Selector};
use weir_wire::discovery::{
    DeltaDiscoveryRequest, DeltaDiscoveryResponse, DiscoveryRequest, DiscoveryResponse, Resource,
    ResourceError, ResourceName, Status,
};
use weir_wire::locator;

use super::fixture::type_url;
use super::*;

/// A request of either dialect.
#[derive(Clone, Debug)]
pub(super) enum Message {
    Sotw(DiscoveryRequest),
    Delta(DeltaDiscoveryRequest),
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// State of the world: the whole subscription.
pub(super) fn replace(short: &str, nonce: &str, names: &[&str]) -> Message {
    Message::Sotw(DiscoveryRequest {
        type_url: type_url(short).to_string(),
        response_nonce: nonce.to_owned(),
        resource_names: strings(names),
        ..DiscoveryRequest::default()
    })
}

/// Incremental: what the subscription has more and less.
pub(super) fn patch(short: &str, nonce: &str, subscribe: &[&str], unsubscribe: &[&str]) -> Message {
    Message::Delta(DeltaDiscoveryRequest {
        type_url: type_url(short).to_string(),
        response_nonce: nonce.to_owned(),
        resource_names_subscribe: strings(subscribe),
        resource_names_unsubscribe: strings(unsubscribe),
        ..DeltaDiscoveryRequest::default()
    })
}

/// As [`patch`], of plain names and locators.
pub(super) fn patch_selectors(short: &str, subscribe: &[Selector], unsubscribe: &[Selector]) -> Message {
    let plain = |selectors: &[Selector]| {
        let plain = selectors.iter().filter(|selector| selector.form == Form::Plain);
        plain.map(|selector| selector.locator.name.to_string()).collect()
    };
    let located = |selectors: &[Selector]| {
        let located = selectors.iter().filter(|selector| selector.form == Form::Located);
        located.map(|selector| locator::encode(&selector.locator)).collect()
    };
    Message::Delta(DeltaDiscoveryRequest {
        type_url: type_url(short).to_string(),
        resource_names_subscribe: plain(subscribe),
        resource_names_unsubscribe: plain(unsubscribe),
        resource_locators_subscribe: located(subscribe),
        resource_locators_unsubscribe: located(unsubscribe),
        ..DeltaDiscoveryRequest::default()
    })
}

/// The request, as a rejection of the response that it names.
pub(super) fn nack(mut message: Message) -> Message {
    let status = Some(Status { code: 13, message: "no".to_owned() });
    match &mut message {
        Message::Sotw(request) => request.error_detail = status,
        Message::Delta(request) => request.error_detail = status,
    }
    message
}

/// The request, of a client that states to have this version.
pub(super) fn stating(mut message: Message, version: &str) -> Message {
    let Message::Sotw(request) = &mut message else { panic!("not in delta: {message:?}") };
    version.clone_into(&mut request.version_info);
    message
}

/// The request, of a client that states to hold these resources at these versions.
pub(super) fn holding(mut message: Message, held: &[(&str, &str)]) -> Message {
    let Message::Delta(request) = &mut message else { panic!("not in state of the world: {message:?}") };
    let held = held.iter().map(|(name, version)| ((*name).to_owned(), (*version).to_owned()));
    request.initial_resource_versions = held.collect();
    message
}

/// A response: the names in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) short: &'static str,
    pub(super) nonce: String,
    pub(super) version: String,
    pub(super) resources: Vec<String>,
    pub(super) removed: Vec<String>,
    pub(super) errors: Vec<String>,
}

impl Response {
    /// The response in a gRPC frame.
    pub(super) fn decode(dialect: Dialect, frame: &[u8]) -> Self {
        let message = &frame[crate::encoder::HEADER..];
        match dialect {
            Sotw => Self::sotw(DiscoveryResponse::decode(message).expect("a response")),
            Delta => Self::delta(DeltaDiscoveryResponse::decode(message).expect("a response")),
        }
    }

    fn sotw(message: DiscoveryResponse) -> Self {
        let any = |any: &bytes::Bytes| prost_types::Any::decode(&**any).expect("a wrapped resource").value;
        Self {
            short: weir_types::TypeUrl::new(message.type_url).short_name(),
            nonce: message.nonce,
            version: message.version_info,
            resources: message.resources.iter().map(|resource| name_of(&any(resource))).collect(),
            removed: Vec::new(),
            errors: message.resource_errors.into_iter().map(|error| name_of_error(&error)).collect(),
        }
    }

    fn delta(message: DeltaDiscoveryResponse) -> Self {
        let located = message.removed_resource_names.into_iter().map(|name| name.name);
        Self {
            short: weir_types::TypeUrl::new(message.type_url).short_name(),
            nonce: message.nonce,
            version: message.system_version_info,
            resources: message.resources.iter().map(|resource| name_of(resource)).collect(),
            removed: message.removed_resources.into_iter().chain(located).collect(),
            errors: message.resource_errors.into_iter().map(|error| name_of_error(&error)).collect(),
        }
    }
}

/// The name of an encoded `Resource`.
fn name_of(resource: &[u8]) -> String {
    let resource = Resource::decode(resource).expect("a resource");
    resource.resource_name.map_or(resource.name, |ResourceName { name, .. }| name)
}

fn name_of_error(error: &ResourceError) -> String {
    error.resource_name.as_ref().map(|name| name.name.clone()).unwrap_or_default()
}
