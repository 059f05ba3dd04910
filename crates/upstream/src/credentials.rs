//! Credentials that are sent to a control plane with each call.

use http::{HeaderMap, header};
use weir_tls::TokenFile;

/// Headers of each call. A stream keeps those that it was opened with.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// Headers that stay the same.
    pub headers: HeaderMap,
    /// What is sent as `authorization: Bearer …`.
    pub token: Option<TokenFile>,
}

impl Credentials {
    /// The headers of a call that is made now.
    pub(crate) fn headers(&self) -> HeaderMap {
        let mut headers = self.headers.clone();
        let bearer = self.token.as_ref().and_then(|token| token.current().bearer());
        headers.extend(bearer.map(|bearer| (header::AUTHORIZATION, bearer)));
        headers
    }
}
