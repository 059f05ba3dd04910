//! How clients are served.

use std::sync::Arc;

use weir_config::{Admission, Cache, ColdStart, ColdStarts, Config, Downstream, Drain, Limits, VirtualHosts};
use weir_session::{Patience, SessionSettings, VirtualHostWildcard};

use crate::access::AccessRules;
use crate::forwarding::Forwarding;
use crate::rules::NodeRules;

/// How clients are served: the sections of the configuration that are about clients.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Names this instance to clients (`control_plane.identifier`).
    pub identifier: String,
    /// How connections are used, and how clients are answered.
    pub downstream: Downstream,
    /// How much clients may ask for.
    pub limits: Limits,
    /// How much is kept for streams that have yet to make the same step.
    pub cache: Cache,
    /// How new streams are let in.
    pub admission: Admission,
    /// How clients are moved elsewhere.
    pub drain: Drain,
    /// How parameters are derived for clients that send none.
    pub rules: NodeRules,
    /// Who may have what.
    pub access: AccessRules,
    /// What of a client's node is forwarded to control planes.
    pub forwarding: Forwarding,
    /// What a wildcard of virtual hosts asks for.
    pub virtual_hosts: VirtualHosts,
}

impl From<&Config> for Settings {
    fn from(config: &Config) -> Self {
        Self {
            identifier: config.node.id.clone(),
            downstream: config.downstream.clone(),
            limits: config.limits,
            cache: config.cache,
            admission: config.admission,
            drain: config.drain,
            rules: NodeRules::new(config.node_rules.clone()),
            access: AccessRules::new(config.access.clone()),
            forwarding: Forwarding::from(config),
            virtual_hosts: config.virtual_hosts(),
        }
    }
}

impl Settings {
    /// What holds for each stream: sessions have no configuration.
    pub(crate) fn session(&self) -> SessionSettings {
        let (downstream, limits) = (&self.downstream, &self.limits);
        SessionSettings {
            limits: weir_session::Limits {
                name_length: limits.max_name_length.get(),
                names: limits.max_names.get(),
                names_per_stream: limits.max_names_per_stream.get(),
                locators_per_name: limits.max_locators_per_name.get(),
                types_per_stream: u32::try_from(limits.max_types_per_stream.get()).unwrap_or(u32::MAX),
                message: downstream.max_request_size.get(),
                node: u32::try_from(limits.max_node_size.get()).unwrap_or(u32::MAX),
            },
            cold_start: cold_starts(downstream.cold_start),
            patience: Arc::new(Patience {
                warming: downstream.warming_timeout,
                first_response: downstream.first_response_timeout,
            }),
            retry_after: self.admission.retry_after,
            virtual_hosts: match self.virtual_hosts {
                VirtualHosts::OnDemand => VirtualHostWildcard::Ignored,
                VirtualHosts::Wildcard => VirtualHostWildcard::Honoured,
            },
        }
    }
}

fn cold_starts(configured: ColdStarts) -> weir_session::ColdStarts {
    let of = |answer| match answer {
        ColdStart::Hold => weir_session::ColdStart::Hold,
        ColdStart::Error => weir_session::ColdStart::Error,
        ColdStart::Close => weir_session::ColdStart::Close,
    };
    let ColdStarts { envoy, grpc, weir, other } = configured;
    weir_session::ColdStarts { envoy: of(envoy), grpc: of(grpc), weir: of(weir), other: of(other) }
}

/// Those of a file that has nothing but what it needs.
#[cfg(test)]
impl Default for Settings {
    fn default() -> Self {
        let file = "downstream.listen = ['127.0.0.1:0']\n[[upstream]]\nfiles = '/'";
        Self::from(&weir_config::parse(file, std::path::Path::new("weir.toml")).unwrap())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_have_the_defaults_of_the_configuration() {
        assert_eq!(Settings::default().session(), SessionSettings::default());
    }
}
