//! Requests from the wire: checked against the limits, and turned into what the machine takes in.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use prost::Message;
use weir_types::{Dialect, KnownVersions, RefusalReason, Refusals, Selector, TypeUrl, Version};
use weir_wire::discovery::{self, DiscoveryRequest};
use weir_wire::request::{DeltaRequest, RequestError, Statement};
use weir_wire::scan::ScanError;

use crate::error::StreamError;
use crate::limits::{Limits, shortened};
use crate::profile::ClientProfile;
use crate::stream::{Nack, Names, SubscriptionRequest};

/// Reads what clients state to hold.
pub trait InitialVersions {
    /// What `statement` has in it; none if that is nothing.
    ///
    /// # Errors
    /// When one of its entries is malformed.
    fn read(&self, statement: &Statement) -> Result<Option<Arc<KnownVersions>>, ScanError>;
}

/// A request of either dialect.
pub trait Request: Sized + Send + 'static {
    /// Which one.
    const DIALECT: Dialect;
    /// The numbers of the fields that are locators.
    const LOCATORS: &'static [u32];
    /// The request in `bytes`.
    fn decode(bytes: Bytes) -> Result<Self, RequestError>;
    /// The URL of the type that it is about; may be empty.
    fn type_url_mut(&mut self) -> &mut String;
    /// The encoded node, if there is one.
    fn node(&self) -> Option<&[u8]>;
    /// Whether it names anything by locator.
    fn has_locators(&self) -> bool;
    /// How many names it has.
    fn count(&self) -> usize;
    /// What the machine takes in. What the client states to hold is read by `initial_versions`.
    fn into_subscription_request(
        self,
        client: &ClientProfile,
        limits: &Limits,
        initial_versions: &dyn InitialVersions,
    ) -> Result<SubscriptionRequest, StreamError>;
}

impl Request for DiscoveryRequest {
    const DIALECT: Dialect = Dialect::Sotw;
    const LOCATORS: &'static [u32] = &[7];

    fn decode(bytes: Bytes) -> Result<Self, RequestError> {
        Ok(<Self as Message>::decode(bytes)?)
    }

    fn type_url_mut(&mut self) -> &mut String {
        &mut self.type_url
    }

    fn node(&self) -> Option<&[u8]> {
        self.node.as_deref()
    }

    fn has_locators(&self) -> bool {
        !self.resource_locators.is_empty()
    }

    fn count(&self) -> usize {
        self.resource_names.len() + self.resource_locators.len()
    }

    fn into_subscription_request(
        self,
        client: &ClientProfile,
        limits: &Limits,
        _: &dyn InitialVersions,
    ) -> Result<SubscriptionRequest, StreamError> {
        let type_url = type_url(&self.type_url)?;
        let reader = Reader { client, type_url: &type_url, limits, field: "resource" };
        let names = reader.read(self.resource_names, self.resource_locators)?;
        Ok(SubscriptionRequest {
            nonce: self.response_nonce,
            nack: nack(self.error_detail),
            refused: reader.refused(&names),
            names: Names::Replace(names),
            has_legacy_wildcard: type_url.has_legacy_wildcard(),
            type_url,
            version: Version::stated(&self.version_info),
            initial_versions: None,
        })
    }
}

impl Request for DeltaRequest {
    const DIALECT: Dialect = Dialect::Delta;
    const LOCATORS: &'static [u32] = &[8, 9];

    fn decode(bytes: Bytes) -> Result<Self, RequestError> {
        Self::decode(bytes)
    }

    fn type_url_mut(&mut self) -> &mut String {
        &mut self.message.type_url
    }

    fn node(&self) -> Option<&[u8]> {
        self.message.node.as_deref()
    }

    fn has_locators(&self) -> bool {
        let message = &self.message;
        !message.resource_locators_subscribe.is_empty() || !message.resource_locators_unsubscribe.is_empty()
    }

    fn count(&self) -> usize {
        let message = &self.message;
        let plain = message.resource_names_subscribe.len() + message.resource_names_unsubscribe.len();
        let located = message.resource_locators_subscribe.len() + message.resource_locators_unsubscribe.len();
        plain + located + self.known.len()
    }

