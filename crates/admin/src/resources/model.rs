//! Resources as they are shown.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use weir_database::introspect::{self, HeldVariant};
use weir_types::{Absence, Form, Provenance, TypeUrl};
use weir_wire::json::{any_to_json, constraints_to_json};
use weir_wire::redact::redacted;

/// What there is of a name.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Resource {
    /// `cds`, `lds`, …; `other` for types that Weir does not know.
    #[serde(rename = "type")]
    #[schema(value_type = String)]
    pub short_name: Cow<'static, str>,
    /// The type's URL.
    pub type_url: String,
    /// The name.
    pub name: String,
    /// The variants, in the order in which they are preferred by those who ask for the name; none where it is only
    /// asked for.
    pub variants: Vec<ResourceVariant>,
    /// The distinct dynamic parameters for which it is asked for by name.
    pub asked: Vec<AskedResource>,
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
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Variant)]
pub struct ResourceVariant {
    /// For whom it is, as in `env=prod and zone exists`, or `anyone`.
    pub constraints: String,
    /// The same, in the form of a resource file; null for anyone.
    pub dynamic_parameter_constraints: Value,
    /// How it came: `named`, for somebody who asked for it; `wildcard`; `local`, from files.
    #[schema(value_type = String)]
    pub reach: Cow<'static, str>,
    /// The version that clients that ask by plain name are sent.
    pub version: String,
    /// The version that clients that ask by locator are sent.
    pub located_version: String,
    /// The version that upstream gave it.
    pub upstream_version: String,
    /// The length of its body, in bytes.
    pub size: usize,
    /// Other names that it answers to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// How long it lives without being refreshed, in seconds; null if it does so until further notice.
    pub ttl_seconds: Option<f64>,
    /// What is left of that.
    pub remaining_seconds: Option<f64>,
    /// Whether that is over, so that no client is sent it.
    pub expired: bool,
    /// How many subscriptions of streams show it.
    pub subscribers: usize,
}

/// What it comes to for some dynamic parameters.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Asked)]
pub struct AskedResource {
    /// Which ones.
    pub parameters: BTreeMap<String, String>,
    /// How many streams ask so.
    pub streams: usize,
    /// The constraints of the variant that they get; null if they get none.
    pub served: Option<String>,
    /// What is known where they get none: `unknown`, `timed-out` (upstream did not answer), `absent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub absence: Option<Cow<'static, str>>,
    /// The error that upstream reports for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Resource {
    pub(super) fn of(type_url: &TypeUrl, resource: introspect::Resource) -> Self {
        Self {
            short_name: type_url.short_name().into(),
            type_url: type_url.to_string(),
            name: resource.name.to_string(),
            variants: resource.variants.iter().map(ResourceVariant::of).collect(),
            asked: resource.asked.into_iter().map(AskedResource::of).collect(),
        }
    }
}

impl Detail {
    pub(super) fn of(type_url: &TypeUrl, resource: introspect::Resource) -> Self {
        let body = |held: &HeldVariant| {
            let body = held.variant.content().body.as_ref();
            body.map_or(Value::Null, |body| any_to_json(&redacted(body)))
        };
        let bodies = resource.variants.iter().map(body).collect();
        Self { resource: Resource::of(type_url, resource), bodies }
    }
}

impl ResourceVariant {
    pub(super) fn of(held: &HeldVariant) -> Self {
        let (variant, content) = (&held.variant, held.variant.content());
        let seconds = |time: Duration| time.as_millis() as f64 / 1000.0;
        Self {
            constraints: variant.key().constraints.to_string(),
            dynamic_parameter_constraints: constraints_to_json(&variant.key().constraints),
            reach: Cow::Borrowed(match held.provenance {
                Provenance::Named => "named",
                Provenance::Wildcard => "wildcard",
                Provenance::Local => "local",
            }),
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

impl AskedResource {
    pub(super) fn of(asked: introspect::Asked) -> Self {
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
            absence: served.is_none().then_some(absence.into()),
            served,
            error: asked.error.as_deref().map(error),
        }
    }
}
