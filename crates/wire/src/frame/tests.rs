//! Frames against what a plain encoder makes.

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

/// An error for each name; about one variant where the name is long.
fn failing<'a>(names: &[&'a str], constraints: &'a Constraints) -> Vec<Failing<'a>> {
    let failing = |name: &&'a str| Failing {
        name,
        constraints: (name.len() > 4).then_some(constraints),
        code: Code::UNAVAILABLE,
        message: "try later",
    };
    names.iter().map(failing).collect()
}

fn plain_error(name: &str, constraints: &Constraints) -> ResourceError {
    let constraints = (name.len() > 4).then(|| constraints::encode(constraints)).flatten();
    ResourceError {
        resource_name: Some(ResourceName { name: name.into(), dynamic_parameter_constraints: constraints }),
        error_detail: Some(Status { code: 14, message: "try later".into() }),
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
            removed_variants: &removed_variants, errors: &failing(&removed, &prod),
                wrapped: false, at: Some(Instant::now()),
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
            resource_errors: removed.iter().map(|name| plain_error(name, &prod)).collect(),
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
            resources: &resources, heartbeats: &[], removed: &[], removed_variants: &[], errors: &[],
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
            ..DiscoveryResponse::default()
        });
    }
}

#[test]
fn e02_state_of_the_world_says_in_errors_what_is_gone() {
    let (type_url, prod) = (TypeUrl::new("t"), Constraints::new(Expr::value("env", "prod")));
    let frame = Response {
        type_url: &type_url,
        nonce: "",
        version: Version(7),
        control_plane: "",
        resources: &[],
        heartbeats: &[],
        removed: &["plain"],
        removed_variants: &[("variant", Some(&prod)), ("locator", None)],
        errors: &failing(&["why", "wherefore"], &prod),
        wrapped: false,
        at: None,
    };
    let errors = DiscoveryResponse::decode(message(&frame.sotw())).unwrap().resource_errors;
    let gone = |error: &ResourceError| {
        let name = error.resource_name.clone().unwrap();
        let code = error.error_detail.as_ref().unwrap().code;
        (name.name, name.dynamic_parameter_constraints.is_some(), code)
    };
    let wanted = [("plain", false), ("variant", true), ("locator", false)];
    let wanted = wanted.map(|(name, constrained)| (name.to_owned(), constrained, 5));
    assert_eq!(errors[..3].iter().map(gone).collect::<Vec<_>>(), wanted);
    assert_eq!(errors[3..], [plain_error("why", &prod), plain_error("wherefore", &prod)]);
}
