//! Resources as a control plane publishes them.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use prost_types::Any;
use weir_wire::discovery::resource::CacheControl;
use weir_wire::discovery::{DynamicParameterConstraints, Node, Resource, ResourceError, Status};

use crate::constraints;

/// Resource types by their short names: `type_url("cds")`. Panics on one that is not known.
pub fn type_url(short: &str) -> &'static str {
    match short {
        "cds" => "type.googleapis.com/envoy.config.cluster.v3.Cluster",
        "eds" => "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
        "lds" => "type.googleapis.com/envoy.config.listener.v3.Listener",
        "rds" => "type.googleapis.com/envoy.config.route.v3.RouteConfiguration",
        "srds" => "type.googleapis.com/envoy.config.route.v3.ScopedRouteConfiguration",
        "vhds" => "type.googleapis.com/envoy.config.route.v3.VirtualHost",
        "sds" => "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret",
        "rtds" => "type.googleapis.com/envoy.service.runtime.v3.Runtime",
        "ecds" => "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig",
        "leds" => "type.googleapis.com/envoy.config.endpoint.v3.LbEndpoint",
        // No type of Envoy's: what Weir does not know.
        "acme" => "type.googleapis.com/acme.Widget",
        "probe" => PROBE,
        other => panic!("no resource type has the short name {other:?}"),
    }
}

/// What v2 called a type, by its short name. Panics on one that v2 did not have.
pub fn type_url_v2(short: &str) -> &'static str {
    match short {
        "cds" => "type.googleapis.com/envoy.api.v2.Cluster",
        "eds" => "type.googleapis.com/envoy.api.v2.ClusterLoadAssignment",
        "lds" => "type.googleapis.com/envoy.api.v2.Listener",
        "rds" => "type.googleapis.com/envoy.api.v2.RouteConfiguration",
        "srds" => "type.googleapis.com/envoy.api.v2.ScopedRouteConfiguration",
        "vhds" => "type.googleapis.com/envoy.api.v2.route.VirtualHost",
        "sds" => "type.googleapis.com/envoy.api.v2.auth.Secret",
        "rtds" => "type.googleapis.com/envoy.service.discovery.v2.Runtime",
        other => panic!("v2 has no resource type of the short name {other:?}"),
    }
}

/// A type of which the control plane has every name: asking for one is answered behind everything that was
/// on its way before, so that an answer proves what did *not* come.
pub const PROBE: &str = "type.googleapis.com/weir.testkit.Probe";

/// Who is sent a resource by a control plane that goes by the `Node`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Audience {
    /// Everyone.
    #[default]
    Everyone,
    /// Nodes with this text in their metadata.
    Metadata(String, String),
}

impl Audience {
    /// Whether `node` belongs to it.
    pub fn includes(&self, node: &Node) -> bool {
        match self {
            Self::Everyone => true,
            Self::Metadata(key, wanted) => metadata(node, key).as_deref() == Some(wanted.as_str()),
        }
    }
}

/// The text at the top level of a node's metadata.
pub fn metadata(node: &Node, key: &str) -> Option<String> {
    match &node.metadata.as_ref()?.fields.get(key)?.kind {
        Some(prost_types::value::Kind::StringValue(text)) => Some(text.clone()),
        _ => None,
    }
}

/// A resource, or one variant of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// Its type.
    pub type_url: String,
    /// Its name.
    pub name: String,
    /// For whom it is, where clients send locators.
    pub constraints: Option<DynamicParameterConstraints>,
    /// For whom it is, where clients send a `Node`.
    pub audience: Audience,
    /// Its version; a hash of the body if the test does not care.
    pub version: String,
    /// Its other names.
    pub aliases: Vec<String>,
    /// An encoded `google.protobuf.Any`; none is how VHDS states that there is no such host.
    pub body: Option<Bytes>,
    /// How long it lives without a refresh.
    pub ttl: Option<Duration>,
    /// Not to be stored by proxies.
    pub do_not_cache: bool,
    /// Whether the wildcard leaves it out, so that only who names it gets it.
    pub unlisted: bool,
    /// Why it cannot be delivered, if so (TP3): the content is not sent then.
    pub error: Option<Status>,
}

