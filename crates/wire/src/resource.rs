//! Resources from the wire: the wrapper is taken apart, the body is not.
//!
//! Only what the transport defines is read, with two exceptions: the name of the endpoints that an EDS cluster
//! waits for, and whether an assignment has endpoints. Everything else stays byte for byte as upstream sent it, and is copied out of the receive
//! buffer, which would otherwise live as long as its smallest resource.

mod endpoints;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use weir_types::xdstp::{self, MalformedName};
use weir_types::{Breadth, ConstraintError, Constraints, Content, Kind, Name, TypeUrl, Variant, VariantKey};

use self::endpoints::{eds_name, has_endpoints};
use crate::discovery::ResourceName;
use crate::locator;
use crate::scan::{Field, ScanError, fields};

/// The longest acceptable resource name or alias, in bytes.
pub(crate) const MAX_NAME_LENGTH: usize = 4096;

/// The type URL of the wrapper when it travels in an `Any`.
pub const RESOURCE_TYPE_URL: &str = "type.googleapis.com/envoy.service.discovery.v3.Resource";

/// The type URL of what stands in the place of a resource that is somewhere else.
const REDIRECT_TYPE_URL: &str = "type.googleapis.com/xds.core.v3.ResourceLocator";

/// A resource that cannot be accepted; displayed, it is one clause of a NACK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// The resource's name, as far as it could be read.
    pub name: Option<Name>,
    /// What is wrong with it.
    pub reason: Reason,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{name}: {}", self.reason),
            None => write!(f, "resource without a usable name: {}", self.reason),
        }
    }
}

impl std::error::Error for Rejected {}

