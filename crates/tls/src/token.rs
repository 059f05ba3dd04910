//! Tokens: who has one may do what it is for.

use std::path::{Path, PathBuf};

use http::HeaderValue;
use subtle::ConstantTimeEq;

use crate::error::{Error, Fault, Part};
use crate::reload::{Reloaded, read};

/// A token in a file, read anew when that changes.
pub type TokenFile = Reloaded<Token>;

/// A token. It is never shown.
pub struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// What a file at `path` holds now, without the white space around it.
    ///
    /// # Errors
    /// When there is no token.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let files = [(path.to_owned(), Part::Token)];
        let contents = read(&files)?;
        Self::parse(path, &contents[0])
    }

    /// Follows the content of the file at `path`.
    ///
    /// # Errors
    /// When there is no token in it to begin with.
    pub fn keep(place: &str, path: &Path) -> Result<TokenFile, Error> {
        let owned: PathBuf = path.to_owned();
        let files = vec![(owned.clone(), Part::Token)];
        Reloaded::start(place, files, move |contents| Self::parse(&owned, &contents[0]))
    }

    fn parse(path: &Path, contents: &[u8]) -> Result<Self, Error> {
        let token = contents.trim_ascii();
        let fault = match token {
            [] => Fault::NoToken,
            token if token.iter().all(u8::is_ascii_graphic) => {
                return Ok(Self(String::from_utf8_lossy(token).into_owned()));
            }
            _ => Fault::BadToken,
        };
        Err(Error::new(path, Part::Token, fault))
    }

    /// Whether this is the same, in a time that does not depend on the length of the equal part.
    pub fn is(&self, other: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(other).into()
    }

    /// `Bearer …`, marked as what nobody is to be shown.
    pub fn bearer(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::try_from(format!("Bearer {}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}
