//! Where something is.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use http::Uri;

use super::text::Form;

impl Form for SocketAddr {
    const FORM: &str = "a socket address like \"127.0.0.1:18000\"";

    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| {
            format!("{text:?} is not a socket address; write it like \"127.0.0.1:18000\" or \"[::]:18000\"")
        })
    }

    fn write(&self) -> String {
        self.to_string()
    }
}

/// The endpoint of a control plane.
impl Form for Uri {
    const FORM: &str = "a URL like \"http://10.0.0.1:18000\"";

    fn parse(text: &str) -> Result<Self, String> {
        let bad = |why: &str| {
            Err(format!(
                "{text:?} is not an endpoint: {why}; write it like \"http://10.0.0.1:18000\" or \"https://cp.example:18000\""
            ))
        };
        let uri: Self = match text.parse() {
            Ok(uri) => uri,
            Err(error) => return bad(&error.to_string()),
        };
        match uri.scheme_str() {
            Some("http" | "https") => {}
            Some(scheme) => return bad(&format!("the scheme {scheme:?} is not supported")),
            None => return bad("it has no scheme"),
        }
        match uri.authority() {
            Some(authority) if authority.as_str().contains('@') => bad("it has a user name"),
            Some(authority) if authority.host().is_empty() => bad("it has no host"),
            _ if uri.path() != "/" || uri.query().is_some() => bad("it has a path"),
            _ => Ok(uri),
        }
    }

    fn write(&self) -> String {
        self.to_string()
    }
}

/// The address of an OTLP collector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectorEndpoint(String);

impl CollectorEndpoint {
    /// The URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for CollectorEndpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let uri: Option<Uri> = text.parse().ok();
        match uri.filter(|uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some()) {
            // What is secret would be shown with the configuration.
            Some(uri) if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) => Err(
                "a collector's address has no user name or password; OTEL_EXPORTER_OTLP_HEADERS is for those"
                    .to_owned(),
            ),
            Some(_) => Ok(Self(text.to_owned())),
            None => Err(format!(
                "{text:?} is not the address of a collector; write it like \"http://127.0.0.1:4318\""
            )),
        }
    }
}

impl fmt::Display for CollectorEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
