//! Certificates and rights. Paths are relative to where the program runs.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use weir_types::{Pattern, TypeUrl};

use crate::values::ClientCertificate;
use crate::written::written;

/// How servers are told apart, and this instance is known to them. Paths are relative to where the program runs.
#[derive(Clone, Debug, Default, Serialize)]
pub struct UpstreamTls {
    /// Whose certificates are trusted; by default those whom the system trusts.
    pub ca: Option<PathBuf>,
    /// What servers are shown that ask.
    #[serde(flatten)]
    pub key_pair: Option<KeyPair>,
    /// What the server's certificate is for; by default the host of the endpoint.
    pub server_name: Option<String>,
    /// The names of which the server's certificate has to have one, in place of the server's name.
    #[serde(serialize_with = "written")]
    pub subject_alt_names: Vec<Pattern>,
}

/// A certificate and its private key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyPair {
    /// The certificate, then those that vouch for it.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// How this instance is known to clients, and clients are told apart.
#[derive(Clone, Debug, Serialize)]
pub struct DownstreamTls {
    /// What clients are shown.
    #[serde(flatten)]
    pub key_pair: KeyPair,
    /// Who vouches for clients; there unless they are not asked for certificates.
    pub client_ca: Option<PathBuf>,
    /// Whether clients show certificates.
    pub client_certificate: ClientCertificate,
    /// The names of which a client's certificate has to have one; none are needed where this is empty.
    #[serde(serialize_with = "written")]
    pub subject_alt_names: Vec<Pattern>,
    /// How long a handshake may take; not zero.
    #[serde(serialize_with = "written")]
    pub handshake_timeout: Duration,
    /// How many handshakes there are at once; not zero.
    pub max_handshakes: usize,
}

/// How the admin server is known to operators, and these are told apart.
#[derive(Clone, Debug, Serialize)]
pub struct AdminTls {
    /// What operators are shown.
    #[serde(flatten)]
    pub key_pair: KeyPair,
    /// Who vouches for operators; where there is none, they are not asked for certificates.
    pub client_ca: Option<PathBuf>,
    /// Whose certificates are good to look.
    #[serde(serialize_with = "written")]
    pub read: Vec<Pattern>,
    /// Whose certificates are good to look and to change something.
    #[serde(serialize_with = "written")]
    pub change: Vec<Pattern>,
}

/// What some clients may have.
#[derive(Clone, Debug, Serialize)]
pub struct AccessRule {
    /// Whom it is for, by the names in their certificates; without it, everybody.
    #[serde(serialize_with = "written")]
    pub identities: Option<Vec<Pattern>>,
    /// The types of resources; where there is none, all but secrets.
    #[serde(serialize_with = "written")]
    pub types: Vec<TypeUrl>,
    /// Their names; where there is none, all.
    #[serde(serialize_with = "written")]
    pub names: Vec<Pattern>,
}
