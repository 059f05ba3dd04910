//! What of a client's `Node` is forwarded to control planes, and with what of its certificate headers are filled.
//!
//! Owns which parts go to which control plane, and their canonical encoding, which decides whether two clients are one to
//! it. Never opens a stream: the parts travel with the dynamic parameters of the client.

mod error;
mod header_values;
mod parts;

use std::fmt::Write as _;
use std::sync::Arc;

use prost::Message;
use ring::digest::{SHA256, digest};
use weir_config::{Config, Source, Template};
use weir_tls::Identity;
use weir_types::{ClientNode, DynamicParameters, NodeField, NodePart};
use weir_wire::discovery::Node;

pub use self::error::ForwardError;
use self::parts::parts_of;
use crate::clients::Interned;
use crate::rules::read_node;

/// How many bytes of the hash a digest has: nobody finds two nodes with equal ones.
const DIGEST_LENGTH: usize = 16;

/// What of a client's node is forwarded, by control plane. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Forwarding {
    targets: Arc<[Target]>,
    /// The authorities whose control planes are sent claims that nothing verifies.
    unverified: Arc<[Box<str>]>,
    /// Of these names, filled from the node of a load report, the client's certificate has to have one.
    reporters: Arc<[Template]>,
    /// The encoded parts: the streams of a client share them.
    parts: Arc<Interned>,
}

/// A control plane that is sent parts of the client's node.
#[derive(Debug)]
struct Target {
    authority: Box<str>,
    parts: Vec<NodePart>,
    max_size: usize,
    /// Of these names, filled from the node, the client's certificate has to have one.
    verify: Vec<Template>,
    /// The placeholders in its headers.
    header_values: Vec<String>,
}

impl From<&Config> for Forwarding {
    fn from(config: &Config) -> Self {
        let targets = config.upstreams.iter().filter_map(|upstream| {
            let Source::ControlPlane(control_plane) = &upstream.source else { return None };
            let node = &control_plane.parameters.as_ref().filter(|streams| streams.node.forwards())?.node;
            Some(Target {
                authority: upstream.authority.as_str().into(),
                parts: node.forward.clone(),
                max_size: node.max_size.get(),
                verify: node.verify.clone(),
                header_values: node.header_values.clone(),
            })
        });
        let relay = config.upstreams.iter().find(|upstream| upstream.relays_load_reports());
        let reporters = relay.and_then(|upstream| {
            let Source::ControlPlane(control_plane) = &upstream.source else { return None };
            Some(control_plane.parameters.as_ref()?.node.verify.clone().into())
        });
        Self { reporters: reporters.unwrap_or_default(), ..Self::new(targets.collect()) }
    }
}

impl Forwarding {
    fn new(targets: Arc<[Target]>) -> Self {
        let is_claim = |target: &&Target| !target.parts.is_empty() && target.verify.is_empty();
        let unverified = targets.iter().filter(is_claim);
        let unverified = unverified.map(|target| target.authority.clone()).collect();
        Self { targets, unverified, reporters: Arc::default(), parts: Arc::default() }
    }

    /// The authorities whose control planes are sent parts of nodes that nothing verifies.
    pub(crate) fn unverified(&self) -> &Arc<[Box<str>]> {
        &self.unverified
    }

    /// The authorities whose control planes are sent parts of `node`, each with these parts, and with the values of headers:
    /// `identity` and the parameters that it `enforced` have these.
    ///
    /// # Errors
    /// When they are too large, or the certificate of the client does not vouch for them.
    pub(crate) fn nodes(
        &self,
        node: &Node,
        identity: Option<&Identity>,
        enforced: &DynamicParameters,
    ) -> Result<Vec<(Box<str>, ClientNode)>, ForwardError> {
        let targets = self.targets.iter().map(|target| {
            verify(&target.verify, node, identity)?;
            let values = header_values::read(&target.header_values, identity, enforced)?;
            Ok((target.authority.clone(), self.node(target, node, values)?))
        });
        targets.collect()
    }

