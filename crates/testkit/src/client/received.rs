//! A response, taken apart alike in both dialects.

use std::collections::BTreeMap;

use bytes::Bytes;
use prost::Message;
use prost_types::Any;
use tonic::Code;
use weir_wire::discovery::{
    DeltaDiscoveryResponse, DiscoveryResponse, DynamicParameterConstraints, Resource, ResourceError,
    ResourceName,
};

use crate::resource::Text;

/// A response.
#[derive(Clone, Debug)]
pub struct Received {
    /// Of which type.
    pub type_url: String,
    /// To be sent back with the acknowledgement.
    pub nonce: String,
    /// `version_info`, or `system_version_info`.
    pub version: String,
    /// What it carries, in order.
    pub resources: Vec<ReceivedResource>,
    /// Delta: names that are gone.
    pub removed: Vec<String>,
    /// Delta: variants that are gone.
    pub removed_variants: Vec<ResourceName>,
    /// What cannot be delivered.
    pub errors: Vec<ResourceError>,
    /// The control plane identifier.
    pub control_plane: String,
    /// The size of the whole message.
    pub bytes: usize,
}

/// A resource in a response.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceivedResource {
    /// Its name: from the wrapper, or from the first field of its content.
    pub name: String,
    /// Whether it came in a `Resource`; always so in delta.
    pub wrapped: bool,
    /// Whether the wrapper named it by variant (`resource_name`).
    pub located: bool,
    /// For whom the variant is.
    pub constraints: Option<DynamicParameterConstraints>,
    /// The version in the wrapper.
    pub version: String,
    /// Its other names.
    pub aliases: Vec<String>,
    /// The encoded `google.protobuf.Any`, as it came; none in a heartbeat, and for a missing virtual host.
    pub body: Option<Bytes>,
    /// The wrapper's time to live.
    pub ttl: Option<prost_types::Duration>,
}

impl Received {
    pub(super) fn from_sotw(response: DiscoveryResponse) -> Self {
        Self {
            bytes: response.encoded_len(),
            resources: response.resources.into_iter().map(ReceivedResource::from_any).collect(),
            type_url: response.type_url,
            nonce: response.nonce,
            version: response.version_info,
            removed: Vec::new(),
            removed_variants: Vec::new(),
            errors: response.resource_errors,
            control_plane: response.control_plane.unwrap_or_default().identifier,
        }
    }

    pub(super) fn from_delta(response: DeltaDiscoveryResponse) -> Self {
        let decode = |bytes: Bytes| Resource::decode(bytes).expect("a well-formed Resource");
        Self {
            bytes: response.encoded_len(),
            resources: response
                .resources
                .into_iter()
                .map(decode)
                .map(ReceivedResource::from_wrapper)
                .collect(),
            type_url: response.type_url,
            nonce: response.nonce,
            version: response.system_version_info,
            removed: response.removed_resources,
            removed_variants: response.removed_resource_names,
            errors: response.resource_errors,
            control_plane: response.control_plane.unwrap_or_default().identifier,
        }
    }

    /// The names of the resources, sorted.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.resources.iter().map(|resource| &*resource.name).collect();
        names.sort_unstable();
        names
    }

    /// Names and status codes of the errors, sorted.
    pub fn error_codes<'a>(&'a self) -> Vec<(&'a str, Code)> {
        let read = |error: &'a ResourceError| {
            let ResourceError { resource_name, error_detail } = error;
            let code = Code::from(error_detail.as_ref().map_or(0, |detail| detail.code));
            (resource_name.as_ref().map_or("", |name| name.name.as_str()), code)
        };
        let mut errors: Vec<_> = self.errors.iter().map(read).collect();
        errors.sort_unstable_by_key(|(name, code)| (*name, *code as i32));
        errors
    }

    /// Names and texts of the resources ([`crate::Published::text`]), sorted.
    pub fn texts(&self) -> Vec<(String, String)> {
        let mut texts: Vec<_> = self.resources.iter().map(|r| (r.name.clone(), r.text())).collect();
        texts.sort_unstable();
        texts
    }

    /// The one resource of this name. Panics if there is not exactly one.
    pub fn resource(&self, name: &str) -> &ReceivedResource {
        let mut found = self.resources.iter().filter(|resource| resource.name == name);
        match (found.next(), found.next()) {
            (Some(resource), None) => resource,
            _ => panic!("expected {name} once, got {:?}", self.names()),
        }
    }

    /// What a client states of these resources after a reconnect.
    pub fn versions(&self) -> BTreeMap<String, String> {
        self.resources.iter().map(|r| (r.name.clone(), r.version.clone())).collect()
    }
}

impl ReceivedResource {
    fn from_any(bytes: Bytes) -> Self {
        let any = Any::decode(bytes.clone()).expect("a well-formed Any");
        if any.type_url.ends_with("/envoy.service.discovery.v3.Resource") {
            let resource = Resource::decode(&*any.value).expect("a well-formed Resource");
            return Self::from_wrapper(resource);
        }
        Self {
            name: Text::decode(&*any.value).map(|text| text.name).unwrap_or_default(),
            wrapped: false,
            located: false,
            constraints: None,
            version: String::new(),
            aliases: Vec::new(),
            body: Some(bytes),
            ttl: None,
        }
    }

    fn from_wrapper(resource: Resource) -> Self {
        let located = resource.resource_name.is_some();
        let (name, constraints) = match resource.resource_name {
            Some(variant) => (variant.name, variant.dynamic_parameter_constraints),
            None => (resource.name, None),
        };
        Self {
            name,
            wrapped: true,
            located,
            constraints,
            version: resource.version,
            aliases: resource.aliases,
            body: resource.resource,
            ttl: resource.ttl,
        }
    }

    /// The body's type URL and message. Panics if there is none.
    pub fn any(&self) -> Any {
        let body = self.body.clone().unwrap_or_else(|| panic!("{} has no body", self.name));
        Any::decode(body).expect("a well-formed Any")
    }

    /// The text of a [`crate::Published::text`]; empty without a body.
    pub fn text(&self) -> String {
        if self.body.is_none() {
            return String::new();
        }
        let text = Text::decode(&*self.any().value).unwrap_or_default();
        if text.text.is_empty() { text.stat_name } else { text.text }
    }
}
