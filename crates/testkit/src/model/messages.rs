//! Requests and responses as values, and as the messages in which they travel.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use prost::Message;
use weir_database::Removed;
use weir_protocol::Dialect;
use weir_session::{Nack, Names};
use weir_types::{Code, Constraints, Form, Name, Selector, TypeUrl, VariantKey, Version};
use weir_wire::discovery::{
    DeltaDiscoveryRequest, DeltaDiscoveryResponse, DiscoveryRequest, DiscoveryResponse, Resource,
    ResourceError, ResourceLocator, Status,
};
use weir_wire::locator;

use super::Identity;

/// The length of a gRPC frame's header.
const HEADER: usize = 5;

/// One request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The type that it is about.
    pub type_url: TypeUrl,
    /// The response that it answers; empty for none.
    pub nonce: String,
    /// Why that response is rejected, if it is.
    pub nack: Option<Nack>,
    /// What to subscribe to. Plain names go without their parameters, which follow from the node.
    pub names: Names,
    /// State of the world: the version that the client has.
    pub version: Option<Version>,
    /// Incremental: what the client holds from an earlier stream.
    pub known: Vec<(Name, String)>,
}

impl Request {
    /// The message in which it travels.
    pub fn encoded(&self, dialect: Dialect) -> Bytes {
        let error_detail = self.nack.clone().map(|nack| Status { code: nack.code, message: nack.message });
        let (type_url, response_nonce) = (self.type_url.to_string(), self.nonce.clone());
        let bytes = match (&self.names, dialect) {
            (Names::Replace(selectors), Dialect::Sotw) => {
                let (resource_names, resource_locators) = by_form(selectors);
                let version_info = self.version.map(|version| version.to_string()).unwrap_or_default();
                DiscoveryRequest {
                    version_info,
                    node: None,
                    resource_names,
                    resource_locators,
                    type_url,
                    response_nonce,
                    error_detail,
                }
                .encode_to_vec()
            }
            (Names::Patch { subscribe, unsubscribe }, Dialect::Delta) => {
                let (resource_names_subscribe, resource_locators_subscribe) = by_form(subscribe);
                let (resource_names_unsubscribe, resource_locators_unsubscribe) = by_form(unsubscribe);
                let known = self.known.iter().map(|(name, version)| (name.to_string(), version.clone()));
                DeltaDiscoveryRequest {
                    node: None,
                    type_url,
                    resource_names_subscribe,
                    resource_names_unsubscribe,
                    resource_locators_subscribe,
                    resource_locators_unsubscribe,
                    initial_resource_versions: known.collect(),
                    response_nonce,
                    error_detail,
                }
                .encode_to_vec()
            }
            (names, dialect) => panic!("{dialect} has no {names:?}"),
        };
        bytes.into()
    }
}

/// Plain names, and locators.
fn by_form(selectors: &[Selector]) -> (Vec<String>, Vec<ResourceLocator>) {
    let (plain, located): (Vec<_>, Vec<_>) = selectors.iter().partition(|s| s.form == Form::Plain);
    let names = plain.into_iter().map(|selector| selector.locator.name.to_string()).collect();
    (names, located.into_iter().map(|selector| locator::encode(&selector.locator)).collect())
}

/// A resource as a client gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The resource's name.
    pub name: Name,
    /// Its constraints; none when it is sent under its plain name.
    pub constraints: Option<Constraints>,
    /// Its version.
    pub version: String,
    /// Its content; none in a heartbeat, and in the answer that there is no such resource.
    pub body: Option<Bytes>,
    /// Its other names.
    pub aliases: Arc<[Name]>,
    /// What is left of its time to live, if it is sent.
    pub ttl: Option<Duration>,
}

impl Sent {
    /// The resource in an encoded `Resource`.
    fn decode(bytes: &[u8]) -> Self {
        let resource = Resource::decode(bytes).expect("a resource");
        let (name, constraints) = match &resource.resource_name {
            Some(name) => {
                let VariantKey { name, constraints } = locator::decode_name(name).expect("constraints");
                (name, Some(constraints))
            }
            None => (resource.name.into(), None),
        };
        Self {
            name,
            constraints,
            version: resource.version,
            body: resource.resource,
            aliases: resource.aliases.into_iter().map(Name::from).collect(),
            ttl: resource.ttl.map(|ttl| Duration::try_from(ttl).expect("a time to live")),
        }
    }

