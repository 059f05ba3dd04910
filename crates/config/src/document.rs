//! Settings as a configuration file: every key with its value, also where that is a default.
//!
//! Owns which keys stand there. What is written is read back to the same settings, but for secrets, which are not
//! written at all.

use toml::Table;

use crate::Config;

impl Config {
    /// In the form of a configuration file, with every default, and without secrets.
    ///
    /// # Errors
    /// When a path is not UTF-8.
    pub fn document(&self) -> Result<Table, toml::ser::Error> {
        Table::try_from(self)
    }
}