    fn into_subscription_request(
        self,
        client: &ClientProfile,
        limits: &Limits,
        initial_versions: &dyn InitialVersions,
    ) -> Result<SubscriptionRequest, StreamError> {
        let Self { message, known } = self;
        limits.check_count("initial_resource_versions", known.len())?;
        let known = initial_versions.read(&known).map_err(|error| {
            StreamError::internal(format!("cannot decode initial_resource_versions of the request: {error}"))
        })?;
        let type_url = type_url(&message.type_url)?;
        let reader = |field| Reader { client, type_url: &type_url, limits, field };
        let (added, removed) = (reader("subscribed resource"), reader("unsubscribed resource"));
        let subscribe = added.read(message.resource_names_subscribe, message.resource_locators_subscribe)?;
        let unsubscribe =
            removed.read(message.resource_names_unsubscribe, message.resource_locators_unsubscribe)?;
        Ok(SubscriptionRequest {
            nonce: message.response_nonce,
            nack: nack(message.error_detail),
            refused: added.refused(&subscribe),
            names: Names::Patch { subscribe, unsubscribe },
            has_legacy_wildcard: type_url.has_legacy_wildcard(),
            version: None,
            initial_versions: known,
            type_url,
        })
    }
}

fn type_url(url: &str) -> Result<TypeUrl, StreamError> {
    match url {
        "" => Err(StreamError::invalid_argument(
            "type_url is empty: an aggregated stream carries every type, so each request has to name its own",
        )),
        url => Ok(TypeUrl::new(url)),
    }
}

fn nack(detail: Option<discovery::Status>) -> Option<Nack> {
    detail.map(|detail| Nack { code: detail.code, message: shortened(detail.message) })
}

/// Reads names and locators into selectors.
struct Reader<'a> {
    client: &'a ClientProfile,
    type_url: &'a TypeUrl,
    limits: &'a Limits,
    field: &'static str,
}

impl Reader<'_> {
    /// The selectors of both lists, each once.
    fn read(
        &self,
        names: Vec<String>,
        locators: Vec<discovery::ResourceLocator>,
    ) -> Result<Vec<Selector>, StreamError> {
        self.limits.check_count(self.field, names.len() + locators.len())?;
        let ClientProfile { parameters, locator_defaults, rights, .. } = self.client;
        let plain = names.into_iter().map(|name| {
            let parameters = parameters.of(&name).clone();
            Selector::plain(name, parameters)
        });
        for locator in &locators {
            self.limits.check_parameters(self.field, locator)?;
        }
        let located = locators.into_iter().map(|locator| {
            let sent = locator.dynamic_parameters.into_iter().collect::<weir_types::DynamicParameters>();
            let filled = rights.with_enforced(sent.with_defaults(locator_defaults));
            let parameters = match parameters.node_of(&locator.name) {
                Some(node) => filled.with_node(node),
                None => filled,
            };
            Selector::located(locator.name, parameters)
        });
        let selectors: HashSet<Selector> = plain.chain(located).collect();
        for selector in &selectors {
            self.limits.check_text(&format_args!("a {} name", self.field), &selector.locator.name)?;
        }
        Ok(selectors.into_iter().collect())
    }

    /// What of `selectors` the client may not have.
    fn refused(&self, selectors: &[Selector]) -> Refusals {
        let denied = selectors.iter().filter(|selector| !self.client.rights.allow(self.type_url, selector));
        denied.map(|selector| (selector.clone(), RefusalReason::Denied)).collect()
    }
}

#[cfg(test)]
mod tests {
    use weir_types::{ClientNode, ClientParameters, Code, DynamicParameters, NODE_KEY};

    use super::*;

    /// Shares nothing.
    struct Anew;

    impl InitialVersions for Anew {
        fn read(&self, statement: &Statement) -> Result<Option<Arc<KnownVersions>>, ScanError> {
            statement.read().map(|known| Some(Arc::new(known)))
        }
    }

    fn read(request: DiscoveryRequest) -> Result<SubscriptionRequest, StreamError> {
        let parameters = [("env", "prod")].into_iter().collect::<DynamicParameters>().into();
        let client = ClientProfile { parameters, ..ClientProfile::default() };
        let limits = Limits { name_length: 10, names: 2, ..Limits::default() };
        request.into_subscription_request(&client, &limits, &Anew)
    }

    /// Whether what the machine takes in of `message` holds on to the bytes that it was read from.
    fn pins<R: Request>(message: &impl Message) -> bool {
        let bytes = Bytes::from(message.encode_to_vec());
        let request = <R as Request>::decode(bytes.clone()).unwrap();
        assert_eq!(request.node().map(<[u8]>::len), Some(61_000), "not even looked at");
        let request = request.into_subscription_request(&ClientProfile::default(), &Limits::default(), &Anew);
        let unique = bytes.is_unique();
        assert_eq!(request.unwrap().nonce, "2a-0");
        !unique
    }

    #[test]
    fn d03_nothing_of_the_node_in_an_acknowledgement_outlives_it() {
        let node = Some(Bytes::from(vec![0xff; 61_000]));
        let (type_url, response_nonce) = ("type.googleapis.com/acme.Widget".to_owned(), "2a-0".to_owned());
        assert!(!pins::<DeltaRequest>(&discovery::DeltaDiscoveryRequest {
            node: node.clone(),
            type_url: type_url.clone(),
            response_nonce: response_nonce.clone(),
            initial_resource_versions: [("a".to_owned(), "1".to_owned())].into(),
            ..Default::default()
        }));
        let resource_names = vec!["a".into()];
        let request =
            DiscoveryRequest { node, type_url, response_nonce, resource_names, ..Default::default() };
        assert!(!pins::<DiscoveryRequest>(&request));
    }

