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
use weir_types::{Constraints, Form, TypeUrl, Variant, Version};

use self::wrapper::{Wrapper, resource_name};
use crate::constraints;
use crate::discovery::{ResourceError, ResourceName, Status};
use crate::resource::RESOURCE_TYPE_URL;

/// The length of a gRPC frame's header: a flag, and the length of the message.
pub(crate) const HEADER: usize = 5;

/// gRPC's NOT_FOUND.
const NOT_FOUND: i32 = 5;

/// What a response says, in either dialect.
#[derive(Debug)]
pub struct Response<'a> {
    /// The type of its resources.
    pub type_url: &'a TypeUrl,
    /// Unique per stream and type.
    pub nonce: &'a str,
    /// Of what the client has with it.
    pub version: Version,
    /// Who says it.
    pub control_plane: &'a str,
    /// What is new or different.
    pub resources: &'a [(Arc<Variant>, Form)],
    /// What is as it was, and lives on: sent by name and version only, in the incremental dialect.
    pub heartbeats: &'a [(Arc<Variant>, Form)],
    /// Resources that are gone, by plain name. State of the world cannot say it.
    pub removed: &'a [&'a str],
    /// Variants that are gone, or names of locators that nothing matches. State of the world says it as an
    /// error of the resource.
    pub removed_variants: &'a [(&'a str, Option<&'a Constraints>)],
    /// State of the world: whether each resource is wrapped in a `Resource`.
    pub wrapped: bool,
    /// When it is said: from then on clients count down times to live. None for clients that are told of none.
    pub at: Option<Instant>,
}

impl Response<'_> {
    /// A framed `DeltaDiscoveryResponse`.
    pub fn delta(&self) -> Bytes {
        let whole = self.resources.iter().map(|(v, form)| Wrapper::new(v, *form, self.at));
        let heartbeats = self.heartbeats.iter().map(|(v, form)| Wrapper::heartbeat(v, *form, self.at));
        let resources: Vec<_> = whole.chain(heartbeats).map(Item::Wrapper).collect();
        let gone: Vec<_> = self.removed_variants.iter().map(|(name, c)| resource_name(name, *c)).collect();
        let removed = self.removed.iter().map(|name| (6, name.as_bytes()));
        let rest: Vec<_> = removed.chain(gone.iter().map(|name| (8, &**name))).collect();
        self.frame(&resources, 7, &rest)
    }

    /// A framed `DiscoveryResponse`.
    pub fn sotw(&self) -> Bytes {
        let resources: Vec<_> = self.resources.iter().map(|(v, form)| self.any(v, *form)).collect();
        let errors: Vec<_> = self.removed_variants.iter().map(|(name, c)| not_found(name, *c)).collect();
        let rest: Vec<_> = errors.iter().map(|error| (7, &**error)).collect();
        self.frame(&resources, 6, &rest)
    }

    /// Both dialects number their first fields alike; then come the control plane, whose number differs, and
    /// what else there is to say, by number.
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

    fn says_ttl(&self, variant: &Variant) -> bool {
        self.at.is_some() && variant.content().ttl.is_some()
    }

    /// A time to live, constraints and a missing body can only be said by the wrapper.
    fn any<'a>(&self, variant: &'a Variant, form: Form) -> Item<'a> {
        match &variant.content().body {
            Some(body) if !self.wrapped && form == Form::Plain && !self.says_ttl(variant) => Item::Bare(body),
            _ => Item::Wrapped(Wrapper::new(variant, form, self.at)),
        }
    }
}

