use proptest::prelude::*;
use prost::Message;
use weir_types::constraints::Expr;
use weir_types::xdstp::MalformedName;

use super::*;
use crate::discovery::{self, Resource, resource};

/// The fields of `envoy.config.cluster.v3.Cluster` that matter here.
#[derive(Clone, PartialEq, prost::Message)]
struct Cluster {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(int32, optional, tag = "2")]
    discovery_type: Option<i32>,
    #[prost(message, optional, tag = "3")]
    eds_cluster_config: Option<EdsClusterConfig>,
    #[prost(bytes = "bytes", optional, tag = "38")]
    custom_type: Option<Bytes>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct EdsClusterConfig {
    #[prost(string, tag = "2")]
    service_name: String,
}

fn cds() -> TypeUrl {
    TypeUrl::from_short_name("cds").unwrap()
}

fn packed(type_url: &str, value: &[u8]) -> Vec<u8> {
    prost_types::Any { type_url: type_url.into(), value: value.to_vec() }.encode_to_vec()
}

fn cluster(name: &str) -> Vec<u8> {
    Cluster { name: name.into(), ..Cluster::default() }.encode_to_vec()
}

fn body(name: &str) -> Bytes {
    packed(cds().as_str(), &cluster(name)).into()
}

fn located(name: &str, constraints: Constraints) -> discovery::ResourceName {
    locator::encode_name(&VariantKey::new(name, constraints))
}

fn reason(resource: Resource) -> (Option<Name>, Reason) {
    let rejected = decode(&resource.encode_to_vec(), &cds(), "").unwrap_err();
    (rejected.name, rejected.reason)
}

#[test]
fn a_wrapped_resource_keeps_every_byte_that_is_not_the_transports() {
    let resource = Resource {
        name: "a".into(),
        aliases: vec!["b".into(), "c".into()],
        version: "7".into(),
        resource: Some(body("a")),
        ttl: Some(prost_types::Duration { seconds: 3, nanos: 5 }),
        cache_control: Some(resource::CacheControl { do_not_cache: true }),
        metadata: Some(Bytes::from_static(&[0x0a, 0])),
        ..Resource::default()
    };
    let unknown = [0xf8, 0x07, 1];
    let mut encoded = resource.encode_to_vec();
    encoded.extend_from_slice(&unknown);
    let variant = decode(&encoded, &cds(), "9").unwrap();
    let content = variant.content();
    assert_eq!(variant.key(), &VariantKey::new("a", Constraints::unconstrained()));
    assert_eq!(content.body.as_ref(), Some(&body("a")));
    assert_eq!(content.aliases.iter().map(|a| &**a).collect::<Vec<_>>(), ["b", "c"]);
    assert_eq!((content.ttl, &*content.upstream_version), (Some(Duration::new(3, 5)), "7"));
    assert_eq!(&content.extra[..], &[0x3a, 2, 0x08, 1, 0x4a, 2, 0x0a, 0, 0xf8, 0x07, 1]);
}

#[test]
fn p17_what_must_not_be_cached_says_so() {
    let with = |cache_control: &[u8]| {
        let mut encoded = Resource { name: "a".into(), ..Resource::default() }.encode_to_vec();
        encoded.extend_from_slice(cache_control);
        decode(&encoded, &cds(), "").map(|variant| variant.content().do_not_cache)
    };
    for (cache_control, wanted) in [
        (&[][..], false),
        (&[0x3a, 0], false),
        (&[0x3a, 2, 0x08, 0], false),
        (&[0x3a, 2, 0x08, 1], true),
        (&[0x3a, 4, 0x10, 7, 0x08, 1], true),
        (&[0x3a, 2, 0x08, 1, 0x3a, 2, 0x10, 7], true),
        (&[0x3a, 2, 0x08, 1, 0x3a, 2, 0x08, 0], false),
    ] {
        assert_eq!(with(cache_control), Ok(wanted), "{cache_control:x?}");
    }
    let malformed = Reason::Malformed(ScanError::Mistyped(1));
    assert_eq!(with(&[0x3a, 2, 0x0a, 0]).unwrap_err().reason, malformed);
}

