//! Responses as bytes: the whole gRPC frame at once, ready to be sent to any number of streams.
//!
//! The fast path of fan-out. Lengths are worked out first, so that every resource is copied exactly once,
//! from the database into the one buffer that all streams share. What a plain encoder would make of the same
//! response decodes to the same message (a property test holds that).

mod wrapper;

use std::sync::Arc;
use std::time::Instant;

use bytes::{BufMut, Bytes, BytesMut};
use prost::Message;
use weir_types::{Code, Constraints, Form, TypeUrl, Variant, Version};

pub use self::wrapper::as_received;
pub(crate) use self::wrapper::{Wrapper, resource_name};
use crate::constraints;
use crate::discovery::{ResourceError, ResourceName, Status};
use crate::resource::RESOURCE_TYPE_URL;

/// The length of a gRPC frame's header: a flag, and the length of the message.
pub(crate) const HEADER: usize = 5;

/// The content of a response, in either dialect.
#[derive(Debug)]
pub struct Response<'a> {
    /// The type of its resources.
    pub type_url: &'a TypeUrl,
    /// Unique per stream and type.
    pub nonce: &'a str,
    /// Of what the client has with it.
    pub version: Version,
    /// The `control_plane.identifier`.
    pub control_plane: &'a str,
    /// What is new or different.
    pub resources: &'a [(Arc<Variant>, Form)],
    /// What is as it was, and lives on: sent by name and version only, in the incremental dialect.
    pub heartbeats: &'a [(Arc<Variant>, Form)],
    /// Resources that are gone, by plain name. In state of the world it is an error of the resource.
    pub removed: &'a [&'a str],
    /// Variants that are gone, or names of locators that nothing matches. In state of the world it is an
    /// error of the resource.
    pub removed_variants: &'a [(&'a str, Option<&'a Constraints>)],
    /// Resources that cannot be delivered.
    pub errors: &'a [Failing<'a>],
    /// State of the world: whether each resource is wrapped in a `Resource`.
    pub wrapped: bool,
    /// When it is sent: from then on clients count down times to live. None for clients that are sent none.
    pub at: Option<Instant>,
}

/// A resource that cannot be delivered.
#[derive(Clone, Copy, Debug)]
pub struct Failing<'a> {
    /// What was asked for.
    pub name: &'a str,
    /// Which variants it is about; none for clients that asked by plain name.
    pub constraints: Option<&'a Constraints>,
    /// What kind of error it is.
    pub code: Code,
    /// What is wrong.
    pub message: &'a str,
}

impl Response<'_> {
    /// A framed `DeltaDiscoveryResponse`.
    pub fn delta(&self) -> Bytes {
        let whole = self.resources.iter().map(|(v, form)| Wrapper::new(v, *form, self.at));
        let heartbeats = self.heartbeats.iter().map(|(v, form)| Wrapper::heartbeat(v, *form, self.at));
        let resources: Vec<_> = whole.chain(heartbeats).map(Item::Wrapper).collect();
        let gone: Vec<_> = self.removed_variants.iter().map(|(name, c)| resource_name(name, *c)).collect();
        let removed = self.removed.iter().map(|name| (6, name.as_bytes()));
        let errors: Vec<_> = self.errors.iter().map(resource_error).collect();
        let gone = gone.iter().map(|name| (8, &**name));
        let rest: Vec<_> = removed.chain(gone).chain(errors.iter().map(|error| (9, &**error))).collect();
        self.frame(&resources, 7, &rest)
    }

    /// A framed `DiscoveryResponse`.
    pub fn sotw(&self) -> Bytes {
        let resources: Vec<_> = self.resources.iter().map(|(v, form)| self.any(v, *form)).collect();
        let gone = self.removed_variants.iter().map(|(name, c)| not_found(name, *c));
        let gone = self.removed.iter().map(|name| not_found(name, None)).chain(gone);
        let errors: Vec<_> = gone.chain(self.errors.iter().map(resource_error)).collect();
        let rest: Vec<_> = errors.iter().map(|error| (7, &**error)).collect();
        self.frame(&resources, 6, &rest)
    }

    /// Both dialects number their first fields alike; then come the control plane, whose number differs, and
    /// what else there is to send, by number.
    fn frame(&self, resources: &[Item<'_>], control_plane: u8, rest: &[(u8, &[u8])]) -> Bytes {
        let version = self.version.to_string();
        let length = field(version.len())
            + resources.iter().map(|r| field(r.length())).sum::<usize>()
            + field(self.type_url.as_str().len())
            + field(self.nonce.len())
            + field(field(self.control_plane.len()))
            + rest.iter().map(|(_, bytes)| field(bytes.len())).sum::<usize>();
        let mut out = Out::new(length);
        out.bytes(1, version.as_bytes());
        for resource in resources {
            out.head(2, resource.length());
            resource.write(&mut out);
        }
        out.bytes(4, self.type_url.as_str().as_bytes());
        out.bytes(5, self.nonce.as_bytes());
        out.head(control_plane, field(self.control_plane.len()));
        out.bytes(1, self.control_plane.as_bytes());
        rest.iter().for_each(|(number, bytes)| out.bytes(*number, bytes));
        out.finish()
    }

    fn has_ttl(&self, variant: &Variant) -> bool {
        self.at.is_some() && variant.content().ttl.is_some()
    }

    /// A time to live, constraints and a missing body can only be in the wrapper.
    pub(crate) fn any<'a>(&self, variant: &'a Variant, form: Form) -> Item<'a> {
        match &variant.content().body {
            Some(body) if !self.wrapped && form == Form::Plain && !self.has_ttl(variant) => Item::Bare(body),
            _ => Item::Wrapped(Wrapper::new(variant, form, self.at)),
        }
    }
}