    /// Whether it refreshes what the client has, and has no content.
    pub fn is_heartbeat(&self) -> bool {
        self.body.is_none() && self.ttl.is_some()
    }

    /// Whether it answers that there is no such resource.
    pub fn is_missing(&self) -> bool {
        self.body.is_none() && self.ttl.is_none()
    }

    /// What the client identifies it by.
    pub fn identity(&self) -> Identity {
        (self.name.clone(), self.constraints.clone())
    }
}

/// A response, decoded.
#[derive(Clone, Debug)]
pub struct Response {
    /// The type it is about.
    pub type_url: TypeUrl,
    /// What its verdict refers to.
    pub nonce: String,
    /// The version of the whole.
    pub version: Version,
    /// What there is.
    pub resources: Vec<Sent>,
    /// When it was made, for a client that is sent times to live.
    pub at: Option<Instant>,
    /// What is gone: in delta `removed_resources` and `removed_resource_names`, in SotW `resource_errors`.
    pub removed: Vec<Removed>,
    /// Names that are answered by an error as missing. Only a simulated origin sends them.
    pub missing: Vec<Name>,
    /// Other errors.
    pub errors: Vec<(VariantKey, Code, String)>,
    /// Whether it carries the whole state.
    pub everything: bool,
}

impl Response {
    /// The response in a gRPC frame, which was made `at` this moment.
    pub fn decode(dialect: Dialect, frame: &[u8], at: Option<Instant>) -> Self {
        let (_, message) = frame.split_at(HEADER);
        match dialect {
            Dialect::Sotw => {
                let message = DiscoveryResponse::decode(message).expect("a response");
                Self::sotw(message, at)
            }
            Dialect::Delta => {
                let message = DeltaDiscoveryResponse::decode(message).expect("a response");
                Self::delta(message, at)
            }
        }
    }

    fn sotw(message: DiscoveryResponse, at: Option<Instant>) -> Self {
        let type_url = TypeUrl::new(message.type_url);
        let errors = message.resource_errors.into_iter().map(error);
        let (gone, errors): (Vec<_>, Vec<_>) = errors.partition(|(_, code, _)| *code == Code::NOT_FOUND);
        let removed = |key: VariantKey| match key.constraints.is_unconstrained() {
            true => Removed::Name(key.name),
            false => Removed::Variant(key),
        };
        Self {
            everything: type_url.is_full_state(),
            type_url,
            nonce: message.nonce,
            version: version(&message.version_info),
            resources: message.resources.iter().map(|any| Sent::decode(&unwrapped(any))).collect(),
            at,
            removed: gone.into_iter().map(|(key, ..)| removed(key)).collect(),
            missing: Vec::new(),
            errors,
        }
    }

    fn delta(message: DeltaDiscoveryResponse, at: Option<Instant>) -> Self {
        let plain = message.removed_resources.into_iter().map(|name| Removed::Name(name.into()));
        let located = message.removed_resource_names.iter().map(|name| {
            let key = locator::decode_name(name).expect("constraints");
            if key.constraints.is_unconstrained() {
                Removed::Locator(key.name)
            } else {
                Removed::Variant(key)
            }
        });
        Self {
            type_url: TypeUrl::new(message.type_url),
            nonce: message.nonce,
            version: version(&message.system_version_info),
            resources: message.resources.iter().map(|resource| Sent::decode(resource)).collect(),
            at,
            removed: plain.chain(located).collect(),
            missing: Vec::new(),
            errors: message.resource_errors.into_iter().map(error).collect(),
            everything: false,
        }
    }
}

fn version(text: &str) -> Version {
    Version::parse(text).expect("a version of a Weir's")
}

/// The `Resource` in an `Any`.
fn unwrapped(any: &[u8]) -> Vec<u8> {
    prost_types::Any::decode(any).expect("a wrapped resource").value
}

fn error(error: ResourceError) -> (VariantKey, Code, String) {
    let key = locator::decode_name(&error.resource_name.expect("a name")).expect("constraints");
    let detail = error.error_detail.unwrap_or_default();
    (key, Code(detail.code), detail.message)
}