#[test]
fn p06_constraints_are_part_of_the_identity() {
    let prod = Constraints::new(Expr::value("env", "prod"));
    let resource = Resource {
        resource_name: Some(located("a", prod.clone())),
        resource: Some(body("a")),
        ..Resource::default()
    };
    let variant = decode(&resource.encode_to_vec(), &cds(), "").unwrap();
    assert_eq!(variant.key(), &VariantKey::new("a", prod));
}

#[test]
fn p05_an_empty_message_of_constraints_is_none() {
    let name = discovery::ResourceName {
        name: "a".into(),
        dynamic_parameter_constraints: Some(discovery::DynamicParameterConstraints::default()),
    };
    let resource = Resource { resource_name: Some(name), resource: Some(body("a")), ..Resource::default() };
    let variant = decode(&resource.encode_to_vec(), &cds(), "").unwrap();
    assert_eq!(variant.key(), &VariantKey::new("a", Constraints::unconstrained()));
}

#[test]
fn i12_a_resource_may_have_no_body() {
    let resource = Resource { name: "r/x".into(), aliases: vec!["r/y".into()], ..Resource::default() };
    let variant = decode(&resource.encode_to_vec(), &cds(), "").unwrap();
    assert_eq!((variant.content().body.as_ref(), variant.content().aliases.len()), (None, 1));
}

#[test]
fn e03_unacceptable_resources_say_why() {
    let named = |name: &str| Resource { name: name.into(), resource: Some(body("a")), ..Resource::default() };
    let free = || Some(located("b", Constraints::unconstrained()));
    let untyped = discovery::DynamicParameterConstraints {
        r#type: Some(discovery::dynamic_parameter_constraints::Type::NotConstraints(Box::default())),
    };
    let untyped = discovery::ResourceName { name: "u".into(), dynamic_parameter_constraints: Some(untyped) };
    let foreign = packed("type.googleapis.com/acme.Widget", &[]);
    let wrong = Reason::WrongType { found: "type.googleapis.com/acme.Widget".into(), wanted: cds() };
    let long = "x".repeat(MAX_NAME_LENGTH + 1);
    let negative = prost_types::Duration { seconds: -1, nanos: 0 };
    for (resource, name, wanted) in [
        (named(""), None, Reason::NoName),
        (named("*"), None, Reason::CollectionName),
        (named("xdstp://auth/T/dir/*"), None, Reason::CollectionName),
        (named("xdstp://auth/T"), None, Reason::Name(MalformedName::NoId)),
        (named(&long), None, Reason::NameTooLong { length: long.len() }),
        (Resource { resource_name: free(), ..named("a") }, Some("a"), Reason::TwoNames),
        (Resource { resource: Some(foreign.into()), ..named("a") }, Some("a"), wrong),
        (Resource { ttl: Some(negative), ..named("a") }, Some("a"), Reason::Ttl),
        (
            Resource { resource_name: Some(untyped), ..Resource::default() },
            Some("u"),
            Reason::Constraints(ConstraintError::NoType { path: "not".into() }),
        ),
    ] {
        assert_eq!(reason(resource), (name.map(Into::into), wanted));
    }
    let rejected = decode(&[0x1a, 1, b'a', 0x12, 9], &cds(), "").unwrap_err();
    assert_eq!(rejected.to_string(), "a: malformed: the message ends within a field");
}