impl Published {
    /// A resource whose message is already encoded.
    pub fn new(type_url: &str, name: &str, message: impl Into<Vec<u8>>) -> Self {
        let any = Any { type_url: type_url.to_owned(), value: message.into() };
        let body = Bytes::from(any.encode_to_vec());
        let mut hasher = DefaultHasher::new();
        body.hash(&mut hasher);
        Self {
            type_url: type_url.to_owned(),
            name: name.to_owned(),
            constraints: None,
            audience: Audience::Everyone,
            version: format!("{:016x}", hasher.finish()),
            aliases: Vec::new(),
            body: Some(body),
            ttl: None,
            do_not_cache: false,
            unlisted: false,
            error: None,
        }
    }

    /// A resource of whatever type that only carries its name, and a text: in a field that no type has, which must
    /// pass through a proxy all the same; in clusters and listeners, in one that has a JSON form. [`crate::client::ReceivedResource::text`] reads it.
    pub fn text(type_url: &str, name: &str, text: &str) -> Self {
        let (mut message, text) = (Text { name: name.to_owned(), ..Text::default() }, text.to_owned());
        match ["cds", "lds"].into_iter().any(|short| crate::type_url(short) == type_url) {
            true => message.stat_name = text,
            false => message.text = text,
        }
        Self::new(type_url, name, message.encode_to_vec())
    }

    /// A resource that cannot be delivered.
    pub fn failing(type_url: &str, name: &str, code: tonic::Code, message: &str) -> Self {
        let error = Some(Status { code: code as i32, message: message.to_owned() });
        let version = format!("{code:?}: {message}");
        Self { error, version, ..Self::text(type_url, name, "") }
    }

    /// Makes it a variant.
    #[must_use]
    pub fn constrained(mut self, constraints: impl Into<Option<DynamicParameterConstraints>>) -> Self {
        self.constraints = constraints.into();
        self
    }

    /// Limits it to nodes with this text in their metadata.
    #[must_use]
    pub fn for_metadata(mut self, key: &str, value: &str) -> Self {
        self.audience = Audience::Metadata(key.to_owned(), value.to_owned());
        self
    }

    /// Gives it a version of the test's choice.
    #[must_use]
    pub fn version(mut self, version: &str) -> Self {
        self.version = version.to_owned();
        self
    }

    /// Gives it another name.
    #[must_use]
    pub fn alias(mut self, alias: &str) -> Self {
        self.aliases.push(alias.to_owned());
        self
    }

    /// Lets it live only so long without a refresh.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// Forbids proxies to store it.
    #[must_use]
    pub fn do_not_cache(mut self) -> Self {
        self.do_not_cache = true;
        self
    }

    /// Leaves it out of the wildcard.
    #[must_use]
    pub fn unlisted(mut self) -> Self {
        self.unlisted = true;
        self
    }

    /// Takes the body away.
    #[must_use]
    pub fn without_body(mut self) -> Self {
        self.body = None;
        self
    }

    /// Whether this is the same variant for the same audience, so that the one replaces the other.
    pub fn replaces(&self, other: &Self) -> bool {
        (&self.type_url, &self.name) == (&other.type_url, &other.name)
            && (&self.constraints, &self.audience) == (&other.constraints, &other.audience)
    }

    /// Whether a client with `parameters` gets it.
    pub fn matches(&self, parameters: &HashMap<String, String>) -> bool {
        self.constraints.as_ref().is_none_or(|constraints| constraints::matches(constraints, parameters))
    }

    /// The error of a resource that cannot be delivered.
    pub fn resource_error(&self) -> Option<ResourceError> {
        let resource_name = Some(constraints::variant(&self.name, self.constraints.clone()));
        self.error.clone().map(|error| ResourceError { resource_name, error_detail: Some(error) })
    }

    /// As it is wrapped; `located` names it by variant, as those who asked by locator want it.
    pub fn wrapped(&self, located: bool) -> Resource {
        let mut resource = Resource {
            aliases: self.aliases.clone(),
            version: self.version.clone(),
            resource: self.body.clone(),
            ttl: self
                .ttl
                .map(|ttl| prost_types::Duration::try_from(ttl).expect("a time to live of sane length")),
            cache_control: self.do_not_cache.then_some(CacheControl { do_not_cache: true }),
            ..Resource::default()
        };
        if located || self.constraints.is_some() {
            resource.resource_name = Some(constraints::variant(&self.name, self.constraints.clone()));
        } else {
            resource.name = self.name.clone();
        }
        resource
    }
}

/// The message of [`Published::text`]: the first field is the name in all of Envoy's types.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Text {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    /// `alt_stat_name` of a cluster, `stat_prefix` of a listener.
    #[prost(string, tag = "28")]
    pub(crate) stat_name: String,
    #[prost(string, tag = "15000")]
    pub(crate) text: String,
}
