//! `DiscoveryRequest`.

use std::collections::HashMap;

use prost::Message;
use prost_types::value::Kind;
use prost_types::{ListValue, Struct, Value};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{JsonError, nullable, read};
use crate::discovery;

/// Of both spellings of a field, that of the proto files is written.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
struct Request {
    #[serde(alias = "versionInfo", deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    version_info: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<Node>,
    #[serde(alias = "resourceNames", deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    resource_names: Vec<String>,
    #[serde(
        alias = "resourceLocators",
        deserialize_with = "nullable",
        skip_serializing_if = "Vec::is_empty"
    )]
    resource_locators: Vec<Locator>,
    #[serde(alias = "typeUrl", deserialize_with = "nullable", skip_serializing_if = "String::is_empty")]
    type_url: String,
    #[serde(
        alias = "responseNonce",
        deserialize_with = "nullable",
        skip_serializing_if = "String::is_empty"
    )]
    response_nonce: String,
    #[serde(alias = "errorDetail", skip_serializing_if = "Option::is_none")]
    error_detail: Option<Status>,
}

/// A subscription must not be taken for another one because of something in it that is not known.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
struct Locator {
    #[serde(deserialize_with = "nullable")]
    name: String,
    #[serde(alias = "dynamicParameters", deserialize_with = "nullable")]
    dynamic_parameters: HashMap<String, String>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Status {
    #[serde(deserialize_with = "nullable")]
    code: i32,
    #[serde(deserialize_with = "nullable")]
    message: String,
}

/// Some servers insist on an id and a cluster, be they empty.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Node {
    #[serde(deserialize_with = "nullable")]
    id: String,
    #[serde(deserialize_with = "nullable")]
    cluster: String,
    #[serde(deserialize_with = "nullable", skip_serializing_if = "serde_json::Map::is_empty")]
    metadata: serde_json::Map<String, Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    locality: Option<Locality>,
    #[serde(alias = "userAgentName", deserialize_with = "nullable")]
    user_agent_name: String,
    #[serde(alias = "userAgentVersion", deserialize_with = "nullable")]
    user_agent_version: String,
    #[serde(alias = "clientFeatures", deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    client_features: Vec<String>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Locality {
    #[serde(deserialize_with = "nullable")]
    region: String,
    #[serde(deserialize_with = "nullable")]
    zone: String,
    #[serde(alias = "subZone", deserialize_with = "nullable")]
    sub_zone: String,
}

/// Reads a request.
///
/// # Errors
/// Where it is not a `DiscoveryRequest`: a field of the request itself that is not known is an error, one of
/// the node is not.
pub fn request_from_json(json: &[u8]) -> Result<discovery::DiscoveryRequest, JsonError> {
    let request: Request = read(json)?;
    Ok(discovery::DiscoveryRequest {
        version_info: request.version_info,
        node: request.node.map(|node| discovery::Node::from(node).encode_to_vec().into()),
        resource_names: request.resource_names,
        resource_locators: request.resource_locators.into_iter().map(Into::into).collect(),
        type_url: request.type_url,
        response_nonce: request.response_nonce,
        error_detail: request
            .error_detail
            .map(|Status { code, message }| discovery::Status { code, message }),
    })
}

/// Writes a request.
pub fn request_to_json(request: discovery::DiscoveryRequest) -> Vec<u8> {
    let node = request.node.and_then(|node| discovery::Node::decode(node).ok());
    let locators = request.resource_locators.into_iter();
    let request = Request {
        version_info: request.version_info,
        node: node.map(Node::from),
        resource_names: request.resource_names,
        resource_locators: locators
            .map(|l| Locator { name: l.name, dynamic_parameters: l.dynamic_parameters })
            .collect(),
        type_url: request.type_url,
        response_nonce: request.response_nonce,
        error_detail: request
            .error_detail
            .map(|status| Status { code: status.code, message: status.message }),
    };
    // Every key is a text, so that there is nothing to fail.
    serde_json::to_vec(&request).unwrap_or_default()
}

impl From<Locator> for discovery::ResourceLocator {
    fn from(Locator { name, dynamic_parameters }: Locator) -> Self {
        Self { name, dynamic_parameters }
    }
}

impl From<Node> for discovery::Node {
    fn from(node: Node) -> Self {
        let locality = |Locality { region, zone, sub_zone }| discovery::Locality { region, zone, sub_zone };
        Self {
            id: node.id,
            cluster: node.cluster,
            metadata: (!node.metadata.is_empty()).then(|| to_struct(node.metadata)),
            locality: node.locality.map(locality),
            user_agent_name: node.user_agent_name,
            user_agent_version: node.user_agent_version,
            client_features: node.client_features,
        }
    }
}

