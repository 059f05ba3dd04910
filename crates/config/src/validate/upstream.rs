//! Where resources come from.

use std::path::Path;
use std::time::Duration;

use super::node;
use crate::file::{self, DynamicParametersMode};
use crate::findings::Findings;
use crate::settings::{
    Acknowledge, ControlPlane, Debounce, Demand, Node, Parameters, Polling, Source, Upstream,
};
use crate::values::text::Text;
use crate::values::{ByteSize, Count, DataError, PositiveDuration, Protocol};

pub(crate) fn validate(
    files: Vec<file::Upstream>,
    directory: &Path,
    node: &Node,
    rule_keys: &[String],
    findings: &mut Findings,
) -> Vec<Upstream> {
    if files.is_empty() {
        findings.add("upstream", "must be there at least once: [[upstream]]");
    }
    let authorities = files
        .iter()
        .enumerate()
        .map(|(i, file)| (format!("upstream[{i}].authority"), file.authority.as_str()));
    findings.add_duplicates(authorities, |authority, other| {
        format!("must be another authority than {other} (got {authority:?})")
    });
    let mut upstreams = Vec::new();
    for (i, file) in files.into_iter().enumerate() {
        let mut reader = Reader { key: format!("upstream[{i}]"), node, rule_keys, findings };
        let authority = file.authority.clone();
        if let Some(source) = reader.source(file, directory) {
            upstreams.push(Upstream { authority, source });
        }
    }
    upstreams
}

pub(super) struct Reader<'a> {
    /// Of the upstream that is read.
    pub(super) key: String,
    node: &'a Node,
    rule_keys: &'a [String],
    pub(super) findings: &'a mut Findings,
}

