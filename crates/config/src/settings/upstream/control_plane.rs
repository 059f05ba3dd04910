//! A control plane as an upstream: which parts it has.

use serde::{Deserialize, Serialize};

use super::{Exchange, General, ParameterStreams, Polling, Streaming};
use crate::findings::Findings;
use crate::parts::Parts;
use crate::sections::{Broken, Read};
use crate::settings::Node;
use crate::values::{NackUpstream, Percent, PositiveDuration, Protocol};

/// A control plane.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ControlPlane {
    /// What its other keys depend on.
    #[serde(flatten)]
    pub modes: Modes,
    /// What every control plane has.
    #[serde(flatten)]
    pub general: General,
    /// Its streams or polls, by [`Modes::protocol`].
    #[serde(flatten)]
    pub exchange: Exchange,
    /// The streams for parameter sets; for [`DynamicParameters::Streams`].
    #[serde(flatten)]
    pub parameters: Option<ParameterStreams>,
    /// When subscribers have accepted a response; for [`Acknowledge::AfterSubscribers`].
    #[serde(flatten)]
    pub after_subscribers: Option<AfterSubscribers>,
}

/// The choices that other keys depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Modes {
    /// The protocol of the control plane.
    pub protocol: Protocol,
    /// How dynamic parameters are sent to it.
    pub dynamic_parameters: DynamicParameters,
    /// When its responses are ACKed.
    pub acknowledge: Acknowledge,
}

/// How dynamic parameters are sent to a control plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DynamicParameters {
    /// By locators (TP2).
    Native,
    /// By a stream, with a `Node` of its own, for each distinct set of them.
    #[default]
    Streams,
}

/// When responses of a control plane are ACKed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Acknowledge {
    /// Once they are applied.
    #[default]
    OnReceipt,
    /// Once the subscribers that they concern have accepted them.
    AfterSubscribers,
}

/// When subscribers have accepted a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct AfterSubscribers {
    /// How many of them are waited for.
    #[serde(rename = "acknowledge_share")]
    pub share: Percent,
    /// How long they are waited for.
    #[serde(rename = "acknowledge_deadline")]
    pub deadline: PositiveDuration,
}

impl Default for AfterSubscribers {
    fn default() -> Self {
        Self { share: Percent::of::<100>(), deadline: PositiveDuration::seconds::<5>() }
    }
}

const ONLY_AFTER_SUBSCRIBERS: &str = "applies only with acknowledge = \"after-subscribers\"";

impl ControlPlane {
    pub(super) fn read(parts: &mut Parts<'_, '_>) -> Read<Self> {
        let general = parts.read::<General>();
        let Ok(modes) = parts.read::<Modes>() else {
            // It is not known what applies.
            Self::skip(parts);
            return Err(Broken);
        };
        let exchange = if modes.protocol == Protocol::Rest {
            parts.reject::<Streaming>("does not apply to protocol = \"rest\"");
            parts.read().map(Exchange::Polling)
        } else {
            parts.reject::<Polling>("applies only with protocol = \"rest\"");
            parts.read().map(Exchange::Streaming)
        };
        let has_streams = modes.dynamic_parameters == DynamicParameters::Streams;
        let mut parameters: Read<Option<ParameterStreams>> =
            parts.read_if(has_streams, "applies only with dynamic_parameters = \"streams\"");
        let waits = modes.acknowledge == Acknowledge::AfterSubscribers;
        let after_subscribers = parts.read_if(waits, ONLY_AFTER_SUBSCRIBERS);
        let mut findings = parts.findings();
        if let Ok(general) = &general {
            check(modes, general, &mut findings);
            match &mut parameters {
                Ok(Some(parameters)) => parameters.node.header_values = general.header_values(),
                Ok(None) => general.check_unfilled_headers(&mut findings),
                Err(Broken) => {}
            }
        }
        if let Ok(Some(parameters)) = &parameters {
            let prefetch = general.as_ref().map_or(&[][..], |general| &general.prefetch);
            parameters.check_keys(&mut findings);
            parameters.node.check_forward(prefetch, &mut findings);
        }
        parts.report(findings);
        Ok(Self {
            modes,
            general: general?,
            exchange: exchange?,
            parameters: parameters?,
            after_subscribers: after_subscribers?,
        })
    }

    /// Reports what does not go with the authority, and with the keys of parameters once these are filled in.
    pub(super) fn check(
        &mut self,
        authority: &str,
        derived_from: Option<(&Node, &[String])>,
        findings: &mut Findings,
    ) {
        let prefetch = &self.general.prefetch;
        for (i, entry) in prefetch.iter().enumerate() {
            entry.check(i, authority, findings);
        }
        if let (Some(parameters), Some((node, rule_keys))) = (&mut self.parameters, derived_from) {
            parameters.derive(node, rule_keys);
            parameters.check(prefetch, findings);
        }
    }

    /// Reports every key of a control plane.
    pub(super) fn reject(parts: &mut Parts<'_, '_>) {
        const REASON: &str = "does not apply to files; it belongs to endpoints";
        parts.reject::<General>(REASON);
        parts.reject::<Modes>(REASON);
        parts.reject::<Streaming>(REASON);
        parts.reject::<Polling>(REASON);
        parts.reject::<ParameterStreams>(REASON);
        parts.reject::<AfterSubscribers>(REASON);
    }

    /// Leaves out every key of a control plane.
    pub(super) fn skip(parts: &mut Parts<'_, '_>) {
        parts.skip::<General>();
        parts.skip::<Modes>();
        parts.skip::<Streaming>();
        parts.skip::<Polling>();
        parts.skip::<ParameterStreams>();
        parts.skip::<AfterSubscribers>();
    }
}

/// Reports what does not go together.
fn check(modes: Modes, general: &General, findings: &mut Findings) {
    general.check(findings);
    match modes.acknowledge {
        Acknowledge::OnReceipt if general.nack_upstream != NackUpstream::Never => {
            findings.add("nack_upstream", ONLY_AFTER_SUBSCRIBERS);
        }
        Acknowledge::AfterSubscribers if general.debounce.is_some() => {
            findings.add("debounce", "applies only with acknowledge = \"on-receipt\"");
        }
        Acknowledge::OnReceipt | Acknowledge::AfterSubscribers => {}
    }
}
