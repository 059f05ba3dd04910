//! The keys that every control plane has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::Uri;
use serde::{Deserialize, Serialize};

use super::credentials;
use crate::findings::Findings;
use crate::secret::Secret;
use crate::settings::{Debounce, Prefetch, ShrinkGuard, UpstreamTls, resolve};
use crate::values::{ByteSize, Count, DataError, NackUpstream, PositiveDuration, text};

/// What every control plane has.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct General {
    /// Where it is, in order of preference; never empty.
    #[serde(with = "text")]
    pub endpoints: Vec<Uri>,
    /// TLS to endpoints that are `https`; there if any is.
    pub tls: Option<UpstreamTls>,
    /// Headers of each call: names and values that HTTP allows. Placeholders stand for what a client's certificate vouches for.
    pub headers: BTreeMap<String, Secret>,
    /// The file with the token that is sent as `authorization: Bearer …`.
    pub token_file: Option<PathBuf>,
    /// Whether that, or a header that is one, may be sent to endpoints that are not `https`.
    pub token_over_plaintext: bool,
    /// The most distinct subscriptions.
    pub max_subscriptions: Count,
    /// How many new ones a second.
    pub new_subscriptions_per_second: Option<Count<u32>>,
    /// How long a subscription stays after the last subscriber has gone; as `cache.idle_timeout` where there is none.
    #[serde(with = "text")]
    pub idle_timeout: Option<Duration>,
    /// How long connecting may take.
    pub connect_timeout: PositiveDuration,
    /// How long a resource may take to come before it is taken not to exist.
    pub does_not_exist_timeout: PositiveDuration,
    /// The errors of a resource on which what is cached of it is dropped.
    pub drop_on_errors: Vec<DataError>,
    /// How bursts are recognized, which are made one change; none where nothing waits.
    pub debounce: Option<Debounce>,
    /// How much it may remove at once, if not everything.
    pub shrink_guard: Option<ShrinkGuard>,
    /// The longest first wait between attempts to connect.
    pub backoff_base: PositiveDuration,
    /// The longest wait between attempts to connect; at least `backoff_base`.
    #[serde(with = "text")]
    pub backoff_max: Duration,
    /// How long a new stream may take to answer before other endpoints are tried beside it; shorter than
    /// `does_not_exist_timeout` where there are several endpoints, and two thirds of that unless configured.
    pub answer_timeout: Option<PositiveDuration>,
    /// How long a stream has to last before its endpoint counts as a good one.
    #[serde(with = "text")]
    pub stable_after: Duration,
    /// Whether a version means the same at all endpoints.
    pub shared_versions: bool,
    /// The largest response accepted.
    pub max_response_size: ByteSize,
    /// Whether a response that subscribers have rejected is NACKed.
    pub nack_upstream: NackUpstream,
    /// What is subscribed to before any client asks, and for as long as the program runs.
    pub prefetch: Vec<Prefetch>,
}

impl Default for General {
    fn default() -> Self {
        Self {
            endpoints: Vec::new(),
            tls: None,
            headers: BTreeMap::new(),
            token_file: None,
            token_over_plaintext: false,
            max_subscriptions: Count::of::<1_000_000>(),
            new_subscriptions_per_second: None,
            idle_timeout: None,
            connect_timeout: PositiveDuration::seconds::<5>(),
            does_not_exist_timeout: PositiveDuration::seconds::<15>(),
            drop_on_errors: vec![DataError::NotFound],
            debounce: None,
            shrink_guard: None,
            backoff_base: PositiveDuration::millis::<500>(),
            backoff_max: Duration::from_secs(30),
            answer_timeout: None,
            stable_after: Duration::from_secs(10),
            shared_versions: false,
            max_response_size: ByteSize::mib::<128>(),
            nack_upstream: NackUpstream::Never,
            prefetch: Vec::new(),
        }
    }
}

impl General {
    /// How long a new stream may take to answer before other endpoints are tried beside it.
    pub fn answer_timeout(&self) -> PositiveDuration {
        self.answer_timeout.unwrap_or_else(|| self.does_not_exist_timeout.two_thirds())
    }

    pub(super) fn check(&self, findings: &mut Findings) {
        if self.endpoints.is_empty() {
            findings.add("endpoints", "must have at least one endpoint (got [])");
        }
        let (max, base) = (self.backoff_max, self.backoff_base);
        if max < base.get() {
            findings
                .add("backoff_max", format!("must be at least backoff_base, which is {base} (got {max:?})"));
        }
        let (answer, missing) = (self.answer_timeout(), self.does_not_exist_timeout);
        if self.endpoints.len() > 1 && answer >= missing {
            let message = format!(
                "must be shorter than does_not_exist_timeout, which is {missing} (got {answer}): resources would \
                 count as missing before other endpoints are asked"
            );
            findings.add("answer_timeout", message);
        }
        if let Some(debounce) = &self.debounce {
            debounce.check(findings);
        }
        match &self.tls {
            Some(tls) if self.has_https() => tls.check(findings),
            Some(_) => findings.add("tls", "applies only to endpoints that are https://"),
            None => {}
        }
        self.check_prefetch(findings);
        credentials::check(self, findings);
    }

    fn has_https(&self) -> bool {
        self.endpoints.iter().any(|uri| uri.scheme_str() == Some("https"))
    }

    pub(super) fn resolve(&mut self, directory: &Path) {
        self.answer_timeout = Some(self.answer_timeout());
        if self.has_https() {
            let tls = self.tls.get_or_insert_default();
            resolve(directory, tls.ca.iter_mut().chain(&mut tls.certificate).chain(&mut tls.key));
        }
        resolve(directory, &mut self.token_file);
    }
}