/// One resource of a response.
pub(crate) enum Item<'a> {
    /// State of the world: an `Any`, as it came from upstream.
    Bare(&'a [u8]),
    /// State of the world: a `Resource` in an `Any`.
    Wrapped(Wrapper<'a>),
    /// Incremental: a `Resource`.
    Wrapper(Wrapper<'a>),
}

impl Item<'_> {
    pub(crate) fn length(&self) -> usize {
        match self {
            Self::Bare(body) => body.len(),
            Self::Wrapped(wrapper) => field(RESOURCE_TYPE_URL.len()) + field(wrapper.length),
            Self::Wrapper(wrapper) => wrapper.length,
        }
    }

    fn write(&self, out: &mut Out) {
        match self {
            Self::Bare(body) => out.0.put_slice(body),
            Self::Wrapped(wrapper) => {
                out.bytes(1, RESOURCE_TYPE_URL.as_bytes());
                out.head(2, wrapper.length);
                wrapper.write(out);
            }
            Self::Wrapper(wrapper) => wrapper.write(out),
        }
    }
}

/// A `ResourceError` that states that there is no such resource.
pub(crate) fn not_found(name: &str, constraints: Option<&Constraints>) -> Vec<u8> {
    let message = "the resource does not exist, or no variant of it matches";
    resource_error(&Failing { name, constraints, code: Code::NOT_FOUND, message })
}

pub(crate) fn resource_error(failing: &Failing<'_>) -> Vec<u8> {
    ResourceError {
        resource_name: Some(ResourceName {
            name: failing.name.to_owned(),
            dynamic_parameter_constraints: failing.constraints.and_then(constraints::encode),
        }),
        error_detail: Some(Status { code: failing.code.0, message: failing.message.to_owned() }),
    }
    .encode_to_vec()
}

/// The length of a length-delimited field with a one-byte tag.
pub(crate) fn field(length: usize) -> usize {
    1 + prost::length_delimiter_len(length) + length
}

/// A frame that is being written.
struct Out(BytesMut);

impl Out {
    fn new(message: usize) -> Self {
        let mut buffer = BytesMut::with_capacity(HEADER + message);
        buffer.put_u8(0);
        // A frame cannot be larger than 4 GiB; such a response fails at the client's limit, not here.
        buffer.put_u32(u32::try_from(message).unwrap_or(u32::MAX));
        Self(buffer)
    }

    /// The tag and length of a length-delimited field.
    fn head(&mut self, number: u8, length: usize) {
        self.0.put_u8(number << 3 | 2);
        let mut rest = length;
        while rest >= 0x80 {
            self.0.put_u8(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.0.put_u8(rest as u8);
    }

    fn bytes(&mut self, number: u8, bytes: &[u8]) {
        self.head(number, bytes.len());
        self.0.put_slice(bytes);
    }

    fn finish(self) -> Bytes {
        self.0.freeze()
    }
}

#[cfg(test)]
mod tests;
