//! Credentials that are sent to a control plane with each call.

use http::{HeaderMap, HeaderName, HeaderValue, header};
use weir_config::Secret;
use weir_tls::TokenFile;
use weir_types::DynamicParameters;

/// Headers of each call. A stream keeps those that it was opened with.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// Headers that stay the same.
    pub headers: HeaderMap,
    /// Headers that are filled with values of the client that a stream is for.
    pub filled: Vec<(HeaderName, Secret)>,
    /// What is sent as `authorization: Bearer …`.
    pub token: Option<TokenFile>,
}

impl Credentials {
    /// The headers of a call that is made now, for a client with `values`. Without a value there is no header.
    pub(crate) fn headers(&self, values: &DynamicParameters) -> HeaderMap {
        let mut headers = self.headers.clone();
        for (name, template) in &self.filled {
            let filled = template.reveal().fill(|key| values.get(key).map(str::to_owned));
            let value = filled.and_then(|text| HeaderValue::try_from(text).ok());
            headers.extend(value.map(|mut value| {
                value.set_sensitive(true);
                (name.clone(), value)
            }));
        }
        let bearer = self.token.as_ref().and_then(|token| token.current().bearer());
        headers.extend(bearer.map(|bearer| (header::AUTHORIZATION, bearer)));
        headers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p21_a_header_is_sent_where_every_placeholder_has_a_value() {
        let template = Secret::try_from("By={{weir}};URI={identity.spiffe}".to_owned()).unwrap();
        let filled = vec![(HeaderName::from_static("x-forwarded-client-cert"), template)];
        let credentials = Credentials { filled, ..Credentials::default() };
        let values = [("identity.spiffe", "spiffe://td/a")].into_iter().collect();
        let headers = credentials.headers(&values);
        assert_eq!(headers["x-forwarded-client-cert"], "By={weir};URI=spiffe://td/a");
        assert!(headers["x-forwarded-client-cert"].is_sensitive());
        assert!(credentials.headers(&DynamicParameters::empty()).is_empty());
    }
}
