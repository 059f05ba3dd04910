//! What a client is sent by the `Resource` wrapper in state of the world, where resources can go without it.

use crate::node::Client;

/// Whether a state-of-the-world client gets its resources wrapped, and whether it is sent times to live.
/// Incremental resources are always wrapped, and always carry it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Wrapping {
    /// Every resource is wrapped.
    pub always: bool,
    /// Resources that have a time to live are wrapped.
    pub for_ttl: bool,
}

impl Wrapping {
    /// For this client, of whose kind the configuration may state that it takes wrapped resources, or that it
    /// does not.
    pub(crate) fn of(client: &Client, configured: Option<bool>) -> Self {
        match configured {
            Some(wrapped) => Self { always: wrapped, for_ttl: wrapped },
            None => Self {
                always: client.announces_wrapping,
                // An Envoy takes wrapped resources and times to live, and announces neither.
                for_ttl: client.announces_ttl || client.is_envoy(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;
    use weir_wire::discovery::Node;

    use super::*;
    use crate::rules::NodeRules;

    #[test]
    fn s09_a_ttl_is_for_envoys_and_for_whom_says_so() {
        let (wrap, ttl) = ("xds.config.resource-in-sotw", "xds.config.supports-resource-ttl");
        for (user_agent, features, configured, always, for_ttl) in [
            ("envoy", &[][..], None, false, true),
            ("envoy", &[], Some(false), false, false),
            ("other", &[], None, false, false),
            ("other", &[], Some(true), true, true),
            ("grpc", &[wrap], None, true, false),
            ("weir", &[wrap, ttl], None, true, true),
        ] {
            let features: Vec<String> = features.iter().map(|feature: &&str| (*feature).to_owned()).collect();
            let node =
                Node { user_agent_name: user_agent.into(), client_features: features, ..Node::default() };
            let client = Client::new(Some(&node.encode_to_vec()), &NodeRules::default()).unwrap();
            assert_eq!(Wrapping::of(&client, configured), Wrapping { always, for_ttl }, "{user_agent}");
        }
    }
}