impl From<discovery::Node> for Node {
    fn from(node: discovery::Node) -> Self {
        let locality = |discovery::Locality { region, zone, sub_zone }| Locality { region, zone, sub_zone };
        Self {
            id: node.id,
            cluster: node.cluster,
            metadata: node.metadata.map(from_struct).unwrap_or_default(),
            locality: node.locality.map(locality),
            user_agent_name: node.user_agent_name,
            user_agent_version: node.user_agent_version,
            client_features: node.client_features,
        }
    }
}

fn to_struct(fields: serde_json::Map<String, Json>) -> Struct {
    Struct { fields: fields.into_iter().map(|(key, value)| (key, to_value(value))).collect() }
}

fn to_value(json: Json) -> Value {
    let kind = match json {
        Json::Null => Kind::NullValue(0),
        Json::Bool(value) => Kind::BoolValue(value),
        Json::Number(value) => Kind::NumberValue(value.as_f64().unwrap_or_default()),
        Json::String(value) => Kind::StringValue(value),
        Json::Array(values) => {
            Kind::ListValue(ListValue { values: values.into_iter().map(to_value).collect() })
        }
        Json::Object(fields) => Kind::StructValue(to_struct(fields)),
    };
    Value { kind: Some(kind) }
}

fn from_struct(Struct { fields }: Struct) -> serde_json::Map<String, Json> {
    fields.into_iter().map(|(key, value)| (key, from_value(value))).collect()
}

fn from_value(value: Value) -> Json {
    match value.kind {
        None | Some(Kind::NullValue(_)) => Json::Null,
        Some(Kind::BoolValue(value)) => value.into(),
        // A whole number is written without a fraction, as people do.
        Some(Kind::NumberValue(value)) if value.fract() == 0.0 && value.abs() < 9e15 => (value as i64).into(),
        Some(Kind::NumberValue(value)) => value.into(),
        Some(Kind::StringValue(value)) => value.into(),
        Some(Kind::ListValue(list)) => list.values.into_iter().map(from_value).collect(),
        Some(Kind::StructValue(inner)) => from_struct(inner).into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(json: &Json) -> Result<discovery::DiscoveryRequest, JsonError> {
        request_from_json(json.to_string().as_bytes())
    }

    #[test]
    fn r01_a_request_goes_there_and_back() {
        let written = json!({
            "version_info": "0000000000000007",
            "node": {
                "id": "n", "cluster": "c",
                "metadata": { "env": "prod", "n": 7, "f": 0.5, "on": true, "list": [null, { "a": "b" }] },
                "locality": { "region": "eu", "zone": "a", "sub_zone": "" },
                "user_agent_name": "envoy", "user_agent_version": "",
                "client_features": ["xds.config.resource-in-sotw"],
            },
            "resource_names": ["a"],
            "resource_locators": [{ "name": "b", "dynamic_parameters": { "env": "test" } }],
            "type_url": "t",
            "response_nonce": "n-1",
            "error_detail": { "code": 3, "message": "bad" },
        });
        let request = parse(&written).unwrap();
        assert_eq!(request.resource_locators[0].dynamic_parameters["env"], "test");
        assert_eq!(serde_json::from_slice::<Json>(&request_to_json(request)).unwrap(), written);
    }

    #[test]
    fn r01_both_spellings_null_and_an_envoys_node_are_read() {
        let request = parse(&json!({
            "versionInfo": "1", "typeUrl": "t", "resourceNames": ["a"], "responseNonce": null,
            "resource_locators": [{ "name": "b", "dynamicParameters": null }],
            "errorDetail": null,
            "node": {
                "id": null, "userAgentName": "envoy", "user_agent_build_version": { "version": {} },
                "extensions": [{ "name": "x", "category": "y", "type_urls": ["z"] }],
                "locality": { "subZone": "s" },
            },
        }));
        let request = request.unwrap();
        assert_eq!(
            (&*request.version_info, &*request.type_url, &*request.resource_names[0]),
            ("1", "t", "a")
        );
        let node = discovery::Node::decode(request.node.unwrap()).unwrap();
        assert_eq!((&*node.user_agent_name, &*node.locality.unwrap().sub_zone), ("envoy", "s"));
    }

    #[test]
    fn e05_endless_nesting_is_an_error() {
        let text = format!(r#"{{"node": {{"metadata": {{"a": {}"#, "[".repeat(100_000));
        assert!(request_from_json(text.as_bytes()).unwrap_err().message.starts_with("recursion limit"));
    }
}
