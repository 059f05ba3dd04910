//! What became of the configuration file, for operators.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use weir_config::Config;

/// The configuration that is in force, and how that came. Cheap to clone; all clones show the same.
#[derive(Clone)]
pub(crate) struct Loaded(Arc<Mutex<State>>);

/// What is shown.
#[derive(Clone)]
pub(crate) struct State {
    /// Where it stands.
    pub(crate) file: PathBuf,
    /// What is in force.
    pub(crate) config: Config,
    /// When the file was taken over last.
    pub(crate) at: SystemTime,
    /// The last time that the file was read again, if it was.
    pub(crate) last_reload: Option<LastReload>,
    /// The keys that were changed in the file and wait for a restart.
    pub(crate) waiting: Vec<&'static str>,
}

/// What became of the file when it was read again.
#[derive(Clone)]
pub(crate) struct LastReload {
    /// When.
    pub(crate) at: SystemTime,
    /// Which keys have changed that count now, or why the file was not taken over.
    pub(crate) outcome: Result<Vec<&'static str>, String>,
}

impl Loaded {
    /// The program was started with `config`.
    pub(crate) fn new(file: PathBuf, config: Config) -> Self {
        let at = SystemTime::now();
        Self(Arc::new(Mutex::new(State { file, config, at, last_reload: None, waiting: Vec::new() })))
    }

    /// The file was taken over, and `config` is in force. `changed` counts now, and `waiting` after a restart.
    pub(crate) fn applied(&self, config: &Config, changed: Vec<&'static str>, waiting: Vec<&'static str>) {
        let mut state = self.0.lock();
        let at = SystemTime::now();
        (state.config, state.at, state.waiting) = (config.clone(), at, waiting);
        state.last_reload = Some(LastReload { at, outcome: Ok(changed) });
    }

    /// The file was not taken over.
    pub(crate) fn refused(&self, reason: String) {
        self.0.lock().last_reload = Some(LastReload { at: SystemTime::now(), outcome: Err(reason) });
    }

    pub(crate) fn look(&self) -> State {
        self.0.lock().clone()
    }
}