    /// Whether a client may report load as `node`.
    ///
    /// # Errors
    /// When its certificate does not vouch for it.
    pub(crate) fn verify_reporter(
        &self,
        node: &Node,
        identity: Option<&Identity>,
    ) -> Result<(), ForwardError> {
        verify(&self.reporters, node, identity)
    }

    fn node(
        &self,
        target: &Target,
        node: &Node,
        header_values: DynamicParameters,
    ) -> Result<ClientNode, ForwardError> {
        let encoded = parts_of(node, &target.parts).encode_to_vec();
        let (size, max) = (encoded.len(), target.max_size);
        if size > max {
            let parts: Vec<_> = target.parts.iter().map(ToString::to_string).collect();
            return Err(ForwardError::TooLarge { parts: parts.join(", "), size, max });
        }
        let hash = match header_values.is_empty() {
            true => digest(&SHA256, &encoded),
            false => header_values::digest(&encoded, &header_values),
        };
        let text = hash.as_ref().iter().take(DIGEST_LENGTH).fold(String::new(), |mut text, byte| {
            _ = write!(text, "{byte:02x}");
            text
        });
        let node = ClientNode::new(text, self.parts.share(encoded.into()));
        Ok(node.with_header_values(header_values))
    }
}

/// Whether the certificate of a client has one of the `names`, which are filled from its node. No names are no rule.
fn verify(names: &[Template], node: &Node, identity: Option<&Identity>) -> Result<(), ForwardError> {
    if names.is_empty() {
        return Ok(());
    }
    let wanted: Vec<_> = names.iter().filter_map(|template| fill(template, node)).collect();
    let has = |identity: &Identity| {
        let mut names = identity.uris().iter().chain(identity.dns());
        names.any(|name| wanted.contains(name))
    };
    if identity.is_some_and(has) {
        return Ok(());
    }
    let identity = shown(identity);
    let wanted = match &wanted[..] {
        [] => "its node has no usable value for any of them".to_owned(),
        wanted => wanted.join(", ").escape_debug().to_string(),
    };
    Err(ForwardError::Unverified { identity, wanted })
}

/// The names of a certificate, for errors.
fn shown(identity: Option<&Identity>) -> String {
    identity.map_or_else(|| "there is none".to_owned(), ToString::to_string)
}

/// `template` with values of `node`; none where one of them is missing, or could change the meaning of the name.
fn fill(template: &Template, node: &Node) -> Option<String> {
    template.fill(|key| {
        let value = read_node(&key.parse::<NodeField>().ok()?, node);
        value.filter(|value| !value.is_empty() && !value.contains('/'))
    })
}

#[cfg(test)]
mod tests {
    use weir_wire::discovery::Locality;

    use weir_types::Code;

    use super::*;
    use crate::rules::tests::node;

    fn forwarding(parts: &[&str], max_size: usize) -> Forwarding {
        let parts = parts.iter().map(|part| part.parse().unwrap()).collect();
        let target = Target {
            authority: Box::default(),
            parts,
            max_size,
            verify: Vec::new(),
            header_values: Vec::new(),
        };
        Forwarding::new(Arc::from([target]))
    }

    fn forwarded(parts: &[&str], node: &Node) -> (String, Node) {
        let nodes = forwarding(parts, 1 << 10).nodes(node, None, &DynamicParameters::empty()).unwrap();
        let [(_, node)] = &nodes[..] else { panic!("{nodes:?}") };
        (node.digest().to_owned(), Node::decode(node.encoded()).unwrap())
    }

