//! `[downstream.tls]`

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use weir_types::Pattern;

use crate::findings::Findings;
use crate::settings::resolve;
use crate::values::{ClientCertificate, Count, PositiveDuration, text};

/// TLS at `downstream.listen`: the certificate of this instance, and those of clients.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DownstreamTls {
    /// The certificate that clients are shown, then those that vouch for it.
    pub certificate: PathBuf,
    /// The private key of that.
    pub key: PathBuf,
    /// Who vouches for clients; there unless they are not asked for certificates.
    pub client_ca: Option<PathBuf>,
    /// Whether clients show certificates; required unless configured, where there is a `client_ca`.
    pub client_certificate: Option<ClientCertificate>,
    /// The names of which a client's certificate has to have one; none are needed where this is empty.
    #[serde(default, with = "text")]
    pub subject_alt_names: Vec<Pattern>,
    /// How long a handshake may take.
    #[serde(default = "PositiveDuration::seconds::<10>")]
    pub handshake_timeout: PositiveDuration,
    /// How many handshakes there are at once.
    #[serde(default = "Count::of::<1024>")]
    pub max_handshakes: Count,
}

/// The message for a key that needs identities, where clients have none.
pub(crate) const NO_IDENTITIES: &str = "needs downstream.tls.client_ca: clients have no identity without it";

impl DownstreamTls {
    /// Whether clients show certificates.
    pub fn client_certificate(&self) -> ClientCertificate {
        self.client_certificate.unwrap_or(match self.client_ca {
            Some(_) => ClientCertificate::Required,
            None => ClientCertificate::None,
        })
    }

    pub(crate) fn check(&self, findings: &mut Findings) {
        match (&self.client_ca, self.client_certificate()) {
            (None, ClientCertificate::Required | ClientCertificate::Optional) => {
                findings.add("tls.client_certificate", "needs client_ca: who vouches for clients");
            }
            (Some(_), ClientCertificate::None) => {
                findings.add("tls.client_ca", "does not apply with client_certificate = \"none\"");
            }
            _ => {}
        }
        if self.client_ca.is_none() && !self.subject_alt_names.is_empty() {
            findings.add("tls.subject_alt_names", NO_IDENTITIES);
        }
    }

    pub(crate) fn resolve(&mut self, directory: &Path) {
        self.client_certificate = Some(self.client_certificate());
        let Self { certificate, key, client_ca, .. } = self;
        resolve(directory, [certificate, key].into_iter().chain(client_ca));
    }
}
