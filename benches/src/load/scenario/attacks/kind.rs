//! The attacks: what each of them sends, and what the server's configuration needs for it.

use std::collections::HashMap;

use clap::ValueEnum;
use prost::Message;
use weir_wire::discovery::{DeltaDiscoveryRequest, Node, ResourceLocator};

use crate::load::resources::{self, KEY};

/// The type of the victim's resource and of everything that the attacks ask for: they share its lock.
pub(super) const TYPE: &str = "cds";

/// An attack on the other clients of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Attack {
    /// Names that `[[access]]` denies, with all limits for clients set
    DeniedNames,
    /// Names of an authority that is not configured
    UnknownAuthority,
    /// Locators of the name that the victim is subscribed to
    Locators,
    /// As many names to subscribe as to unsubscribe, in one request
    SubscribeAndUnsubscribe,
    /// Located names, with an initial version for each, as after a reconnect
    LocatedReconnect,
    /// Streams on connections that toggle SETTINGS_INITIAL_WINDOW_SIZE
    Windows,
    /// Globs that match nothing, half as many
    Globs,
    /// Names of resources that exist
    KnownNames,
    /// One name after the other replaced in a subscription to many
    ReplacedNames,
}

/// What an attacker sends on each connection.
pub(super) struct Ammunition {
    /// The first request of a stream.
    pub(super) first: Vec<u8>,
    /// Whether the stream goes on with requests that replace one name each.
    pub(super) replaces: bool,
}

impl Attack {
    /// The command-line value.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Tables that the configuration of the server has because of this attack.
    pub(super) fn tables(self) -> &'static str {
        match self {
            Self::DeniedNames => {
                "[[access]]\nnames = ['cds-*']\n\
                 [limits]\nnew_names_per_client = 100\nmax_new_names_per_client = 1000\n\
                 max_streams_per_node = 100\nmax_connections_per_address = 100\n"
            }
            _ => "",
        }
    }

    /// How many resources the control plane publishes for an attack of size `n`, besides the victim's.
    pub(super) fn published(self, n: usize) -> usize {
        if self == Self::KnownNames { n } else { 0 }
    }

    /// The requests of an attack of size `n`.
    pub(super) fn ammunition(self, n: usize) -> Ammunition {
        let node = Node { id: "attacker".to_owned(), ..Node::default() };
        let mut request = DeltaDiscoveryRequest {
            node: Some(node.encode_to_vec().into()),
            type_url: resources::type_url(TYPE),
            ..DeltaDiscoveryRequest::default()
        };
        let names = |prefix: &str| (0..n).map(|i| format!("{prefix}{i:06}")).collect::<Vec<_>>();
        match self {
            Self::DeniedNames => request.resource_names_subscribe = names("x"),
            Self::UnknownAuthority => {
                request.resource_names_subscribe = names("xdstp://nobody/envoy.config.cluster.v3.Cluster/n");
            }
            Self::Locators => {
                let hot = resources::name(TYPE, 0);
                request.resource_locators_subscribe =
                    (0..n).map(|i| located(&hot, &resources::variant(i))).collect();
            }
            Self::SubscribeAndUnsubscribe => {
                request.resource_names_subscribe = names("a");
                request.resource_names_unsubscribe = names("b");
            }
            Self::LocatedReconnect => {
                let names = names("n");
                request.resource_locators_subscribe = names.iter().map(|name| located(name, "e0")).collect();
                request.initial_resource_versions =
                    names.into_iter().map(|name| (name, "1".to_owned())).collect();
            }
            Self::Windows => {}
            Self::Globs => {
                let glob = |i| format!("xdstp:///envoy.config.cluster.v3.Cluster/d{i:06}/*");
                request.resource_names_subscribe = (0..n / 2).map(glob).collect();
            }
            Self::KnownNames => {
                request.resource_names_subscribe = (1..=n).map(|i| resources::name(TYPE, i)).collect();
            }
            // Some room is left for the name that takes the place of another one.
            Self::ReplacedNames => request.resource_names_subscribe = names("r").split_off(n / 100 + 1),
        }
        Ammunition { first: request.encode_to_vec(), replaces: self == Self::ReplacedNames }
    }
}

/// The request that acknowledges `nonce` and replaces the name of the last round by the one of this round.
pub(super) fn replacement(round: usize, nonce: &[u8]) -> Vec<u8> {
    let name = |round: usize| vec![format!("s{round:06}")];
    let request = DeltaDiscoveryRequest {
        type_url: resources::type_url(TYPE),
        resource_names_subscribe: name(round),
        resource_names_unsubscribe: if round > 0 { name(round - 1) } else { vec![] },
        response_nonce: String::from_utf8_lossy(nonce).into_owned(),
        ..DeltaDiscoveryRequest::default()
    };
    request.encode_to_vec()
}

fn located(name: &str, value: &str) -> ResourceLocator {
    let dynamic_parameters = HashMap::from([(KEY.to_owned(), value.to_owned())]);
    ResourceLocator { name: name.to_owned(), dynamic_parameters }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(attack: Attack, n: usize) -> DeltaDiscoveryRequest {
        DeltaDiscoveryRequest::decode(&*attack.ammunition(n).first).unwrap()
    }

    #[test]
    fn an_attack_is_as_large_as_it_is_meant_to_be() {
        assert_eq!(request(Attack::DeniedNames, 100_000).resource_names_subscribe.len(), 100_000);
        assert_eq!(request(Attack::Globs, 100).resource_names_subscribe.len(), 50);
        assert_eq!(request(Attack::ReplacedNames, 1000).resource_names_subscribe.len(), 989);
        let both = request(Attack::SubscribeAndUnsubscribe, 9);
        assert_eq!([both.resource_names_subscribe.len(), both.resource_names_unsubscribe.len()], [9, 9]);
        let reconnect = request(Attack::LocatedReconnect, 9);
        assert_eq!(
            [reconnect.resource_locators_subscribe.len(), reconnect.initial_resource_versions.len()],
            [9, 9]
        );
    }

    #[test]
    fn the_locators_are_of_the_name_of_the_victim() {
        let locators = request(Attack::Locators, 3).resource_locators_subscribe;
        assert!(locators.iter().all(|locator| locator.name == resources::name(TYPE, 0)));
        assert_eq!(locators[2].dynamic_parameters[KEY], "e2");
    }

    #[test]
    fn a_replacement_gives_up_the_name_before() {
        let request = DeltaDiscoveryRequest::decode(&*replacement(3, b"n")).unwrap();
        assert_eq!(request.resource_names_subscribe, ["s000003"]);
        assert_eq!(request.resource_names_unsubscribe, ["s000002"]);
        assert_eq!(request.response_nonce, "n");
    }
}
