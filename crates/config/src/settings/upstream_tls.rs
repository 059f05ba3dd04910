//! `[upstream.tls]`

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use weir_types::Pattern;

use crate::findings::Findings;
use crate::values::{NonEmptyString, text};

/// TLS to a control plane. Paths are relative to where the program runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct UpstreamTls {
    /// The authorities that are trusted; by default those that the system trusts.
    pub ca: Option<PathBuf>,
    /// The certificate that servers are shown that ask, then those that vouch for it; there if `key` is.
    pub certificate: Option<PathBuf>,
    /// The private key of that.
    pub key: Option<PathBuf>,
    /// What the server's certificate is for; by default the host of the endpoint.
    pub server_name: Option<NonEmptyString>,
    /// The names of which the server's certificate has to have one, in place of the server's name.
    #[serde(with = "text")]
    pub subject_alt_names: Vec<Pattern>,
}

impl UpstreamTls {
    pub(crate) fn check(&self, findings: &mut Findings) {
        match (&self.certificate, &self.key) {
            (Some(_), None) => findings.add("tls.certificate", "needs the private key beside it: key"),
            (None, Some(_)) => findings.add("tls.key", "needs the certificate that it is for: certificate"),
            (Some(_), Some(_)) | (None, None) => {}
        }
    }
}
