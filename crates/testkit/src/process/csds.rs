//! What a gRPC client states of its configuration (CSDS), as clients of ours print it: `{"dump": …}`, a
//! `ClientStatusResponse` in base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prost::Message as _;
use serde_json::Value;

/// What it states.
const STATUS: &str = "type.googleapis.com/envoy.service.status.v3.ClientStatusResponse";

/// The resources that a line holds, each with its `client_status`; none if it is another line.
pub fn dumped(line: &Value) -> Option<Vec<Value>> {
    let value = STANDARD.decode(line.get("dump")?.as_str()?).expect("the client writes base64");
    let status = prost_types::Any { type_url: STATUS.to_owned(), value };
    let status = weir_wire::json::any_to_json(&status.encode_to_vec());
    let clients = status["config"].as_array().into_iter().flatten();
    let resources = clients.filter_map(|client| client["generic_xds_configs"].as_array()).flatten();
    Some(resources.cloned().collect())
}
