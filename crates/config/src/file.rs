//! The shape of the file. Every default that does not depend on another value stands here.

mod clients;
mod prefetch;
mod security;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use weir_types::NodeField;

pub(crate) use clients::ColdStarts;
pub(crate) use prefetch::Prefetch;
pub(crate) use security::{Access, AdminTls, DownstreamTls, UpstreamTls};

use crate::metadata::Metadata;
use crate::sections::{Read, Sections};
use crate::values::{
    AcknowledgeMode, Address, CollectorEndpoint, CollectorProtocol, Csds, DataError, DurationText, Endpoint,
    Level, LogFormat, NackUpstream, Protocol, ReadyWhen, Regex, ResourceType, Size, Text, Transport,
};

/// Each section, or that it is broken.
pub(crate) struct File {
    pub(crate) node: Read<Node>,
    pub(crate) log: Read<Log>,
    pub(crate) telemetry: Read<Telemetry>,
    pub(crate) downstream: Read<Downstream>,
    pub(crate) admin: Read<Option<Admin>>,
    pub(crate) cache: Read<Cache>,
    pub(crate) limits: Read<Limits>,
    pub(crate) admission: Read<Admission>,
    pub(crate) drain: Read<Drain>,
    pub(crate) store: Read<Option<Store>>,
    pub(crate) upstream: Read<Vec<Upstream>>,
    pub(crate) dynamic_parameters: Read<Vec<DynamicParameter>>,
    pub(crate) access: Read<Vec<Access>>,
    pub(crate) export: Read<Vec<Export>>,
}

