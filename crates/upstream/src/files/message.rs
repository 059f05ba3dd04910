//! Files that are one `DiscoveryResponse`, in binary or in the text format of protobuf.

use bytes::Bytes;
use prost::Message;
use serde::de::Error as _;
use weir_types::{TypeUrl, Variant};
use weir_wire::discovery::{self, DiscoveryResponse};
use weir_wire::resource::{RESOURCE_TYPE_URL, decode_any, open_any};
use weir_wire::text::decode_response;
use weir_wire::validate;

use super::de::Error;
use super::resource::Found;

/// The resources in an encoded response, or everything that is wrong with them.
pub(super) fn read_binary(bytes: &[u8]) -> Result<Vec<Found>, Vec<Error>> {
    if bytes.is_empty() {
        // A file that is being written is empty for a moment; taken at its word, it would withdraw everything.
        return Err(vec![Error::custom("the file is empty; to hold no resources it has to have a type_url")]);
    }
    let response = DiscoveryResponse::decode(bytes).map_err(|error| {
        vec![Error::custom(format_args!("this is no encoded DiscoveryResponse: {error}"))]
    })?;
    let (mut variants, mut errors) = (Vec::new(), Vec::new());
    for (i, any) in response.resources.iter().enumerate() {
        match read(any, &response) {
            Ok((type_url, variant)) => {
                let body = variant.content().body.as_deref().unwrap_or_default();
                let found = validate::violations(body).into_iter();
                let violations =
                    found.map(|one| Error::violation(one, None).below(format!("resources[{i}]"))).collect();
                variants.push(Found { type_url, variant, line: None, violations });
            }
            Err(error) => errors.push(error.below(format!("resources[{i}]"))),
        }
    }
    if errors.is_empty() { Ok(variants) } else { Err(errors) }
}

/// The resources in a response in the text format, or everything that is wrong with them.
pub(super) fn read_text(text: &str) -> Result<Vec<Found>, Vec<Error>> {
    let bytes = decode_response(text).map_err(|error| {
        let line = error.line.unwrap_or_default();
        vec![Error::custom(error).at(line)]
    })?;
    read_binary(&bytes)
}

fn read(any: &Bytes, response: &DiscoveryResponse) -> Result<(TypeUrl, Variant), Error> {
    let (found, value) = open_any(any).map_err(Error::custom)?;
    let type_url = match &*response.type_url {
        "" if found == RESOURCE_TYPE_URL => body_type(value)?,
        "" => TypeUrl::new(found),
        url => TypeUrl::new(url),
    };
    let variant = decode_any(any, &type_url, &response.version_info).map_err(Error::custom)?;
    Ok((type_url, variant))
}

/// The type of what is in an encoded wrapper.
fn body_type(wrapper: &[u8]) -> Result<TypeUrl, Error> {
    let wrapper = discovery::Resource::decode(wrapper).map_err(Error::custom)?;
    let body = wrapper
        .resource
        .ok_or_else(|| Error::custom("a resource without a body needs the 'type_url' of its response"))?;
    let (type_url, _) = open_any(&body).map_err(Error::custom)?;
    Ok(TypeUrl::new(type_url))
}
