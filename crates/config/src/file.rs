//! The shape of an upstream.

mod security;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use http::Uri;
use serde::Deserialize;

pub(crate) use security::UpstreamTls;

use crate::metadata::Metadata;
use crate::sections::Section;
use crate::settings::{Debounce, Locality, Prefetch, ShrinkGuard};
use crate::values::text::Text;
use crate::values::{
    AcknowledgeMode, ByteSize, Count, DataError, NackUpstream, Percent, PositiveDuration, Protocol, Transport,
};

/// What is optional here and has a default stands under the kind of source that it belongs to, so that a key
/// which does not apply can be told from one that is left out.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Upstream {
    #[serde(default)]
    pub(crate) authority: String,
    pub(crate) files: Option<PathBuf>,
    pub(crate) poll_interval: Option<PositiveDuration>,
    pub(crate) endpoints: Option<Vec<Text<Uri>>>,
    pub(crate) protocol: Option<Protocol>,
    pub(crate) transport: Option<Transport>,
    pub(crate) dynamic_parameters: Option<DynamicParametersMode>,
    pub(crate) parameter_keys: Option<Vec<String>>,
    pub(crate) max_parameter_sets: Option<Count>,
    pub(crate) max_subscriptions: Option<Count>,
    pub(crate) new_subscriptions_per_second: Option<Count<u32>>,
    pub(crate) new_parameter_sets_per_second: Option<Count<u32>>,
    pub(crate) node: Option<NodeTemplate>,
    pub(crate) tls: Option<UpstreamTls>,
    pub(crate) headers: Option<BTreeMap<String, String>>,
    pub(crate) token_file: Option<PathBuf>,
    pub(crate) token_over_plaintext: Option<bool>,
    pub(crate) connect_timeout: Option<PositiveDuration>,
    pub(crate) does_not_exist_timeout: Option<PositiveDuration>,
    pub(crate) drop_on_errors: Option<Vec<DataError>>,
    pub(crate) shrink_guard: Option<ShrinkGuard>,
    pub(crate) debounce: Option<Debounce>,
    pub(crate) backoff_base: Option<PositiveDuration>,
    pub(crate) backoff_max: Option<Text<Duration>>,
    pub(crate) answer_timeout: Option<PositiveDuration>,
    pub(crate) stable_after: Option<Text<Duration>>,
    pub(crate) shared_versions: Option<bool>,
    pub(crate) keepalive_interval: Option<PositiveDuration>,
    pub(crate) keepalive_timeout: Option<PositiveDuration>,
    pub(crate) max_response_size: Option<ByteSize>,
    pub(crate) node_on_first_message_only: Option<bool>,
    pub(crate) acknowledge: Option<AcknowledgeMode>,
    pub(crate) acknowledge_share: Option<Percent>,
    pub(crate) acknowledge_deadline: Option<PositiveDuration>,
    pub(crate) nack_upstream: Option<NackUpstream>,
    pub(crate) refresh_interval: Option<PositiveDuration>,
    pub(crate) refresh_jitter: Option<Text<Duration>>,
    pub(crate) request_timeout: Option<PositiveDuration>,
    pub(crate) prefetch: Option<Vec<Prefetch>>,
}

impl Section for Upstream {}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DynamicParametersMode {
    Native,
    #[default]
    Streams,
}

/// Strings are templates here. They are read when the keys that they may use are known.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NodeTemplate {
    pub(crate) id: Option<String>,
    pub(crate) cluster: Option<String>,
    pub(crate) locality: Option<Locality>,
    pub(crate) metadata: Option<BTreeMap<String, Metadata>>,
}
