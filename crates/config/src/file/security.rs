//! The shape of what is about certificates and rights.

use std::path::PathBuf;

use serde::Deserialize;
use weir_types::Pattern;

use super::seconds;
use crate::values::{ClientCertificate, DurationText, ResourceType, Text};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct UpstreamTls {
    pub(crate) ca: Option<PathBuf>,
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
    pub(crate) server_name: Option<String>,
    pub(crate) subject_alt_names: Vec<Text<Pattern>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DownstreamTls {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    pub(crate) client_ca: Option<PathBuf>,
    pub(crate) client_certificate: Option<ClientCertificate>,
    #[serde(default)]
    pub(crate) subject_alt_names: Vec<Text<Pattern>>,
    #[serde(default = "seconds::<10>")]
    pub(crate) handshake_timeout: Text<DurationText>,
    #[serde(default = "max_handshakes")]
    pub(crate) max_handshakes: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdminTls {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    pub(crate) client_ca: Option<PathBuf>,
    #[serde(default)]
    pub(crate) read: Vec<Text<Pattern>>,
    #[serde(default)]
    pub(crate) change: Vec<Text<Pattern>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Access {
    pub(crate) identities: Option<Vec<Text<Pattern>>>,
    #[serde(default)]
    pub(crate) types: Vec<Text<ResourceType>>,
    #[serde(default)]
    pub(crate) names: Vec<Text<Pattern>>,
}

fn max_handshakes() -> usize {
    1024
}
