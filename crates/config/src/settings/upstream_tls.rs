//! `[upstream.tls]`

use std::path::PathBuf;

use serde::Serialize;
use weir_types::Pattern;

use crate::values::{NonEmptyString, text};

/// How servers are told apart, and this instance is known to them. Paths are relative to where the program runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UpstreamTls {
    /// Whose certificates are trusted; by default those whom the system trusts.
    pub ca: Option<PathBuf>,
    /// What servers are shown that ask.
    #[serde(flatten)]
    pub key_pair: Option<KeyPair>,
    /// What the server's certificate is for; by default the host of the endpoint.
    pub server_name: Option<NonEmptyString>,
    /// The names of which the server's certificate has to have one, in place of the server's name.
    #[serde(with = "text")]
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