#[test]
fn bare_resources_are_named_by_their_first_field() {
    for (short, value, wanted) in [
        ("cds", cluster("a"), Ok("a")),
        ("eds", cluster("a"), Ok("a")),
        ("vhds", cluster("a"), Err((Some("a".into()), Reason::NeedsWrapper))),
        ("leds", Vec::new(), Err((None, Reason::NeedsWrapper))),
        ("cds", Vec::new(), Err((None, Reason::NoName))),
        ("cds", vec![0x08, 1], Err((None, Reason::Malformed(ScanError::Mistyped(1))))),
    ] {
        let type_url = TypeUrl::from_short_name(short).unwrap();
        let bytes = packed(type_url.as_str(), &value);
        match (decode_any(&bytes, &type_url, "5"), wanted) {
            (Ok(variant), Ok(name)) => {
                assert_eq!((&**variant.name(), variant.content().body.as_deref()), (name, Some(&bytes[..])));
                assert_eq!(&*variant.content().upstream_version, "5");
            }
            (found, wanted) => {
                assert_eq!(found.map(drop).map_err(|r| (r.name, r.reason)), wanted.map(drop), "{short}");
            }
        }
    }
    let foreign =
        decode_any(&packed("type.googleapis.com/acme.Widget", &cluster("a")), &cds(), "").unwrap_err();
    assert_eq!(foreign.name.as_deref(), Some("a"));
}

#[test]
fn wrapped_resources_of_sotw_are_unwrapped() {
    let resource = Resource { name: "a".into(), resource: Some(body("a")), ..Resource::default() };
    let variant = decode_any(&packed(RESOURCE_TYPE_URL, &resource.encode_to_vec()), &cds(), "5").unwrap();
    assert_eq!(variant.content().body.as_ref(), Some(&body("a")));
}

#[test]
fn o03_the_endpoints_of_an_eds_cluster_are_known() {
    let (eds, dns) = (Some(3), Some(1));
    for (discovery_type, service_name, wanted) in [
        (eds, None, Some("a")),
        (eds, Some(""), Some("a")),
        (eds, Some("svc"), Some("svc")),
        (dns, Some("svc"), None),
        (None, None, None),
    ] {
        let eds_cluster_config =
            service_name.map(|name: &str| EdsClusterConfig { service_name: name.into() });
        let cluster = Cluster { name: "a".into(), discovery_type, eds_cluster_config, custom_type: None };
        assert_eq!(eds_name(&cds(), &cluster.encode_to_vec()).as_deref(), wanted);
    }
    let custom = Cluster { name: "a".into(), custom_type: Some(Bytes::new()), ..Cluster::default() };
    assert_eq!(eds_name(&cds(), &custom.encode_to_vec()), None);
    assert_eq!(eds_name(&TypeUrl::from_short_name("lds").unwrap(), &cluster("a")), None);
}

#[test]
fn u17_whether_an_assignment_has_endpoints_is_known() {
    let eds = TypeUrl::from_short_name("eds").unwrap();
    let field =
        |number: u8, bytes: &[u8]| [&[number << 3 | 2, u8::try_from(bytes.len()).unwrap()], bytes].concat();
    let named = field(1, b"a");
    let locality = |fields: &[u8]| [named.clone(), field(2, &[&field(1, b"here"), fields].concat())].concat();
    for (value, wanted) in [
        (named.clone(), Some(false)),
        (locality(&[]), Some(false)),
        (locality(&field(7, &[])), Some(false)),
        (locality(&field(2, &[])), Some(true)),
        (locality(&field(2, &[0x10, 2])), Some(true)),
        (locality(&field(7, &field(1, &[]))), Some(true)),
        (locality(&field(8, &[])), Some(true)),
        ([locality(&[]), locality(&field(2, &[]))].concat(), Some(true)),
        (vec![0x12, 5], None),
    ] {
        assert_eq!(has_endpoints(&eds, &value), wanted, "{value:02x?}");
    }
    assert_eq!(has_endpoints(&cds(), &locality(&field(2, &[]))), None);
}

proptest! {
    #[test]
    fn e05_no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..128)) {
        drop(decode(&bytes, &cds(), ""));
        drop(decode_any(&bytes, &cds(), ""));
        eds_name(&cds(), &bytes);
        has_endpoints(&TypeUrl::from_short_name("eds").unwrap(), &bytes);
    }
}

