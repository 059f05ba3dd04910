//! Files that are one encoded response.

use prost::Message;
use weir_wire::discovery::{DiscoveryResponse, Resource as Wrapper};
use weir_wire::resource::RESOURCE_TYPE_URL;

use super::super::resource::parse;
use super::*;

const CLUSTER: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";

fn any(type_url: &str, value: Vec<u8>) -> Vec<u8> {
    prost_types::Any { type_url: type_url.into(), value }.encode_to_vec()
}

/// A cluster by its name alone.
fn cluster(name: &str) -> Vec<u8> {
    let mut value = vec![0x0a, u8::try_from(name.len()).unwrap()];
    value.extend(name.bytes());
    any(CLUSTER, value)
}

fn response(type_url: &str, resources: Vec<Vec<u8>>) -> Vec<u8> {
    let resources = resources.into_iter().map(Into::into).collect();
    DiscoveryResponse {
        version_info: "7".into(),
        type_url: type_url.into(),
        resources,
        ..DiscoveryResponse::default()
    }
    .encode_to_vec()
}

#[test]
fn f01_a_binary_response_is_read_byte_for_byte() {
    let wrapper = Wrapper {
        name: "b".into(),
        version: "8".into(),
        resource: Some(cluster("b").into()),
        ..Wrapper::default()
    };
    for type_url in [CLUSTER, ""] {
        let wrapped = any(RESOURCE_TYPE_URL, wrapper.encode_to_vec());
        let bytes = response(type_url, vec![cluster("a"), wrapped]);
        let resources = parse(&file("x.pb"), &bytes).unwrap();
        let [a, b] = &resources[..] else { panic!("{resources:?}") };
        assert_eq!((&a.type_url, &**a.variant.name()), (&cds(), "a"));
        assert_eq!(&*a.variant.content().upstream_version, "7");
        assert_eq!(a.variant.content().body.as_deref(), Some(&cluster("a")[..]));
        assert_eq!((&b.type_url, &**b.variant.name()), (&cds(), "b"));
        assert_eq!(&*b.variant.content().upstream_version, "8");
        assert_eq!(b.origin.to_string(), "x.pb");
    }
    assert_eq!(parse(&file("x.pb"), &response(CLUSTER, vec![])).unwrap().len(), 0);
}

#[test]
fn f01_what_is_wrong_with_a_binary_file_is_said() {
    let nameless = any(RESOURCE_TYPE_URL, Wrapper { name: "x".into(), ..Wrapper::default() }.encode_to_vec());
    for (bytes, wanted) in [
        (vec![], "x.pb: the file is empty; to hold no resources it has to have a type_url"),
        (vec![0xff], "x.pb: this is no encoded DiscoveryResponse: "),
        (
            response("a/b", vec![cluster("c")]),
            "x.pb: resources[0]: c: the body is of type \"type.googleapis.com/envoy.config.cluster.v3.Cluster\"",
        ),
        (
            response("", vec![cluster("c"), nameless]),
            "x.pb: resources[1]: a resource without a body needs the 'type_url' of its response",
        ),
    ] {
        let problems = parse(&file("x.pb"), &bytes).unwrap_err();
        assert!(problems[0].to_string().starts_with(wanted), "{}", problems[0]);
    }
}

#[test]
fn f01_text_files_are_read_and_their_errors_have_a_line() {
    let text = format!("version_info: '7'\nresources {{\n  [{CLUSTER}] {{ name: 'a' }}\n}}\n");
    for name in ["x.pb_text", "x.textproto", "x.txtpb"] {
        let resources = parse(&file(name), text.as_bytes()).unwrap();
        assert_eq!(&**resources[0].variant.name(), "a");
        assert_eq!(resources[0].variant.content().body.as_deref(), Some(&cluster("a")[..]));
    }
    for (text, wanted) in [
        (text.replace("name:", "nam:"), "x.pb_text:3: "),
        ("resources {".to_owned(), "x.pb_text: "),
        (String::new(), "x.pb_text: the file is empty"),
    ] {
        let problems = parse(&file("x.pb_text"), text.as_bytes()).unwrap_err();
        assert!(problems[0].to_string().starts_with(wanted), "{}", problems[0]);
    }
}