/// One resource of a response.
enum Item<'a> {
    /// State of the world: an `Any`, as it came from upstream.
    Bare(&'a [u8]),
    /// State of the world: a `Resource` in an `Any`.
    Wrapped(Wrapper<'a>),
    /// Incremental: a `Resource`.
    Wrapper(Wrapper<'a>),
}

impl Item<'_> {
    fn length(&self) -> usize {
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

/// A `ResourceError` that says that there is no such resource.
fn not_found(name: &str, constraints: Option<&Constraints>) -> Vec<u8> {
    ResourceError {
        resource_name: Some(ResourceName {
            name: name.to_owned(),
            dynamic_parameter_constraints: constraints.and_then(constraints::encode),
        }),
        error_detail: Some(Status {
            code: NOT_FOUND,
            message: "no variant of the resource matches".to_owned(),
        }),
    }
    .encode_to_vec()
}

/// The length of a length-delimited field with a one-byte tag.
fn field(length: usize) -> usize {
    1 + prost::length_delimiter_len(length) + length
}

/// A frame that is being written.
struct Out(BytesMut);

impl Out {
    fn new(message: usize) -> Self {
        let mut buffer = BytesMut::with_capacity(HEADER + message);
        buffer.put_u8(0);
        // A frame cannot say more than 4 GiB; such a response fails at the client's limit, not here.
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
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;
    use weir_types::constraints::Expr;
    use weir_types::{Content, VariantKey};

    use super::*;
    use crate::discovery::{ControlPlane, DeltaDiscoveryResponse, DiscoveryResponse, Resource};

    fn any_variant() -> impl Strategy<Value = (Arc<Variant>, Form)> {
        let body = prop::option::of(prop::collection::vec(any::<u8>(), 0..300));
        let aliases = prop::collection::vec("[a-z]{1,4}", 0..3);
        let ttl = prop::option::of((0u64..100_000, 0u32..1_000_000_000));
        let extra = prop::bool::ANY;
        ("[a-z]{1,200}", prop::bool::ANY, body, aliases, ttl, extra, prop::bool::ANY).prop_map(
            |(name, constrained, body, aliases, ttl, extra, located)| {
                let expr = if constrained { Expr::value("env", "prod") } else { Expr::All(vec![]) };
                let content = Content {
                    body: body.map(Bytes::from),
                    aliases: aliases.into_iter().map(Into::into).collect(),
                    ttl: ttl.map(|(s, n)| Duration::new(s, n)),
                    // Field 7, cache_control { do_not_cache: true }.
                    extra: if extra { Bytes::from_static(&[0x3a, 2, 8, 1]) } else { Bytes::new() },
                    ..Content::default()
                };
                let variant = Variant::new(VariantKey::new(name, Constraints::new(expr)), content);
                (Arc::new(variant), if located { Form::Located } else { Form::Plain })
            },
        )
    }

    fn plainly(variant: &Variant, form: Form) -> Resource {
        let (key, content) = (variant.key(), variant.content());
        let located = form == Form::Located;
        Resource {
            name: if located { String::new() } else { key.name.to_string() },
            resource_name: located.then(|| ResourceName {
                name: key.name.to_string(),
                dynamic_parameter_constraints: constraints::encode(&key.constraints),
            }),
            aliases: content.aliases.iter().map(ToString::to_string).collect(),
            version: variant.version(form).to_string(),
            resource: content.body.clone(),
            ttl: content.ttl.map(|ttl| prost_types::Duration {
                seconds: ttl.as_secs() as i64,
                nanos: ttl.subsec_nanos() as i32,
            }),
            cache_control: (!content.extra.is_empty())
                .then_some(crate::discovery::resource::CacheControl { do_not_cache: true }),
            metadata: None,
        }
    }

    fn message(frame: &Bytes) -> &[u8] {
        assert_eq!(frame[0], 0);
        assert_eq!(u32::from_be_bytes(frame[1..5].try_into().unwrap()) as usize, frame.len() - HEADER);
        &frame[HEADER..]
    }

    proptest! {
        #[test]
        fn a_delta_frame_decodes_to_what_a_plain_encoder_would_make(
            resources in prop::collection::vec(any_variant(), 0..5),
            heartbeats in prop::collection::vec(any_variant(), 0..3),
            removed in prop::collection::vec("[a-z]{1,9}", 0..3),
        ) {
            let prod = Constraints::new(Expr::value("env", "prod"));
            let removed: Vec<&str> = removed.iter().map(String::as_str).collect();
            let removed_variants: Vec<_> = removed.iter().map(|n| (*n, (n.len() > 4).then_some(&prod))).collect();
            let type_url = TypeUrl::new("type.googleapis.com/acme.Widget");
            let frame = Response {
                type_url: &type_url, nonce: "2a-0", version: Version(7), control_plane: "weir-1",
                resources: &resources, heartbeats: &heartbeats, removed: &removed,
                removed_variants: &removed_variants, wrapped: false, at: Some(Instant::now()),
            }.delta();
            let decoded = DeltaDiscoveryResponse::decode(message(&frame)).unwrap();
            let inner: Vec<_> = decoded.resources.iter().map(|r| Resource::decode(&**r).unwrap()).collect();
            let beat = |whole| Resource { resource: None, aliases: vec![], cache_control: None, ..whole };
            let whole = resources.iter().map(|(v, f)| plainly(v, *f));
            prop_assert_eq!(inner, whole.chain(heartbeats.iter().map(|(v, f)| beat(plainly(v, *f)))).collect::<Vec<_>>());
            prop_assert_eq!(DeltaDiscoveryResponse { resources: vec![], ..decoded }, DeltaDiscoveryResponse {
                system_version_info: "0000000000000007".into(),
                type_url: type_url.to_string(),
                nonce: "2a-0".into(),
                removed_resources: removed.iter().map(ToString::to_string).collect(),
                removed_resource_names: removed_variants.iter().map(|(name, c)| ResourceName {
                    name: name.to_string(),
                    dynamic_parameter_constraints: c.and_then(constraints::encode),
                }).collect(),
                control_plane: Some(ControlPlane { identifier: "weir-1".into() }),
                ..DeltaDiscoveryResponse::default()
            });
        }

        #[test]
        fn s09_a_state_frame_is_bare_unless_it_has_to_be_wrapped(
            resources in prop::collection::vec(any_variant(), 0..5),
            wrapped in prop::bool::ANY,
            mortal in prop::bool::ANY,
        ) {
            let at = mortal.then(Instant::now);
            let type_url = TypeUrl::new("type.googleapis.com/acme.Widget");
            let frame = Response {
                type_url: &type_url, nonce: "2a-0", version: Version(7), control_plane: "weir-1",
                resources: &resources, heartbeats: &[], removed: &[], removed_variants: &[("gone", None)],
                wrapped, at,
            }.sotw();
            let decoded = DiscoveryResponse::decode(message(&frame)).unwrap();
            for (any, (variant, form)) in decoded.resources.iter().zip(&resources) {
                let content = variant.content();
                let bare = !wrapped && *form == Form::Plain && !(mortal && content.ttl.is_some());
                match content.body.as_ref().filter(|_| bare) {
                    Some(body) => prop_assert_eq!(any, body),
                    None => {
                        let any = prost_types::Any::decode(&**any).unwrap();
                        prop_assert_eq!(&*any.type_url, RESOURCE_TYPE_URL);
                        let wrapper = plainly(variant, *form);
                        let ttl = wrapper.ttl.filter(|_| mortal);
                        prop_assert_eq!(Resource::decode(&*any.value).unwrap(), Resource { ttl, ..wrapper });
                    }
                }
            }
            prop_assert_eq!(decoded.resources.len(), resources.len());
            prop_assert_eq!(DiscoveryResponse { resources: vec![], ..decoded }, DiscoveryResponse {
                version_info: "0000000000000007".into(),
                type_url: type_url.to_string(),
                nonce: "2a-0".into(),
                control_plane: Some(ControlPlane { identifier: "weir-1".into() }),
                resource_errors: vec![ResourceError {
                    resource_name: Some(ResourceName { name: "gone".into(), dynamic_parameter_constraints: None }),
                    error_detail: Some(Status { code: 5, message: "no variant of the resource matches".into() }),
                }],
                ..DiscoveryResponse::default()
            });
        }
    }
}
