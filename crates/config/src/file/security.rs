//! The shape of certificates.

use std::path::PathBuf;

use serde::Deserialize;
use weir_types::Pattern;

use crate::values::{NonEmptyString, text};

#[derive(Debug, Default, Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct UpstreamTls {
    pub(crate) ca: Option<PathBuf>,
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
    pub(crate) server_name: Option<NonEmptyString>,
    #[serde(with = "text")]
    pub(crate) subject_alt_names: Vec<Pattern>,
}
