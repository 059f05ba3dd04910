//! The configuration.

use anyhow::{Context, Result};
use weir_admin::{Configuration, Reload};

use crate::loaded::{LastReload, State};

/// As the admin server shows it.
pub(super) fn shown(state: State) -> Result<Configuration> {
    let effective = state.config.document().context("write the configuration")?;
    Ok(Configuration {
        file: state.file.display().to_string(),
        loaded: state.at,
        last_reload: state.last_reload.map(reload),
        waiting_for_restart: state.waiting.into_iter().map(str::to_owned).collect(),
        effective: serde_json::to_value(effective).context("write the configuration")?,
    })
}

fn reload(LastReload { at, outcome }: LastReload) -> Reload {
    let applied = outcome.is_ok();
    let (changed, error) = match outcome {
        Ok(changed) => (changed.into_iter().map(str::to_owned).collect(), None),
        Err(reason) => (Vec::new(), Some(reason)),
    };
    Reload { at, applied, changed, error }
}