    #[test]
    fn e05_a_statement_over_the_limit_or_malformed_is_refused() {
        let (limits, initial_versions) = (Limits { names: 2, ..Limits::default() }, &Anew);
        for (entries, message) in [
            (
                &[0x2a, 0, 0x2a, 0, 0x2a, 0][..],
                "3 names of initial_resource_versions are over the limit of 2",
            ),
            (&[0x2a, 1, 0x0a], "cannot decode initial_resource_versions of the request: "),
        ] {
            let request = DeltaRequest::decode(Bytes::copy_from_slice(entries)).unwrap();
            let status = request
                .into_subscription_request(&ClientProfile::default(), &limits, initial_versions)
                .unwrap_err();
            assert!(status.message.starts_with(message), "{status}");
        }
    }

    #[test]
    fn d04_a_request_without_a_type_says_what_to_fix() {
        let status = read(DiscoveryRequest::default()).unwrap_err();
        assert_eq!(status.code, Code::INVALID_ARGUMENT);
        assert!(status.message.starts_with("type_url is empty"), "{status}");
    }

    #[test]
    fn p01_names_and_locators_may_be_mixed() {
        let locator = discovery::ResourceLocator {
            name: "a".into(),
            dynamic_parameters: [("env".to_owned(), "test".to_owned())].into(),
        };
        let request = DiscoveryRequest {
            type_url: "type.googleapis.com/acme.Widget".into(),
            resource_names: vec!["a".into(), "a".into()],
            ..DiscoveryRequest::default()
        };
        let request = read(DiscoveryRequest { resource_locators: vec![locator], ..request }).unwrap_err();
        assert!(request.message.starts_with("3 names"), "{request}");
    }

    #[test]
    fn p01_plain_names_have_the_parameters_of_the_node_and_locators_their_own() {
        let locator = discovery::ResourceLocator {
            name: "a".into(),
            dynamic_parameters: [("env".to_owned(), "test".to_owned())].into(),
        };
        let request = read(DiscoveryRequest {
            type_url: "type.googleapis.com/acme.Widget".into(),
            resource_names: vec!["a".into()],
            resource_locators: vec![locator],
            ..DiscoveryRequest::default()
        });
        let Ok(SubscriptionRequest { names: Names::Replace(mut names), .. }) = request else {
            panic!("{request:?}")
        };
        names.sort();
        assert_eq!(format!("{names:?}"), "[Plain/a{env=prod}, Located/a{env=test}]");
    }

    #[test]
    fn p19_locators_have_the_forwarded_node_and_cannot_choose_it() {
        let node = ClientNode::new("d", Arc::default());
        let client = ClientProfile {
            parameters: ClientParameters::new(DynamicParameters::empty(), [(Box::default(), node)]),
            ..ClientProfile::default()
        };
        let ask = |key: &str| {
            let dynamic_parameters = [(key.to_owned(), "d".to_owned())].into();
            let name = "a".to_owned();
            let request = DiscoveryRequest {
                type_url: "type.googleapis.com/acme.Widget".into(),
                resource_names: vec!["a".into()],
                resource_locators: vec![discovery::ResourceLocator { name, dynamic_parameters }],
                ..DiscoveryRequest::default()
            };
            request.into_subscription_request(&client, &Limits::default(), &Anew)
        };
        let Ok(SubscriptionRequest { names: Names::Replace(mut names), .. }) = ask("env") else { panic!() };
        names.sort();
        assert_eq!(format!("{names:?}"), "[Located/a{env=d, weir.node=d}, Plain/a{weir.node=d}]");
        assert!(names.iter().all(|selector| selector.locator.parameters.node().is_some()));
        let error = ask(NODE_KEY).unwrap_err();
        assert_eq!(error.code, Code::INVALID_ARGUMENT);
        assert!(error.message.contains("\"weir.node\", which is reserved"), "{error}");
    }

    #[test]
    fn e05_an_over_long_name_is_told_with_its_limit() {
        let status = read(DiscoveryRequest {
            type_url: "type.googleapis.com/acme.Widget".into(),
            resource_names: vec!["x".repeat(11)],
            ..DiscoveryRequest::default()
        });
        let status = status.unwrap_err();
        assert_eq!(status.code, Code::INVALID_ARGUMENT);
        assert_eq!(
            status.message,
            "a resource name of 11 bytes is over the limit of 10 (limits.max_name_length): xxxxxxxxxxx…"
        );
    }
}