/// What is wrong with a resource.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// It is not a protobuf message of its type.
    #[error("malformed: {0}")]
    Malformed(#[from] ScanError),
    /// Its `resource_name` cannot be decoded.
    #[error("malformed resource_name: {0}")]
    MalformedName(prost::DecodeError),
    /// There is no name, or an empty one.
    #[error("the name is empty")]
    NoName,
    /// The name is that of a collection.
    #[error("a resource cannot have the name of a wildcard or a glob collection")]
    CollectionName,
    /// The name is not what it seems to be.
    #[error(transparent)]
    Name(#[from] MalformedName),
    /// A name or alias is too long.
    #[error("a name of {length} bytes is over the limit of {MAX_NAME_LENGTH}")]
    NameTooLong {
        /// In bytes.
        length: usize,
    },
    /// `name` and `resource_name` are both set, and they differ.
    #[error("both name and resource_name are set")]
    TwoNames,
    /// The body is of another type than the response.
    #[error("the body is of type {found:?}, the response of {wanted}")]
    WrongType {
        /// Of the body.
        found: String,
        /// Of the response.
        wanted: TypeUrl,
    },
    /// Resources of this type do not carry their name.
    #[error("a resource of this type needs the Resource wrapper")]
    NeedsWrapper,
    /// The time to live is negative or out of range.
    #[error("the ttl is out of range")]
    Ttl,
    /// The constraints are unacceptable.
    #[error(transparent)]
    Constraints(#[from] ConstraintError),
}

/// The variant in an encoded `Resource` message. `version` is used where the message has none of its own.
///
/// # Errors
/// When the resource cannot be accepted; nothing is known of its variant but perhaps the name.
pub fn decode(resource: &[u8], type_url: &TypeUrl, version: &str) -> Result<Variant, Rejected> {
    decode_among(&mut Bodies::default(), resource, type_url, version)
}

/// The variant in an encoded `Any` of a state-of-the-world response: wrapped or bare. A bare resource has the
/// response's `version`.
///
/// # Errors
/// As [`decode`].
pub fn decode_any(any: &[u8], type_url: &TypeUrl, version: &str) -> Result<Variant, Rejected> {
    decode_any_among(&mut Bodies::default(), any, type_url, version)
}

/// The bodies that were copied out of one response, each name's latest: a hundred variants of one content,
/// as a control plane sends them, are copied once.
#[derive(Debug, Default)]
pub struct Bodies(HashMap<Name, Bytes>);

impl Bodies {
    /// A copy of `body`, which belongs to `name`.
    fn copy(&mut self, name: &Name, body: &[u8]) -> Bytes {
        match self.0.get(name).filter(|copied| **copied == body) {
            Some(copied) => copied.clone(),
            None => {
                let copied = Bytes::copy_from_slice(body);
                self.0.insert(name.clone(), copied.clone());
                copied
            }
        }
    }
}

/// As [`decode`], of a response that `bodies` were copied out of.
///
/// # Errors
/// As [`decode`].
pub fn decode_among(
    bodies: &mut Bodies,
    resource: &[u8],
    type_url: &TypeUrl,
    version: &str,
) -> Result<Variant, Rejected> {
    let mut wrapper = Wrapper::default();
    let result = wrapper.read(resource).and_then(|()| wrapper.variant(bodies, type_url, version));
    result.map_err(|reason| Rejected { name: wrapper.known_name(), reason })
}

/// As [`decode_any`], of a response that `bodies` were copied out of.
///
/// # Errors
/// As [`decode`].
pub fn decode_any_among(
    bodies: &mut Bodies,
    any: &[u8],
    type_url: &TypeUrl,
    version: &str,
) -> Result<Variant, Rejected> {
    let (found, value) = open_any(any).map_err(|error| Rejected { name: None, reason: error.into() })?;
    if found == RESOURCE_TYPE_URL {
        return decode_among(bodies, value, type_url, version);
    }
    let name = bare_name(value);
    let reject = |reason| Err(Rejected { name: name.clone().ok().flatten(), reason });
    if found != type_url.as_str() {
        return reject(Reason::WrongType { found: found.to_owned(), wanted: type_url.clone() });
    }
    let is_list = type_url.as_str().ends_with("Collection");
    if is_list || matches!(type_url.kind(), Kind::VirtualHost | Kind::LbEndpoint) {
        return reject(Reason::NeedsWrapper);
    }
    match name.clone() {
        Err(error) => reject(error),
        Ok(None) => reject(Reason::NoName),
        Ok(Some(name)) => {
            let content = Content {
                body: Some(bodies.copy(&name, any)),
                upstream_version: version.into(),
                eds_name: eds_name(type_url, value),
                has_endpoints: has_endpoints(type_url, value),
                ..Content::default()
            };
            Ok(Variant::new(VariantKey::new(name, Constraints::unconstrained()), content))
        }
    }
}

/// The type URL and the value of an encoded `Any`.
///
/// # Errors
/// When it is malformed.
pub fn open_any(any: &[u8]) -> Result<(&str, &[u8]), ScanError> {
    let (mut type_url, mut value) = ("", &[][..]);
    for field in fields(any) {
        let field = field?;
        match field.number {
            1 => type_url = field.text()?,
            2 => value = field.bytes()?,
            _ => {}
        }
    }
    Ok((type_url, value))
}

/// The name of the resource in an encoded `Any`, wrapped or bare, as far as it can be read: for messages.
pub(crate) fn name_in_any(any: &[u8]) -> Option<Name> {
    let (type_url, value) = open_any(any).ok()?;
    if type_url == RESOURCE_TYPE_URL {
        let mut wrapper = Wrapper::default();
        // What comes after the name does not matter here.
        _ = wrapper.read(value);
        return wrapper.known_name();
    }
    let first = fields(value).map_while(Result::ok).find(|field| field.number == 1)?;
    checked_name(first.text().ok()?).ok()
}

/// The name that a resource carries in itself: field 1 in all types that may travel bare.
fn bare_name(value: &[u8]) -> Result<Option<Name>, Reason> {
    let mut name = None;
    for field in fields(value) {
        let field = field?;
        if field.number == 1 {
            name = Some(checked_name(field.text()?)?);
        }
    }
    Ok(name)
}

fn checked_name(name: &str) -> Result<Name, Reason> {
    match name.len() {
        0 => Err(Reason::NoName),
        length if length > MAX_NAME_LENGTH => Err(Reason::NameTooLong { length }),
        _ => {
            let name = xdstp::canonical(name)?;
            let collection = Breadth::of(&name) != Breadth::Name;
            if collection { Err(Reason::CollectionName) } else { Ok(name.into()) }
        }
    }
}

/// The fields of a `Resource` message.
#[derive(Default)]
struct Wrapper<'a> {
    version: &'a str,
    name: &'a str,
    resource_name: Option<ResourceName>,
    aliases: Vec<&'a str>,
    body: Option<&'a [u8]>,
    ttl: Option<Duration>,
    do_not_cache: bool,
    extra: Vec<u8>,
}

impl<'a> Wrapper<'a> {
    fn read(&mut self, resource: &'a [u8]) -> Result<(), Reason> {
        for field in fields(resource) {
            let field: Field<'a> = field?;
            match field.number {
                1 => self.version = field.text()?,
                2 => self.body = Some(field.bytes()?),
                3 => self.name = field.text()?,
                4 => self.aliases.push(field.text()?),
                6 => self.ttl = Some(duration(field.bytes()?)?),
                8 => {
                    let name = ResourceName::decode(field.bytes()?).map_err(Reason::MalformedName)?;
                    self.resource_name = Some(name);
                }
                7 => {
                    self.do_not_cache = forbids_caching(field.bytes()?, self.do_not_cache)?;
                    self.extra.extend_from_slice(field.raw);
                }
                _ => self.extra.extend_from_slice(field.raw),
            }
        }
        Ok(())
    }

    fn known_name(&self) -> Option<Name> {
        let located = self.resource_name.as_ref().map_or("", |name| name.name.as_str());
        checked_name(if self.name.is_empty() { located } else { self.name }).ok()
    }

    fn variant(&self, bodies: &mut Bodies, type_url: &TypeUrl, version: &str) -> Result<Variant, Reason> {
        let key = self.key()?;
        let aliases = self.aliases.iter().map(|alias| checked_name(alias)).collect::<Result<Vec<_>, _>>()?;
        let value = self.body.map(|body| body_of(body, type_url)).transpose()?;
        let version = if self.version.is_empty() { version } else { self.version };
        let content = Content {
            body: self.body.map(|body| bodies.copy(&key.name, body)),
            aliases: Arc::from(aliases),
            ttl: self.ttl,
            extra: Bytes::from(self.extra.clone()),
            do_not_cache: self.do_not_cache,
            upstream_version: version.into(),
            eds_name: value.and_then(|value| eds_name(type_url, value)),
            has_endpoints: value.and_then(|value| has_endpoints(type_url, value)),
        };
        Ok(Variant::new(key, content))
    }

    fn key(&self) -> Result<VariantKey, Reason> {
        match &self.resource_name {
            None => Ok(VariantKey::new(checked_name(self.name)?, Constraints::unconstrained())),
            Some(_) if !self.name.is_empty() => Err(Reason::TwoNames),
            Some(located) => {
                let name = checked_name(&located.name)?;
                Ok(VariantKey { name, ..locator::decode_name(located)? })
            }
        }
    }
}

/// The value of a wrapped body, which has to be of the response's type; or state where the resource is, or be a
/// list of resources of that type (xRFC TP1, "Server redirects", "List").
fn body_of<'a>(any: &'a [u8], type_url: &TypeUrl) -> Result<&'a [u8], Reason> {
    let (found, value) = open_any(any)?;
    if found == type_url.as_str() {
        return Ok(value);
    }
    let is_list = found.strip_suffix("Collection").is_some_and(|entry| entry == type_url.as_str());
    match is_list || found == REDIRECT_TYPE_URL {
        // It is no resource of the type.
        true => Ok(&[]),
        false => Err(Reason::WrongType { found: found.to_owned(), wanted: type_url.clone() }),
    }
}

/// The meaning of a `CacheControl` after an earlier one of the same resource that meant `before`: parts of a message that
/// comes in parts are merged.
fn forbids_caching(cache_control: &[u8], before: bool) -> Result<bool, Reason> {
    let mut forbids = before;
    for field in fields(cache_control) {
        let field = field?;
        if field.number == 1 {
            forbids = field.varint()? != 0;
        }
    }
    Ok(forbids)
}

fn duration(message: &[u8]) -> Result<Duration, Reason> {
    let (mut seconds, mut nanos) = (0, 0);
    for field in fields(message) {
        let field = field?;
        match field.number {
            1 => seconds = field.varint()?,
            2 => nanos = field.varint()?,
            _ => {}
        }
    }
    // Negative numbers are varints with the highest bit set.
    let nanos = u32::try_from(nanos).ok().filter(|nanos| *nanos < 1_000_000_000).ok_or(Reason::Ttl)?;
    i64::try_from(seconds).map_err(|_| Reason::Ttl)?;
    Ok(Duration::new(seconds, nanos))
}

#[cfg(test)]
mod tests;
