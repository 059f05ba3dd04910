//! Headers and tokens for a control plane. What the files hold is for whoever reads them.

use http::{HeaderName, HeaderValue, header};

use super::General;
use crate::findings::Findings;
use crate::secret::Secret;
use crate::template::Segment;

/// Headers that belong to the transport.
const RESERVED: [&str; 5] = ["host", "te", "content-type", "content-length", "user-agent"];

/// Reports headers that cannot be sent, and credentials that cannot be sent safely.
pub(super) fn check(general: &General, findings: &mut Findings) {
    for (name, value) in &general.headers {
        check_header(name, value, findings);
    }
    let is_authorization = |name: &String| name.eq_ignore_ascii_case(header::AUTHORIZATION.as_str());
    let own = general.headers.keys().any(is_authorization);
    if own && general.token_file.is_some() {
        findings.add("token_file", "headers has an authorization already");
    }
    let plain = general.endpoints.iter().position(|uri| uri.scheme_str() == Some("http"));
    match (plain, general.token_over_plaintext) {
        (Some(i), false) if own || general.token_file.is_some() => findings.add(
            if own { "headers.authorization" } else { "token_file" },
            format!(
                "endpoints[{i}] is not https://, and would show it to everyone on the way; \
                 token_over_plaintext = true allows that"
            ),
        ),
        (None, true) => findings.add("token_over_plaintext", "every endpoint is https://"),
        _ => {}
    }
}

fn check_header(name: &str, value: &Secret, findings: &mut Findings) {
    let key = format!("headers.{name}");
    match HeaderName::try_from(name) {
        Err(_) => findings.add(&key, format!("{name:?} is no name of a header")),
        Ok(name) if RESERVED.contains(&name.as_str()) || name.as_str().starts_with("grpc-") => {
            findings.add(&key, "this header belongs to the transport");
        }
        Ok(name) if name.as_str().ends_with("-bin") => {
            findings.add(&key, "headers with binary values are not supported");
        }
        Ok(_) => {}
    }
    let is_bad =
        |segment: &Segment| matches!(segment, Segment::Text(text) if HeaderValue::try_from(text).is_err());
    if value.reveal().0.iter().any(is_bad) {
        findings.add(&key, "the value has characters that no header may have");
    }
}