impl Reader<'_> {
    pub(super) fn add(&mut self, key: &str, message: impl Into<String>) {
        self.findings.add(format!("{}.{key}", self.key), message);
    }

    fn source(&mut self, file: file::Upstream, directory: &Path) -> Option<Source> {
        match (&file.files, &file.endpoints) {
            (Some(files), None) => {
                self.refuse_control_plane_keys(&file);
                Some(Source::Files { path: directory.join(files), poll_interval: file.poll_interval })
            }
            (None, Some(_)) => {
                if file.poll_interval.is_some() {
                    self.add("poll_interval", "applies only to files");
                }
                Some(Source::ControlPlane(Box::new(self.control_plane(file, directory))))
            }
            (Some(_), Some(_)) => {
                self.add("files", "an upstream has either files or endpoints, not both");
                None
            }
            (None, None) => {
                let key = self.key.clone();
                self.findings.add(key, "an upstream needs either endpoints or files");
                None
            }
        }
    }

    fn refuse_control_plane_keys(&mut self, file: &file::Upstream) {
        for (key, set) in [
            ("protocol", file.protocol.is_some()),
            ("transport", file.transport.is_some()),
            ("dynamic_parameters", file.dynamic_parameters.is_some()),
            ("parameter_keys", file.parameter_keys.is_some()),
            ("max_parameter_sets", file.max_parameter_sets.is_some()),
            ("max_subscriptions", file.max_subscriptions.is_some()),
            ("new_subscriptions_per_second", file.new_subscriptions_per_second.is_some()),
            ("new_parameter_sets_per_second", file.new_parameter_sets_per_second.is_some()),
            ("node", file.node.is_some()),
            ("tls", file.tls.is_some()),
            ("headers", file.headers.is_some()),
            ("token_file", file.token_file.is_some()),
            ("token_over_plaintext", file.token_over_plaintext.is_some()),
            ("connect_timeout", file.connect_timeout.is_some()),
            ("does_not_exist_timeout", file.does_not_exist_timeout.is_some()),
            ("drop_on_errors", file.drop_on_errors.is_some()),
            ("shrink_guard", file.shrink_guard.is_some()),
            ("debounce", file.debounce.is_some()),
            ("backoff_base", file.backoff_base.is_some()),
            ("backoff_max", file.backoff_max.is_some()),
            ("answer_timeout", file.answer_timeout.is_some()),
            ("stable_after", file.stable_after.is_some()),
            ("shared_versions", file.shared_versions.is_some()),
            ("keepalive_interval", file.keepalive_interval.is_some()),
            ("keepalive_timeout", file.keepalive_timeout.is_some()),
            ("max_response_size", file.max_response_size.is_some()),
            ("node_on_first_message_only", file.node_on_first_message_only.is_some()),
            ("acknowledge", file.acknowledge.is_some()),
            ("acknowledge_share", file.acknowledge_share.is_some()),
            ("acknowledge_deadline", file.acknowledge_deadline.is_some()),
            ("nack_upstream", file.nack_upstream.is_some()),
            ("refresh_interval", file.refresh_interval.is_some()),
            ("refresh_jitter", file.refresh_jitter.is_some()),
            ("request_timeout", file.request_timeout.is_some()),
            ("prefetch", file.prefetch.is_some()),
        ] {
            if set {
                self.add(key, "does not apply to files; it belongs to endpoints");
            }
        }
    }

    fn refuse_keys_of_other_protocols(&mut self, protocol: Protocol, file: &file::Upstream) {
        let of_streams = [
            ("transport", file.transport.is_some()),
            ("keepalive_interval", file.keepalive_interval.is_some()),
            ("keepalive_timeout", file.keepalive_timeout.is_some()),
            ("node_on_first_message_only", file.node_on_first_message_only.is_some()),
        ];
        let of_polls = [
            ("refresh_interval", file.refresh_interval.is_some()),
            ("refresh_jitter", file.refresh_jitter.is_some()),
            ("request_timeout", file.request_timeout.is_some()),
        ];
        let (others, message) = match protocol {
            Protocol::Rest => (&of_streams[..], "does not apply to protocol = \"rest\""),
            _ => (&of_polls[..], "applies only with protocol = \"rest\""),
        };
        for (key, _) in others.iter().filter(|(_, set)| *set) {
            self.add(key, message);
        }
    }

    fn control_plane(&mut self, mut file: file::Upstream, directory: &Path) -> ControlPlane {
        let endpoints: Vec<_> =
            file.endpoints.take().unwrap_or_default().into_iter().map(|Text(uri)| uri).collect();
        if endpoints.is_empty() {
            self.add("endpoints", "must have at least one endpoint (got [])");
        }
        let protocol = file.protocol.unwrap_or_default();
        self.refuse_keys_of_other_protocols(protocol, &file);
        let parameters = self.parameters(&mut file);
        let prefetch = self.prefetch(&file.authority, file.prefetch.take(), &parameters);
        let acknowledge = self.acknowledge(&file);
        if let Some(debounce) = &file.debounce {
            self.check_debounce(debounce, acknowledge);
        }
        let does_not_exist_timeout = file.does_not_exist_timeout.unwrap_or(PositiveDuration::seconds::<15>());
        let answer_timeout = file.answer_timeout.unwrap_or_else(|| does_not_exist_timeout.two_thirds());
        let tls = self.tls(file.tls.take(), &endpoints, directory);
        let headers = self.credentials(&mut file, &endpoints);
        let settings = ControlPlane {
            endpoints,
            protocol,
            transport: file.transport.unwrap_or_default(),
            parameters,
            tls,
            headers,
            token_over_plaintext: file.token_over_plaintext.unwrap_or_default(),
            token_file: file.token_file.map(|path| directory.join(path)),
            connect_timeout: file.connect_timeout.unwrap_or(PositiveDuration::seconds::<5>()),
            does_not_exist_timeout,
            drop_on_errors: file.drop_on_errors.unwrap_or_else(|| vec![DataError::NotFound]),
            demand: Demand {
                max_subscriptions: file.max_subscriptions.unwrap_or(Count::of::<1_000_000>()),
                new_subscriptions_per_second: file.new_subscriptions_per_second,
                new_parameter_sets_per_second: file.new_parameter_sets_per_second,
            },
            debounce: file.debounce,
            shrink_guard: file.shrink_guard,
            backoff_base: file.backoff_base.unwrap_or(PositiveDuration::millis::<500>()),
            backoff_max: file.backoff_max.map_or(Duration::from_secs(30), |Text(max)| max),
            answer_timeout,
            stable_after: file.stable_after.map_or(Duration::from_secs(10), |Text(time)| time),
            shared_versions: file.shared_versions.unwrap_or(false),
            keepalive_interval: file.keepalive_interval.unwrap_or(PositiveDuration::seconds::<30>()),
            keepalive_timeout: file.keepalive_timeout.unwrap_or(PositiveDuration::seconds::<10>()),
            max_response_size: file.max_response_size.unwrap_or(ByteSize::mib::<128>()),
            node_on_first_message_only: file.node_on_first_message_only.unwrap_or(true),
            acknowledge,
            prefetch,
            polling: Polling {
                refresh_interval: file.refresh_interval.unwrap_or(PositiveDuration::seconds::<5>()),
                refresh_jitter: file.refresh_jitter.map_or(Duration::from_millis(500), |Text(jitter)| jitter),
                request_timeout: file.request_timeout.unwrap_or(PositiveDuration::seconds::<15>()),
            },
        };
        self.check_times(&settings);
        settings
    }

    fn check_times(&mut self, settings: &ControlPlane) {
        let (max, base) = (settings.backoff_max, settings.backoff_base);
        if max < base.get() {
            self.add("backoff_max", format!("must be at least backoff_base, which is {base} (got {max:?})"));
        }
        let (answer, missing) = (settings.answer_timeout, settings.does_not_exist_timeout);
        if settings.endpoints.len() > 1 && answer >= missing {
            let message =
                format!("must be shorter than does_not_exist_timeout, which is {missing} (got {answer})");
            self.add(
                "answer_timeout",
                message + ": resources would count as missing before other endpoints are asked",
            );
        }
    }

    fn check_debounce(&mut self, debounce: &Debounce, acknowledge: Acknowledge) {
        let mut findings = Findings::of_section(&self.key);
        debounce.check(&mut findings);
        if acknowledge != Acknowledge::OnReceipt {
            findings.add("debounce", "applies only with acknowledge = \"on-receipt\"");
        }
        self.findings.extend(findings);
    }

    fn parameters(&mut self, file: &mut file::Upstream) -> Parameters {
        if file.dynamic_parameters.unwrap_or_default() == DynamicParametersMode::Native {
            for (key, set) in [
                ("parameter_keys", file.parameter_keys.is_some()),
                ("max_parameter_sets", file.max_parameter_sets.is_some()),
                ("new_parameter_sets_per_second", file.new_parameter_sets_per_second.is_some()),
                ("node", file.node.is_some()),
            ] {
                if set {
                    self.add(key, "applies only with dynamic_parameters = \"streams\"");
                }
            }
            return Parameters::Native;
        }
        let max_sets = file.max_parameter_sets.unwrap_or(Count::of::<256>());
        let keys = self.parameter_keys(file.parameter_keys.take());
        let template = file.node.take().unwrap_or_default();
        let node = node::template(template, &format!("{}.node", self.key), self.node, &keys, self.findings);
        Parameters::Streams { keys, max_sets, node }
    }

    fn parameter_keys(&mut self, keys: Option<Vec<String>>) -> Vec<String> {
        let mut keys = keys.unwrap_or_else(|| self.rule_keys.to_vec());
        for i in 0..keys.len() {
            if keys[i].is_empty() {
                self.add(&format!("parameter_keys[{i}]"), "\"\" is no key; name the dynamic parameter");
            }
            if keys[..i].contains(&keys[i]) {
                self.add(&format!("parameter_keys[{i}]"), format!("{:?} is there twice", keys[i]));
            }
        }
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}
