//! The forms that single values take.

use std::fmt;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize};
use weir_types::{NoSuchType, NodeField, Pattern, TypeUrl};

/// How an upstream is spoken to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// One aggregated stream, incremental.
    #[default]
    AdsDelta,
    /// One aggregated stream, state of the world.
    AdsSotw,
    /// A stream of its own service for each type, incremental.
    Delta,
    /// A stream of its own service for each type, state of the world.
    Sotw,
    /// Polls of each type over REST-JSON.
    Rest,
}

/// By the names of which generation of the API the services of an upstream are called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// Those of today.
    #[default]
    V3,
    /// Those of before 2021.
    V2,
}

/// When a control plane is told that a response is accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AcknowledgeMode {
    #[default]
    OnReceipt,
    AfterSubscribers,
}

/// Whether a control plane is told that subscribers have rejected a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NackUpstream {
    /// No.
    #[default]
    Never,
    /// When any of them has.
    Any,
    /// When so many percent of those that have answered have: 1 to 100.
    Percent(u8),
}

/// What becomes of clients that ask for what nobody knows yet, while there is nobody to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ColdStart {
    /// They wait.
    Hold,
    /// They are told by name that it cannot be had for the moment.
    Error,
    /// Their streams are closed if there is nothing to be said on them; otherwise as `Error`.
    Close,
}

/// A resource type, by short name or URL.
#[derive(Clone, Debug)]
pub(crate) struct ResourceType(pub(crate) TypeUrl);

impl FromStr for ResourceType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|error: NoSuchType| format!("{text:?} is no resource type; {error}"))
    }
}

/// An error of a resource that says something of the resource itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DataError {
    /// It does not exist.
    NotFound,
    /// Weir may not have it.
    PermissionDenied,
}

/// Who may ask for the status of clients (CSDS).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Csds {
    /// Nobody.
    Off,
    /// Whoever connects from the same machine.
    #[default]
    Loopback,
    /// Whoever may connect.
    Any,
}

/// When clients can be served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadyWhen {
    /// While every control plane is connected, and once each has answered what is subscribed to at the start.
    InSync,
    /// Also while a control plane is away, if something of it is held, in memory or in the store.
    #[default]
    Warm,
}

/// Whether clients show certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ClientCertificate {
    /// They must.
    Required,
    /// They may; what they show has to be good.
    Optional,
    /// They are not asked.
    None,
}

/// The least severe messages that are logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Level {
    Error,
    Warn,
    #[default]
    Info,
    Debug,
    Trace,
}

/// In which protocol a collector is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum CollectorProtocol {
    /// OTLP over gRPC.
    #[serde(rename = "grpc")]
    Grpc,
    /// OTLP as protobuf over HTTP.
    #[default]
    #[serde(rename = "http/protobuf")]
    HttpProtobuf,
}

/// How log messages are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text on a terminal, JSON otherwise.
    #[default]
    Auto,
    /// Lines for people.
    Text,
    /// An object a line.
    Json,
}

/// A value that is written as a string and has a form of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<T>(pub(crate) T);

/// A value with a form of its own.
pub(crate) trait Form: FromStr<Err: fmt::Display> {
    /// How it is written.
    const FORM: &str = "a string";
}

impl Form for Address {
    const FORM: &str = "a socket address like \"127.0.0.1:18000\"";
}

impl Form for CollectorEndpoint {}

impl Form for DurationText {
    const FORM: &str = "a duration like \"15s\"";
}

impl Form for Size {
    const FORM: &str = "a size like \"4MiB\"";
}

impl Form for Endpoint {
    const FORM: &str = "a URL like \"http://10.0.0.1:18000\"";
}

impl Form for NodeField {}

impl Form for Pattern {}

impl Form for Regex {}

impl Form for ResourceType {}

impl<'de, T: Form> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Parse<T>(PhantomData<T>);
        impl<T: Form> Visitor<'_> for Parse<T> {
            type Value = Text<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(T::FORM)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text<T>, E> {
                text.parse().map(Text).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Parse(PhantomData))
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct DurationText(pub(crate) Duration);

impl FromStr for DurationText {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = split_unit(text);
        let millis = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            _ => 0,
        };
        let total = number.parse().ok().and_then(|number: u64| number.checked_mul(millis));
        match total {
            Some(total) if millis > 0 => Ok(Self(Duration::from_millis(total))),
            _ => {
                Err(format!("{text:?} is not a duration; write it like \"15s\", \"500ms\", \"2m\" or \"1h\""))
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Size(pub(crate) usize);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = split_unit(text);
        let bytes = match unit {
            "B" => 1,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            _ => 0,
        };
        let total = number.parse().ok().and_then(|number: usize| number.checked_mul(bytes));
        match total {
            Some(total) if bytes > 0 => Ok(Self(total)),
            _ => Err(format!("{text:?} is not a size; write it like \"4MiB\" or \"512KiB\"")),
        }
    }
}

fn split_unit(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Address(pub(crate) SocketAddr);

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|_| {
            format!("{text:?} is not a socket address; write it like \"127.0.0.1:18000\" or \"[::]:18000\"")
        })
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Endpoint(pub(crate) http::Uri);

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = |why: &str| {
            Err(format!(
                "{text:?} is not an endpoint: {why}; write it like \"http://10.0.0.1:18000\" or \"https://cp.example:18000\""
            ))
        };
        let uri: http::Uri = match text.parse() {
            Ok(uri) => uri,
            Err(error) => return bad(&error.to_string()),
        };
        match uri.scheme_str() {
            Some("http" | "https") => {}
            Some(scheme) => return bad(&format!("the scheme {scheme:?} is not supported")),
            None => return bad("it has no scheme"),
        }
        match uri.authority() {
            Some(authority) if authority.as_str().contains('@') => bad("it has a user name"),
            Some(authority) if authority.host().is_empty() => bad("it has no host"),
            _ if uri.path() != "/" || uri.query().is_some() => bad("it has a path"),
            _ => Ok(Self(uri)),
        }
    }
}

/// Where a collector is.
#[derive(Clone, Debug)]
pub(crate) struct CollectorEndpoint(pub(crate) String);

impl FromStr for CollectorEndpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let uri: Option<http::Uri> = text.parse().ok();
        match uri.filter(|uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some()) {
            // What is secret would be shown with the configuration.
            Some(uri) if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) => Err(
                "a collector's address has no user name or password; OTEL_EXPORTER_OTLP_HEADERS is for those"
                    .to_owned(),
            ),
            Some(_) => Ok(Self(text.to_owned())),
            None => Err(format!(
                "{text:?} is not the address of a collector; write it like \"http://127.0.0.1:4318\""
            )),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Regex(pub(crate) regex::Regex);

impl FromStr for Regex {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        regex::Regex::new(text).map(Self).map_err(|error| {
            let error = error.to_string();
            let reason = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
            format!("{text:?} is not a regular expression: {reason}")
        })
    }
}
