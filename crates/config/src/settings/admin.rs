//! `[admin]`

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use weir_types::Pattern;

use crate::findings::Findings;
use crate::sections::Section;
use crate::settings::resolve;
use crate::values::text;

/// The admin server. Where anybody could connect, something is needed to look.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Admin {
    /// Where to listen.
    #[serde(default = "loopback", with = "text")]
    pub listen: SocketAddr,
    /// The file with the token that it takes to look.
    pub token_file: Option<PathBuf>,
    /// The file with the token that it takes to change something.
    pub change_token_file: Option<PathBuf>,
    /// TLS; none where it is not configured.
    pub tls: Option<AdminTls>,
}

/// TLS of the admin server: its certificate, and those of operators.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AdminTls {
    /// The certificate that operators are shown, then those that vouch for it.
    pub certificate: PathBuf,
    /// The private key of that.
    pub key: PathBuf,
    /// Who vouches for operators; where there is none, they are not asked for certificates.
    pub client_ca: Option<PathBuf>,
    /// Whose certificates are good to look.
    #[serde(default, with = "text")]
    pub read: Vec<Pattern>,
    /// Whose certificates are good to look and to change something.
    #[serde(default, with = "text")]
    pub change: Vec<Pattern>,
}

fn loopback() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 19000).into()
}

impl Section for Admin {
    fn check(&self, findings: &mut Findings) {
        if let Some(AdminTls { client_ca: None, read, change, .. }) = &self.tls {
            for (key, _) in [("read", read), ("change", change)].iter().filter(|(_, list)| !list.is_empty()) {
                findings.add(format!("tls.{key}"), "needs client_ca: who vouches for operators");
            }
        }
        let certificates =
            self.tls.as_ref().is_some_and(|tls| !tls.read.is_empty() || !tls.change.is_empty());
        if !self.listen.ip().is_loopback() && self.token_file.is_none() && !certificates {
            let message = "must be a loopback address without token_file, or tls with client_ca and read";
            findings.add("listen", format!("{message} (got {})", self.listen));
        }
    }
}

impl Admin {
    pub(crate) fn resolve(&mut self, directory: &Path) {
        resolve(directory, self.token_file.iter_mut().chain(&mut self.change_token_file));
        if let Some(AdminTls { certificate, key, client_ca, .. }) = &mut self.tls {
            resolve(directory, [certificate, key].into_iter().chain(client_ca));
        }
    }
}
