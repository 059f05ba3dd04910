//! `DiscoveryResponse`.

use bytes::Bytes;
use prost::Message;
use serde::Deserialize;
use serde::de::DeserializeSeed;
use serde_json::{Map, Value};

use super::{JsonError, nullable, read};
use crate::discovery::{DiscoveryResponse, ResourceError};
use crate::json::{MessageSeed, Unsayable, exact_any_to_json, message_to_json};
use crate::resource;

/// Why a response has no JSON form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResponseError {
    /// Because of a resource.
    #[error("resource {name:?} has no JSON form: {why}")]
    Resource {
        /// Its name, as far as it can be read.
        name: String,
        /// The reason.
        why: Unsayable,
    },
    /// It is not a response.
    #[error("malformed response: {0}")]
    Malformed(#[from] prost::DecodeError),
}

/// Writes an encoded response, field names as in the proto files. Where a poll is a conversation of its own,
/// the version covers everything, so `version` stands for the nonce too.
///
/// # Errors
/// When a resource has no exact JSON form. Leaving it out would delete it with the client.
pub fn response_to_json(message: &[u8], version: &str) -> Result<Bytes, ResponseError> {
    let response = DiscoveryResponse::decode(message)?;
    let mut json = Map::new();
    let mut set = |key: &str, value: Value| _ = json.insert(key.to_owned(), value);
    set("version_info", version.into());
    let resources: Result<Vec<_>, _> = response.resources.iter().map(resource_to_json).collect();
    set("resources", resources?.into());
    set("type_url", response.type_url.into());
    set("nonce", version.into());
    if let Some(control_plane) = response.control_plane.filter(|plane| !plane.identifier.is_empty()) {
        set(
            "control_plane",
            Map::from_iter([("identifier".to_owned(), control_plane.identifier.into())]).into(),
        );
    }
    if !response.resource_errors.is_empty() {
        let errors =
            response.resource_errors.iter().map(|error| message_to_json(ERROR, &error.encode_to_vec()));
        set("resource_errors", errors.collect());
    }
    // Every key is a text, so that there is nothing to fail.
    Ok(serde_json::to_vec(&json).unwrap_or_default().into())
}

const ERROR: &str = "envoy.service.discovery.v3.ResourceError";

fn resource_to_json(any: &Bytes) -> Result<Value, ResponseError> {
    let name = || resource::name_in_any(any).map(|name| name.to_string()).unwrap_or_default();
    let named = |why| ResponseError::Resource { name: name(), why };
    exact_any_to_json(any).map_err(named)
}

/// A response as it was read.
#[derive(Debug)]
pub struct JsonResponse {
    /// All of it but its resources.
    pub response: DiscoveryResponse,
    /// Each resource as an encoded Any, or its name, as far as it can be read, and what is wrong with it.
    pub resources: Vec<Result<Bytes, (Option<String>, JsonError)>>,
}

#[derive(Deserialize)]
struct Response {
    #[serde(alias = "versionInfo", default, deserialize_with = "nullable")]
    version_info: String,
    #[serde(default, deserialize_with = "nullable")]
    resources: Vec<Value>,
    #[serde(alias = "typeUrl", default, deserialize_with = "nullable")]
    type_url: String,
    #[serde(default, deserialize_with = "nullable")]
    nonce: String,
    #[serde(alias = "resourceErrors", default, deserialize_with = "nullable")]
    resource_errors: Vec<Value>,
}

/// Reads a response. A resource that cannot be read does not spoil the others.
///
/// # Errors
/// Where it is not a `DiscoveryResponse`.
pub fn response_from_json(json: &[u8]) -> Result<JsonResponse, JsonError> {
    let response: Response = read(json)?;
    let resources = response.resources.iter().enumerate().map(|(index, value)| {
        let read = read_message(MessageSeed::ANY, value, &format!("resources[{index}]"));
        read.map_err(|error| (name_of(value), error))
    });
    let mut errors = Vec::new();
    for (index, value) in response.resource_errors.iter().enumerate() {
        let place = format!("resource_errors[{index}]");
        let error = read_message(MessageSeed::RESOURCE_ERROR, value, &place)?;
        let error = ResourceError::decode(error);
        errors.push(error.map_err(|e| JsonError { path: format!("$.{place}"), message: e.to_string() })?);
    }
    Ok(JsonResponse {
        resources: resources.collect(),
        response: DiscoveryResponse {
            version_info: response.version_info,
            type_url: response.type_url,
            nonce: response.nonce,
            resource_errors: errors,
            ..DiscoveryResponse::default()
        },
    })
}

fn read_message(seed: MessageSeed<'_>, value: &Value, place: &str) -> Result<Bytes, JsonError> {
    let mut track = serde_path_to_error::Track::new();
    let read = seed.deserialize(serde_path_to_error::Deserializer::new(value, &mut track));
    read.map_err(|error| {
        let JsonError { path, message } = JsonError::new(&track.path(), error);
        JsonError { path: format!("$.{place}{}", path.trim_start_matches('$')), message }
    })
}

