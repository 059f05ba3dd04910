//! Resources as they are shown.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use weir_database::survey::{self, HeldVariant};
use weir_types::{Absence, Form, Reach, TypeUrl};
use weir_wire::json::{any_to_json, constraints_to_json};
use weir_wire::redact::redacted;

/// What there is of a name.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Resource {
    /// `cds`, `lds`, …; `other` for types that Weir does not know.
    #[serde(rename = "type")]
    short_name: &'static str,
    /// The type's URL.
    type_url: String,
    /// The name.
    name: String,
    /// The variants, in the order in which they are preferred by those who ask for the name; none where it is only
    /// asked for.
    variants: Vec<Variant>,
    /// The distinct dynamic parameters for which it is asked for by name.
    asked: Vec<Asked>,
}

/// What there is of a name, with the bodies.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Detail {
    #[serde(flatten)]
    resource: Resource,
    /// The body of each variant, in the same order, as JSON and without secrets; null where there is none.
    bodies: Vec<Value>,
}

/// A variant.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Variant {
    /// For whom it is, as in `env=prod and zone exists`, or `anyone`.
    pub(super) constraints: String,
    /// The same, in the form of a resource file; null for anyone.
    dynamic_parameter_constraints: Value,
    /// How it came: `named`, for somebody who asked for it; `wildcard`; `local`, from files.
    reach: &'static str,
    /// The version that clients that ask by plain name are sent.
    version: String,
    /// The version that clients that ask by locator are sent.
    located_version: String,
    /// The version that upstream gave it.
    upstream_version: String,
    /// The length of its body, in bytes.
    size: usize,
    /// Other names that it answers to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    aliases: Vec<String>,
    /// How long it lives without being refreshed, in seconds; null if it does so until further notice.
    ttl_seconds: Option<f64>,
    /// What is left of that.
    remaining_seconds: Option<f64>,
    /// Whether that is over, so that no client is sent it.
    expired: bool,
    /// How many subscriptions of streams show it.
    subscribers: usize,
}

/// What it comes to for some dynamic parameters.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Asked {
    /// Which ones.
    parameters: BTreeMap<String, String>,
    /// How many streams ask so.
    streams: usize,
    /// The constraints of the variant that they get; null if they get none.
    served: Option<String>,
    /// What is known where they get none: `unknown`, `timed-out` (upstream did not answer), `absent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) absence: Option<&'static str>,
    /// The error that upstream reports for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Resource {
    pub(super) fn of(type_url: &TypeUrl, resource: survey::Resource) -> Self {
        Self {
            short_name: type_url.short_name(),
            type_url: type_url.to_string(),
            name: resource.name.to_string(),
            variants: resource.variants.iter().map(Variant::of).collect(),
            asked: resource.asked.into_iter().map(Asked::of).collect(),
        }
    }
}

impl Detail {
    pub(super) fn of(type_url: &TypeUrl, resource: survey::Resource) -> Self {
        let body = |held: &HeldVariant| {
            let body = held.variant.content().body.as_ref();
            body.map_or(Value::Null, |body| any_to_json(&redacted(body)))
        };
        let bodies = resource.variants.iter().map(body).collect();
        Self { resource: Resource::of(type_url, resource), bodies }
    }
}

impl Variant {
    pub(super) fn of(held: &HeldVariant) -> Self {
        let (variant, content) = (&held.variant, held.variant.content());
        let seconds = |time: Duration| time.as_millis() as f64 / 1000.0;
        Self {
            constraints: variant.key().constraints.to_string(),
            dynamic_parameter_constraints: constraints_to_json(&variant.key().constraints),
            reach: match held.reach {
                Reach::Named => "named",
                Reach::Wildcard => "wildcard",
                Reach::Local => "local",
            },
            version: variant.version(Form::Plain).to_string(),
            located_version: variant.version(Form::Located).to_string(),
            upstream_version: content.upstream_version.to_string(),
            size: content.body.as_ref().map_or(0, |body| body.len()),
            aliases: content.aliases.iter().map(ToString::to_string).collect(),
            ttl_seconds: content.ttl.map(seconds),
            remaining_seconds: variant.remaining(Instant::now()).map(seconds),
            expired: held.expired,
            subscribers: held.subscribers,
        }
    }
}

impl Asked {
    pub(super) fn of(asked: survey::Asked) -> Self {
        let absence = match asked.absence {
            Absence::Unknown => "unknown",
            Absence::TimedOut => "timed-out",
            Absence::Known => "absent",
        };
        let error = |error: &weir_types::ResourceError| format!("{}: {}", error.code, error.message);
        let served = asked.served.map(|constraints| constraints.to_string());
        Self {
            parameters: asked.parameters.to_pairs(),
            streams: asked.streams,
            absence: served.is_none().then_some(absence),
            served,
            error: asked.error.as_deref().map(error),
        }
    }
}
