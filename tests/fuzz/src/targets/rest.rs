//! Requests and responses of REST-JSON.

use weir_wire::json::discovery::{request_from_json, request_to_json, response_from_json};

pub(crate) fn run(data: &[u8]) {
    if let Ok(request) = request_from_json(data) {
        let again = request_from_json(&request_to_json(request.clone()));
        assert_eq!(again.as_ref(), Ok(&request));
    }
    if let Ok(response) = response_from_json(data) {
        let errors = response.resources.iter().filter_map(|resource| resource.as_ref().err());
        errors.for_each(|(_, error)| assert!(!error.to_string().is_empty()));
    }
}