/// The name of a resource, wrapped or not, in whichever way its type calls it.
fn name_of(value: &Value) -> Option<String> {
    let named = |key| value.get(key).and_then(Value::as_str);
    let variant = || value.get("resource_name").or_else(|| value.get("resourceName"))?.get("name")?.as_str();
    let name = named("name").or_else(|| named("cluster_name")).or_else(|| named("clusterName"));
    name.or_else(variant).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::json::any_from;

    fn written(resources: &[Value]) -> Result<Value, ResponseError> {
        let resources = resources.iter().map(|json| any_from(json).unwrap()).collect();
        let response = DiscoveryResponse {
            version_info: "ignored".into(),
            type_url: "t".into(),
            resources,
            ..DiscoveryResponse::default()
        };
        let json = response_to_json(&response.encode_to_vec(), "7")?;
        Ok(serde_json::from_slice(&json).unwrap())
    }

    fn cluster(name: &str) -> Value {
        json!({ "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", "name": name })
    }

    fn wrapped() -> Value {
        json!({
            "@type": "type.googleapis.com/envoy.service.discovery.v3.Resource",
            "resource_name": { "name": "b", "dynamic_parameter_constraints": {
                "constraint": { "key": "env", "value": "prod" },
            }},
            "version": "1",
            "ttl": "1.500s",
            "resource": cluster("b"),
        })
    }

    #[test]
    fn r01_a_response_goes_there_and_back() {
        let resources = [cluster("a"), wrapped()];
        let json = written(&resources).unwrap();
        assert_eq!(
            json,
            json!({ "version_info": "7", "resources": resources, "type_url": "t", "nonce": "7" })
        );
        let read = response_from_json(json.to_string().as_bytes()).unwrap();
        let bytes: Vec<_> = read.resources.into_iter().map(Result::unwrap).collect();
        assert_eq!(bytes, resources.map(|json| any_from(&json).unwrap()));
        assert_eq!((&*read.response.version_info, &*read.response.type_url), ("7", "t"));
    }

    #[test]
    fn e02_errors_go_there_and_back() {
        let json = json!({ "resource_errors": [{
            "resource_name": { "name": "gone" },
            "error_detail": { "code": 5, "message": "no such resource" },
        }]});
        let read = response_from_json(json.to_string().as_bytes()).unwrap().response;
        let name = &read.resource_errors[0].resource_name;
        assert_eq!(name.as_ref().map(|name| &*name.name), Some("gone"));
        let again: Value =
            serde_json::from_slice(&response_to_json(&read.encode_to_vec(), "").unwrap()).unwrap();
        assert_eq!(again["resource_errors"], json["resource_errors"]);
    }

    #[test]
    fn r02_what_cannot_be_said_is_an_error_that_names_it() {
        let any = |type_url: &str, value: &[u8]| {
            prost_types::Any { type_url: type_url.to_owned(), value: value.to_vec() }.encode_to_vec()
        };
        let cluster = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
        for (resource, wanted) in [
            (
                any("type.googleapis.com/acme.Widget", b"\x0a\x01w"),
                "resource \"w\" has no JSON form: its JSON form needs the descriptor of \
                 \"type.googleapis.com/acme.Widget\", which is not known",
            ),
            // Field 15000 of a cluster.
            (
                any(cluster, b"\x0a\x01c\xc2\xa9\x07\x01x"),
                "resource \"c\" has no JSON form: field 15000 of envoy.config.cluster.v3.Cluster is not \
                 known, and has no JSON form",
            ),
            (
                any(cluster, b"\x0a\x01c\xff"),
                "resource \"c\" has no JSON form: it is not a well-formed envoy.config.cluster.v3.Cluster",
            ),
        ] {
            let response = DiscoveryResponse { resources: vec![resource.into()], ..Default::default() };
            let error = response_to_json(&response.encode_to_vec(), "7").unwrap_err();
            assert_eq!(error.to_string(), wanted);
        }
    }

    #[test]
    fn e03_a_bad_resource_does_not_spoil_the_others() {
        let mut bad = cluster("bad");
        bad["lb_policy"] = "X".into();
        let unknown = json!({ "@type": "type.googleapis.com/acme.Widget", "name": "w" });
        let endpoints = json!({
            "@type": "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
            "clusterName": "e", "endpoints": [{ "lb_endpoints": 7 }],
        });
        let json = json!({ "resources": [cluster("a"), bad, unknown, endpoints, cluster("z")] });
        let read = response_from_json(json.to_string().as_bytes()).unwrap();
        let outcome = |i: usize| match &read.resources[i] {
            Ok(_) => "read".to_owned(),
            Err((name, error)) => format!("{}: {error}", name.as_deref().unwrap_or_default()),
        };
        assert_eq!((outcome(0), outcome(4)), ("read".into(), "read".into()));
        assert_eq!(outcome(1), "bad: $.resources[1].lb_policy: unrecognized enum value 'X'");
        assert_eq!(outcome(2), "w: $.resources[2]: message 'acme.Widget' not found");
        assert!(outcome(3).starts_with("e: $.resources[3].endpoints[0].lb_endpoints: "), "{}", outcome(3));
    }
}
