//! Certificates and credentials. What the files hold is for whoever reads them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use http::{HeaderName, HeaderValue, Uri, header};

use super::upstream::Reader;
use crate::file;
use crate::findings::Findings;
use crate::secret::Secret;
use crate::settings::{KeyPair, UpstreamTls};

/// Headers that belong to the transport.
const RESERVED: [&str; 5] = ["host", "te", "content-type", "content-length", "user-agent"];

/// The pair of files at `key`, of which there may be both or none.
pub(super) fn key_pair(
    key: &str,
    certificate: Option<PathBuf>,
    private: Option<PathBuf>,
    directory: &Path,
    findings: &mut Findings,
) -> Option<KeyPair> {
    match (certificate, private) {
        (Some(certificate), Some(key)) => {
            return Some(KeyPair { certificate: directory.join(certificate), key: directory.join(key) });
        }
        (Some(_), None) => findings.add(format!("{key}.certificate"), "needs the private key beside it: key"),
        (None, Some(_)) => {
            findings.add(format!("{key}.key"), "needs the certificate that it is for: certificate")
        }
        (None, None) => {}
    }
    None
}

impl Reader<'_> {
    pub(super) fn tls(
        &mut self,
        file: Option<file::UpstreamTls>,
        endpoints: &[Uri],
        directory: &Path,
    ) -> Option<UpstreamTls> {
        let is_https = |uri: &Uri| uri.scheme_str() == Some("https");
        if !endpoints.iter().any(is_https) {
            if file.is_some() {
                self.add("tls", "applies only to endpoints that are https://");
            }
            return None;
        }
        let file = file.unwrap_or_default();
        let key = format!("{}.tls", self.key);
        Some(UpstreamTls {
            ca: file.ca.map(|ca| directory.join(ca)),
            key_pair: key_pair(&key, file.certificate, file.key, directory, self.findings),
            server_name: file.server_name,
            subject_alt_names: file.subject_alt_names,
        })
    }

    /// The headers of calls.
    pub(super) fn credentials(
        &mut self,
        file: &mut file::Upstream,
        endpoints: &[Uri],
    ) -> BTreeMap<String, Secret> {
        let headers = file.headers.take().unwrap_or_default();
        for (name, value) in &headers {
            self.check_header(name, value);
        }
        let own = headers.keys().any(|name| name.eq_ignore_ascii_case(header::AUTHORIZATION.as_str()));
        if own && file.token_file.is_some() {
            self.add("token_file", "headers has an authorization already");
        }
        let plain = endpoints.iter().position(|uri| uri.scheme_str() == Some("http"));
        match (plain, file.token_over_plaintext.unwrap_or_default()) {
            (Some(i), false) if own || file.token_file.is_some() => self.add(
                if own { "headers.authorization" } else { "token_file" },
                format!(
                    "endpoints[{i}] is not https://, and would show it to everyone on the way; \
                         token_over_plaintext = true allows that"
                ),
            ),
            (None, true) => self.add("token_over_plaintext", "every endpoint is https://"),
            _ => {}
        }
        headers.into_iter().map(|(name, value)| (name, Secret::from(value))).collect()
    }

    fn check_header(&mut self, name: &str, value: &str) {
        let key = format!("headers.{name}");
        match HeaderName::try_from(name) {
            Err(_) => self.add(&key, format!("{name:?} is no name of a header")),
            Ok(name) if RESERVED.contains(&name.as_str()) || name.as_str().starts_with("grpc-") => {
                self.add(&key, "this header belongs to the transport");
            }
            Ok(name) if name.as_str().ends_with("-bin") => {
                self.add(&key, "headers with binary values are not supported");
            }
            Ok(_) => {}
        }
        if HeaderValue::try_from(value).is_err() {
            self.add(&key, "the value has characters that no header may have");
        }
    }
}