impl File {
    pub(crate) fn read(sections: &mut Sections<'_>) -> Self {
        Self {
            node: sections.defaulted("node"),
            log: sections.defaulted("log"),
            telemetry: sections.defaulted("telemetry"),
            downstream: sections.required("downstream"),
            admin: sections.optional("admin"),
            cache: sections.defaulted("cache"),
            limits: sections.defaulted("limits"),
            admission: sections.defaulted("admission"),
            drain: sections.defaulted("drain"),
            store: sections.optional("store"),
            upstream: sections.list("upstream"),
            dynamic_parameters: sections.list("dynamic_parameters"),
            access: sections.list("access"),
            export: sections.list("export"),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Node {
    pub(crate) id: String,
    pub(crate) cluster: String,
    pub(crate) locality: Locality,
    pub(crate) metadata: BTreeMap<String, Metadata>,
}

impl Default for Node {
    fn default() -> Self {
        Self {
            id: "weir".into(),
            cluster: String::new(),
            locality: Locality::default(),
            metadata: BTreeMap::new(),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Locality {
    pub(crate) region: String,
    pub(crate) zone: String,
    pub(crate) sub_zone: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Log {
    pub(crate) level: Level,
    pub(crate) format: LogFormat,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Telemetry {
    pub(crate) endpoint: Option<Text<CollectorEndpoint>>,
    pub(crate) protocol: CollectorProtocol,
    pub(crate) traces: bool,
    pub(crate) metrics: bool,
    pub(crate) sample_ratio: f64,
    pub(crate) service_name: String,
    pub(crate) resource_attributes: BTreeMap<String, String>,
    pub(crate) propagation_deadline: Text<DurationText>,
}

impl Default for Telemetry {
    fn default() -> Self {
        Self {
            endpoint: None,
            protocol: CollectorProtocol::default(),
            traces: true,
            metrics: true,
            sample_ratio: 0.01,
            service_name: "weir".into(),
            resource_attributes: BTreeMap::new(),
            propagation_deadline: seconds::<30>(),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Downstream {
    pub(crate) listen: Vec<Text<Address>>,
    #[serde(default)]
    pub(crate) listen_plaintext: Vec<Text<Address>>,
    pub(crate) tls: Option<DownstreamTls>,
    #[serde(default = "sizes::<64>")]
    pub(crate) max_request_size: Text<Size>,
    #[serde(default = "sizes::<4>")]
    pub(crate) max_response_size: Text<Size>,
    #[serde(default = "seconds::<30>")]
    pub(crate) keepalive_interval: Text<DurationText>,
    #[serde(default = "seconds::<10>")]
    pub(crate) keepalive_timeout: Text<DurationText>,
    #[serde(default = "seconds::<30>")]
    pub(crate) rest_hold: Text<DurationText>,
    #[serde(default = "seconds::<30>")]
    pub(crate) receive_timeout: Text<DurationText>,
    #[serde(default = "seconds::<300>")]
    pub(crate) stall_timeout: Text<DurationText>,
    #[serde(default = "seconds::<1>")]
    pub(crate) warming_timeout: Text<DurationText>,
    #[serde(default = "seconds::<1>")]
    pub(crate) first_response_timeout: Text<DurationText>,
    pub(crate) max_connection_age: Option<Text<DurationText>>,
    #[serde(default)]
    pub(crate) csds: Csds,
    #[serde(default)]
    pub(crate) reflection: bool,
    #[serde(default)]
    pub(crate) ready_when: ReadyWhen,
    #[serde(default)]
    pub(crate) wrap_resources: HashMap<String, bool>,
    #[serde(default)]
    pub(crate) cold_start: ColdStarts,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Admin {
    #[serde(default = "loopback::<19000>")]
    pub(crate) listen: Text<Address>,
    pub(crate) token_file: Option<PathBuf>,
    pub(crate) change_token_file: Option<PathBuf>,
    pub(crate) tls: Option<AdminTls>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Cache {
    pub(crate) idle_timeout: Text<DurationText>,
    pub(crate) max_frames_size: Text<Size>,
}

impl Default for Cache {
    fn default() -> Self {
        Self { idle_timeout: seconds::<60>(), max_frames_size: sizes::<256>() }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Limits {
    pub(crate) max_name_length: usize,
    pub(crate) max_names: usize,
    pub(crate) max_connections: usize,
    pub(crate) max_connections_per_address: Option<usize>,
    pub(crate) max_streams: usize,
    pub(crate) max_streams_per_connection: u32,
    pub(crate) max_streams_per_node: Option<usize>,
    pub(crate) max_names_per_stream: usize,
    pub(crate) max_locators_per_name: usize,
    pub(crate) max_types_per_stream: usize,
    pub(crate) max_node_size: Text<Size>,
    pub(crate) max_partial_requests: Text<Size>,
    pub(crate) max_handshakes: usize,
    pub(crate) new_names_per_client: Option<u32>,
    pub(crate) max_new_names_per_client: Option<usize>,
    pub(crate) new_parameter_sets_per_client: Option<u32>,
    pub(crate) max_new_parameter_sets_per_client: Option<usize>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_name_length: 4096,
            max_names: 100_000,
            max_connections: 100_000,
            max_connections_per_address: None,
            max_streams: 1_000_000,
            max_streams_per_connection: 1000,
            max_streams_per_node: None,
            max_names_per_stream: 100_000,
            max_locators_per_name: 1000,
            max_types_per_stream: 100,
            max_node_size: sizes::<1>(),
            max_partial_requests: sizes::<256>(),
            max_handshakes: 10_000,
            new_names_per_client: None,
            max_new_names_per_client: None,
            new_parameter_sets_per_client: None,
            max_new_parameter_sets_per_client: None,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Admission {
    pub(crate) new_streams_per_second: Option<usize>,
    pub(crate) new_streams_burst: Option<usize>,
    pub(crate) max_first_responses: usize,
    pub(crate) retry_after: Text<DurationText>,
}

impl Default for Admission {
    fn default() -> Self {
        Self {
            new_streams_per_second: None,
            new_streams_burst: None,
            max_first_responses: 1024,
            retry_after: seconds::<1>(),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Drain {
    pub(crate) delay: Text<DurationText>,
    pub(crate) over: Text<DurationText>,
    pub(crate) grace: Text<DurationText>,
}

impl Default for Drain {
    fn default() -> Self {
        Self { delay: seconds::<0>(), over: seconds::<15>(), grace: seconds::<1>() }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Store {
    pub(crate) path: PathBuf,
    #[serde(default = "sizes::<1024>")]
    pub(crate) max_size: Text<Size>,
    #[serde(default = "seconds::<604_800>")]
    pub(crate) keep_unwanted: Text<DurationText>,
    #[serde(default)]
    pub(crate) persist_secrets: bool,
    pub(crate) key_file: Option<PathBuf>,
}

/// What is optional here and has a default stands under the kind of source that it belongs to, so that a key
/// which does not apply can be told from one that is left out.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Upstream {
    #[serde(default)]
    pub(crate) authority: String,
    pub(crate) files: Option<PathBuf>,
    pub(crate) poll_interval: Option<Text<DurationText>>,
    pub(crate) endpoints: Option<Vec<Text<Endpoint>>>,
    pub(crate) protocol: Option<Protocol>,
    pub(crate) transport: Option<Transport>,
    pub(crate) dynamic_parameters: Option<DynamicParametersMode>,
    pub(crate) parameter_keys: Option<Vec<String>>,
    pub(crate) max_parameter_sets: Option<usize>,
    pub(crate) max_subscriptions: Option<usize>,
    pub(crate) new_subscriptions_per_second: Option<u32>,
    pub(crate) new_parameter_sets_per_second: Option<u32>,
    pub(crate) node: Option<NodeTemplate>,
    pub(crate) tls: Option<UpstreamTls>,
    pub(crate) headers: Option<BTreeMap<String, String>>,
    pub(crate) token_file: Option<PathBuf>,
    pub(crate) token_over_plaintext: Option<bool>,
    pub(crate) connect_timeout: Option<Text<DurationText>>,
    pub(crate) does_not_exist_timeout: Option<Text<DurationText>>,
    pub(crate) drop_on_errors: Option<Vec<DataError>>,
    pub(crate) shrink_guard: Option<ShrinkGuard>,
    pub(crate) debounce: Option<Debounce>,
    pub(crate) backoff_base: Option<Text<DurationText>>,
    pub(crate) backoff_max: Option<Text<DurationText>>,
    pub(crate) answer_timeout: Option<Text<DurationText>>,
    pub(crate) stable_after: Option<Text<DurationText>>,
    pub(crate) shared_versions: Option<bool>,
    pub(crate) keepalive_interval: Option<Text<DurationText>>,
    pub(crate) keepalive_timeout: Option<Text<DurationText>>,
    pub(crate) max_response_size: Option<Text<Size>>,
    pub(crate) node_on_first_message_only: Option<bool>,
    pub(crate) acknowledge: Option<AcknowledgeMode>,
    pub(crate) acknowledge_share: Option<u8>,
    pub(crate) acknowledge_deadline: Option<Text<DurationText>>,
    pub(crate) nack_upstream: Option<NackUpstream>,
    pub(crate) refresh_interval: Option<Text<DurationText>>,
    pub(crate) refresh_jitter: Option<Text<DurationText>>,
    pub(crate) request_timeout: Option<Text<DurationText>>,
    pub(crate) prefetch: Option<Vec<Prefetch>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Debounce {
    pub(crate) quiet: Text<DurationText>,
    pub(crate) max: Text<DurationText>,
}

impl Default for Debounce {
    fn default() -> Self {
        Self { quiet: Text(DurationText(Duration::from_millis(100))), max: seconds::<1>() }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ShrinkGuard {
    pub(crate) percent: u8,
    pub(crate) minimum: usize,
    pub(crate) confirm_after: Text<DurationText>,
}

impl Default for ShrinkGuard {
    fn default() -> Self {
        Self { percent: 30, minimum: 10, confirm_after: seconds::<300>() }
    }
}

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

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DynamicParameter {
    pub(crate) key: String,
    pub(crate) from: Text<NodeField>,
    pub(crate) pattern: Option<Text<Regex>>,
    pub(crate) default: Option<String>,
    #[serde(default)]
    pub(crate) fill_locators: bool,
    #[serde(default)]
    pub(crate) enforce: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Export {
    #[serde(rename = "type")]
    pub(crate) type_url: Text<ResourceType>,
    #[serde(default)]
    pub(crate) names: Vec<String>,
    #[serde(default)]
    pub(crate) parameters: BTreeMap<String, String>,
    pub(crate) to: PathBuf,
}

pub(crate) fn loopback<const PORT: u16>() -> Text<Address> {
    Text(Address(([127, 0, 0, 1], PORT).into()))
}

pub(crate) fn seconds<const N: u64>() -> Text<DurationText> {
    Text(DurationText(Duration::from_secs(N)))
}

pub(crate) fn sizes<const MIB: usize>() -> Text<Size> {
    Text(Size(MIB << 20))
}