#[test]
fn a_body_that_a_response_repeats_is_copied_once() {
    let mut bodies = Bodies::default();
    let mut read = |env: &str, text: &'static str| {
        let resource = Resource {
            resource_name: Some(located("a", Constraints::new(Expr::value("env", env)))),
            resource: Some(body(text)),
            ..Resource::default()
        };
        let variant = decode_among(&mut bodies, &resource.encode_to_vec(), &cds(), "").unwrap();
        assert_eq!(variant.content().body, Some(body(text)));
        variant.content().body.clone().unwrap()
    };
    let read = [read("e1", "a"), read("e2", "a"), read("e3", "b")];
    assert_eq!(read[0].as_ptr(), read[1].as_ptr());
    let mut bodies = Bodies::default();
    let any = packed("type.googleapis.com/envoy.config.cluster.v3.Cluster", &cluster("a"));
    let [one, two] = [(); 2].map(|()| decode_any_among(&mut bodies, &any, &cds(), "").unwrap());
    let place = |variant: &Variant| variant.content().body.as_ref().map(|body| body.as_ptr());
    assert_eq!(place(&one), place(&two));
}

#[test]
fn w03_names_are_spelled_in_one_way() {
    let (asked, canonical) = ("xdstp://auth/T/a?b=2&a=1", "xdstp://auth/T/a?a=1&b=2");
    let wrapped = Resource { name: asked.into(), resource: Some(body(asked)), ..Resource::default() };
    let variant = decode(&wrapped.encode_to_vec(), &cds(), "").unwrap();
    assert_eq!(&**variant.name(), canonical);
    assert_eq!(variant.content().body.as_ref(), Some(&body(asked)), "but not in the body");
    let bare = decode_any(&body(asked), &cds(), "").unwrap();
    assert_eq!(&**bare.name(), canonical);
    let constrained = located(asked, Constraints::new(Expr::value("env", "prod")));
    let constrained = Resource { resource_name: Some(constrained), ..Resource::default() };
    assert_eq!(&**decode(&constrained.encode_to_vec(), &cds(), "").unwrap().name(), canonical);
    let cluster = Cluster {
        name: "a".into(),
        discovery_type: Some(3),
        eds_cluster_config: Some(EdsClusterConfig { service_name: asked.into() }),
        ..Cluster::default()
    };
    assert_eq!(eds_name(&cds(), &cluster.encode_to_vec()).as_deref(), Some(canonical), "o03");
}

#[test]
fn w05_redirects_and_lists_pass_unchanged() {
    for (response, body) in [
        (cds().as_str(), "type.googleapis.com/xds.core.v3.ResourceLocator"),
        (cds().as_str(), "type.googleapis.com/envoy.config.cluster.v3.ClusterCollection"),
        (
            "type.googleapis.com/envoy.config.cluster.v3.ClusterCollection",
            "type.googleapis.com/envoy.config.cluster.v3.ClusterCollection",
        ),
    ] {
        let body = Bytes::from(packed(body, b"\x0a\x03any"));
        let name = "xdstp://auth/envoy.config.cluster.v3.ClusterCollection/a#entry=b";
        let resource = Resource { name: name.into(), resource: Some(body.clone()), ..Resource::default() };
        let variant = decode(&resource.encode_to_vec(), &TypeUrl::new(response), "").unwrap();
        assert_eq!((&**variant.name(), variant.content().body.as_ref()), (name, Some(&body)));
    }
    let list = "type.googleapis.com/envoy.config.cluster.v3.ClusterCollection";
    let rejected = decode_any(&packed(list, b"\x0a\x03any"), &TypeUrl::new(list), "").unwrap_err();
    assert_eq!(rejected.reason, Reason::NeedsWrapper, "it does not carry its name");
}
