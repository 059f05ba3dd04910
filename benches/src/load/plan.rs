//! What a client subscribes to, as bytes that are made once and sent by thousands.

use std::collections::HashMap;

use prost::Message;
use weir_wire::discovery::{DeltaDiscoveryRequest, DiscoveryRequest, ResourceLocator};

use super::http2;
use super::resources::{self, KEY};

/// The dialect that clients use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Dialect {
    /// State of the world.
    Sotw,
    /// Incremental.
    Delta,
}

impl Dialect {
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Sotw => "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
            Self::Delta => "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources",
        }
    }

    fn node_field(self) -> u32 {
        if self == Self::Delta { 1 } else { 2 }
    }

    pub(crate) fn nonce_field(self) -> u32 {
        if self == Self::Delta { 6 } else { 5 }
    }
}

/// What of one type is wanted.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// `cds`, `eds`, ….
    pub(crate) short: &'static str,
    /// Which of its resources; all, if none are named.
    pub(crate) names: Vec<String>,
    /// How many there are of what is wanted: with so many, the client has its first full state.
    pub(crate) count: usize,
}

impl Wanted {
    /// All of a type, of which there are `count`.
    pub(crate) fn all(short: &'static str, count: usize) -> Self {
        Self { short, names: Vec::new(), count }
    }

    /// These, by their numbers.
    pub(crate) fn named(short: &'static str, numbers: impl IntoIterator<Item = usize>) -> Self {
        let names: Vec<_> = numbers.into_iter().map(|n| resources::name(short, n)).collect();
        Self { short, count: names.len(), names }
    }
}

/// What a client holds from before: versions of resources by name (delta), or of a type (state of the world).
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub(crate) versions: HashMap<String, String>,
    pub(crate) version_info: String,
}

/// The requests of a kind of client.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) dialect: Dialect,
    pub(crate) types: Vec<PlannedType>,
}

/// Everything about one type, as far as it can be known beforehand.
#[derive(Debug)]
pub(crate) struct PlannedType {
    pub(crate) url: String,
    /// The first request, without the node.
    pub(crate) first: Vec<u8>,
    /// An acknowledgement, without nonce, version and node.
    pub(crate) acknowledgement: Vec<u8>,
    pub(crate) count: usize,
}

impl Plan {
    /// `variant`: the value of the dynamic parameter that is stated in locators; without it, plain names are.
    pub(crate) fn new(dialect: Dialect, wanted: &[Wanted], variant: Option<&str>, known: &Known) -> Self {
        Self { dialect, types: wanted.iter().map(|w| planned(dialect, w, variant, known)).collect() }
    }

    pub(crate) fn headers(&self, authority: &str) -> Vec<u8> {
        http2::grpc_call(self.dialect.path(), authority)
    }

    /// The field of a request that holds the node with this id.
    pub(crate) fn node(&self, id: &str, rest: &[u8]) -> Vec<u8> {
        let mut node = Vec::with_capacity(rest.len() + id.len() + 2);
        prost::encoding::string::encode(1, &id.to_owned(), &mut node);
        node.extend_from_slice(rest);
        let mut field = Vec::with_capacity(node.len() + 5);
        prost::encoding::bytes::encode(self.dialect.node_field(), &node, &mut field);
        field
    }
}

fn planned(dialect: Dialect, wanted: &Wanted, variant: Option<&str>, known: &Known) -> PlannedType {
    let url = resources::type_url(wanted.short);
    let mut names = wanted.names.clone();
    if names.is_empty() && variant.is_some() {
        names.push("*".to_owned());
    }
    let locators = |names: Vec<String>| match variant {
        None => (names, vec![]),
        Some(value) => {
            let parameters: HashMap<_, _> = [(KEY.to_owned(), value.to_owned())].into();
            let locator = |name| ResourceLocator { name, dynamic_parameters: parameters.clone() };
            (vec![], names.into_iter().map(locator).collect())
        }
    };
    let (names, located) = locators(names);
    let (first, acknowledgement) = match dialect {
        Dialect::Sotw => {
            let acknowledgement = DiscoveryRequest {
                type_url: url.clone(),
                resource_names: names,
                resource_locators: located,
                ..DiscoveryRequest::default()
            };
            let version_info = known.version_info.clone();
            let first = DiscoveryRequest { version_info, ..acknowledgement.clone() };
            (first.encode_to_vec(), acknowledgement.encode_to_vec())
        }
        Dialect::Delta => {
            let acknowledgement =
                DeltaDiscoveryRequest { type_url: url.clone(), ..DeltaDiscoveryRequest::default() };
            let first = DeltaDiscoveryRequest {
                resource_names_subscribe: names,
                resource_locators_subscribe: located,
                initial_resource_versions: known.versions.clone(),
                ..acknowledgement.clone()
            };
            (first.encode_to_vec(), acknowledgement.encode_to_vec())
        }
    };
    PlannedType { url, first, acknowledgement, count: wanted.count }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledgement_is_made_of_what_is_known_before_and_a_nonce() {
        let plan = Plan::new(Dialect::Sotw, &[Wanted::named("eds", [3])], Some("e1"), &Known::default());
        let mut request = plan.types[0].acknowledgement.clone();
        prost::encoding::string::encode(plan.dialect.nonce_field(), &"n".to_owned(), &mut request);
        request.extend(plan.node("me", &resources::node(1000)));
        let request = DiscoveryRequest::decode(&*request).unwrap();
        assert_eq!((request.response_nonce.as_str(), &request.resource_names), ("n", &vec![]));
        assert_eq!(request.resource_locators[0].name, "eds-00003");
        assert_eq!(request.resource_locators[0].dynamic_parameters[KEY], "e1");
        assert!(request.node.unwrap().len() > 900);
    }

    #[test]
    fn a_delta_client_names_what_it_wants_once() {
        let known = Known { versions: [("a".to_owned(), "1".to_owned())].into(), ..Known::default() };
        let plan = Plan::new(Dialect::Delta, &[Wanted::named("eds", [0, 1])], None, &known);
        let first = DeltaDiscoveryRequest::decode(&*plan.types[0].first).unwrap();
        assert_eq!(first.resource_names_subscribe, ["eds-00000", "eds-00001"]);
        assert_eq!(first.initial_resource_versions["a"], "1");
        let next = DeltaDiscoveryRequest::decode(&*plan.types[0].acknowledgement).unwrap();
        assert_eq!((next.resource_names_subscribe.len(), next.type_url), (0, plan.types[0].url.clone()));
    }
}