    #[test]
    fn p19_only_the_chosen_parts_are_forwarded() {
        let locality = Some(Locality { zone: "a".into(), ..Locality::default() });
        let features = ["xds.config.resource-in-sotw", "z", "a", "weir.trace-context", "a"].map(String::from);
        let full = Node { locality, client_features: features.into(), ..node() };
        let (_, sent) = forwarded(&["id", "metadata.labels.tier", "metadata.nowhere"], &full);
        let metadata = sent.metadata.clone().unwrap();
        assert_eq!(sent, Node { id: full.id.clone(), metadata: sent.metadata.clone(), ..Node::default() });
        assert_eq!(metadata.fields.keys().collect::<Vec<_>>(), ["labels"]);
        let (_, sent) = forwarded(&["user_agent"], &full);
        assert_eq!(
            (&*sent.user_agent_name, &sent.client_features[..]),
            ("envoy", &["a", "z"].map(String::from)[..])
        );
        let (_, sent) = forwarded(&["id", "cluster", "locality", "user_agent", "metadata"], &full);
        assert_eq!(sent, Node { client_features: sent.client_features.clone(), ..full });
    }

    #[test]
    fn p19_clients_that_differ_in_a_forwarded_part_have_other_digests() {
        let digest = |change: fn(&mut Node)| {
            let mut node = node();
            change(&mut node);
            forwarded(&["id", "metadata.labels", "user_agent"], &node).0
        };
        let one = digest(|_| ());
        assert_eq!(one.len(), 2 * DIGEST_LENGTH);
        assert_eq!(one, digest(|node| node.cluster = "other".into()), "the cluster is not forwarded");
        assert_eq!(one, digest(|node| node.client_features.push("xds.config.x".into())));
        assert_ne!(one, digest(|node| node.id.push('x')));
        assert_ne!(one, digest(|node| node.metadata = None));
        assert_ne!(one, digest(|node| node.client_features.push("x".into())));
    }

    #[test]
    fn p19_the_digest_is_the_same_in_every_process() {
        // It is part of the store's keys: a change loses what was stored.
        assert_eq!(forwarded(&["id"], &node()).0, "9d1a3cd76425b83310d19d6e69790688");
    }

    #[test]
    fn p20_the_certificate_has_to_vouch_for_the_node() {
        let verify =
            ["spiffe://td/{node.metadata.labels.tier}/{node.cluster}", "{node.metadata.env}.{node.cluster}"];
        let target = Target {
            authority: Box::default(),
            parts: vec![NodePart::Id],
            max_size: 100,
            verify: verify.map(|template| template.parse().unwrap()).into(),
            header_values: Vec::new(),
        };
        let forwarding = Forwarding::new(Arc::from([target]));
        let none = DynamicParameters::empty();
        let of = |uri: &str, dns: &str| Some(Identity::new(vec![uri.to_owned()], vec![dns.to_owned()]));
        let node = |cluster: &str| Node { cluster: cluster.to_owned(), ..node() };
        for (cluster, identity, passes) in [
            ("web", of("spiffe://td/edge/web", "x"), true),
            ("web", of("x", "prod-eu.web"), true),
            ("web", of("spiffe://td/edge/db", "prod-eu.db"), false),
            ("web", of("spiffe://td/edge/web/more", "x"), false),
            ("web/more", of("spiffe://td/edge/web/more", "x"), false),
            ("", of("spiffe://td/edge/", "prod-eu."), false),
            ("web", None, false),
        ] {
            let nodes = forwarding.nodes(&node(cluster), identity.as_ref(), &none);
            assert_eq!(nodes.is_ok(), passes, "{cluster} {identity:?}: {nodes:?}");
        }
        let error = forwarding.nodes(&node("web"), of("a", "b").as_ref(), &none).unwrap_err();
        assert_eq!(error.code(), Code::PERMISSION_DENIED);
        let text = error.to_string();
        assert!(text.contains("(a,b)") && text.ends_with("spiffe://td/edge/web, prod-eu.web"), "{text}");
        assert!(forwarding.unverified().is_empty());
    }

    #[test]
    fn p19_a_node_that_is_too_large_is_refused() {
        let none = DynamicParameters::empty();
        let error = forwarding(&["id", "cluster"], 20).nodes(&node(), None, &none).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the forwarded parts of node (id, cluster) must have at most 20 bytes (upstream.node.max_size), got 27"
        );
    }
}
