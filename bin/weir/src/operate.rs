//! The commands for a running instance: they ask its admin interface.

pub(crate) mod admin;
pub(crate) mod client;
pub(crate) mod clients;
pub(crate) mod confirm_removals;
pub(crate) mod diff;
pub(crate) mod drain;
pub(crate) mod log_level;
pub(crate) mod output;
pub(crate) mod resources;
pub(crate) mod status;
pub(crate) mod trace_change;

use crate::trust::TrustArgs;

/// Where the instance is.
#[derive(Debug, clap::Args)]
pub(crate) struct AdminArgs {
    /// The admin interface of the instance
    #[arg(long, value_name = "URL", env = "WEIR_ADMIN", default_value = "http://127.0.0.1:19000")]
    admin: admin::Address,
    #[command(flatten)]
    trust: TrustArgs,
}
