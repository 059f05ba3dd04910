//! Encryption of what must not be read by whoever gets hold of the file: XChaCha20-Poly1305, with a random nonce
//! for each row.

use std::fmt;
use std::path::{Path, PathBuf};

use chacha20poly1305::aead::{Aead, Generate, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};

/// The length of a key, in bytes.
const KEY: usize = 32;
/// The length of a nonce, in bytes.
const NONCE: usize = 24;

/// What secrets are encrypted with.
#[derive(Clone)]
pub struct Key(XChaCha20Poly1305);

/// Why a file holds no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// It cannot be read.
    #[error("{path}: it cannot be read: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It holds something else.
    #[error(
        "{path} does not hold a key: needed are 64 hexadecimal digits, as of `openssl rand -hex 32`; found are \
         {length} bytes of something else", path = path.display()
    )]
    Malformed {
        /// The file.
        path: PathBuf,
        /// How much it holds, in bytes.
        length: usize,
    },
}

// === impl Key ===

impl Key {
    /// The key in a file: 32 bytes as hexadecimal digits.
    ///
    /// # Errors
    /// When the file cannot be read, or holds something else.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let text = std::fs::read(path).map_err(|source| KeyError::Io { path: path.to_owned(), source })?;
        let digits = text.trim_ascii();
        let malformed = || KeyError::Malformed { path: path.to_owned(), length: digits.len() };
        let key = parse(digits).ok_or_else(malformed)?;
        Ok(Self(XChaCha20Poly1305::new((&key).into())))
    }

    /// `plain`, encrypted, with what it takes to decrypt it at the same `place` again; none if there is no randomness.
    pub(crate) fn seal(&self, plain: &[u8], place: &[u8]) -> Option<Vec<u8>> {
        let nonce = XNonce::try_generate().ok()?;
        let sealed = self.0.encrypt(&nonce, Payload { msg: plain, aad: place }).ok()?;
        Some([nonce.as_slice(), &sealed].concat())
    }

    /// What was sealed for this `place`; none for what was not, or with another key.
    pub(crate) fn open(&self, sealed: &[u8], place: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE>()?;
        self.0.decrypt(nonce.into(), Payload { msg: sealed, aad: place }).ok()
    }
}

fn parse(digits: &[u8]) -> Option<[u8; KEY]> {
    let mut key = [0; KEY];
    let (pairs, rest) = digits.as_chunks::<2>();
    if !rest.is_empty() || pairs.len() != KEY {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    for (byte, [high, low]) in key.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(key)
}

/// Without the key.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Result<Key, KeyError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        std::fs::write(&path, text).unwrap();
        Key::read(&path)
    }

    #[test]
    fn what_is_sealed_opens_with_its_key_at_its_place_only() {
        let [right, other] = ["5f", "60"].map(|digits| key(&format!("{}\n", digits.repeat(32))).unwrap());
        let sealed = right.seal(b"secret", b"place").unwrap();
        assert!(!sealed.windows(6).any(|window| window == b"secret"));
        assert_ne!(right.seal(b"secret", b"place").unwrap(), sealed, "a nonce is used once");
        assert_eq!(right.open(&sealed, b"place").as_deref(), Some(&b"secret"[..]));
        assert_eq!(right.open(&sealed, b"elsewhere"), None);
        assert_eq!(other.open(&sealed, b"place"), None);
        assert_eq!(right.open(&sealed[..20], b"place"), None);
        let mut torn = sealed;
        torn[30] ^= 1;
        assert_eq!(right.open(&torn, b"place"), None);
    }

    #[test]
    fn a_key_is_64_hexadecimal_digits() {
        for text in [String::new(), "5f".repeat(31), "5f".repeat(33), "5g".repeat(32), "x".repeat(65)] {
            let error = key(&text).err().map(|error| error.to_string()).unwrap();
            assert!(error.contains(&format!("found are {} bytes", text.len())), "{error}");
        }
        let error = Key::read(Path::new("/nonexistent/key")).err().unwrap().to_string();
        assert!(error.starts_with("/nonexistent/key: it cannot be read: "), "{error}");
        assert_eq!(format!("{:?}", key(&"5f".repeat(32)).unwrap()), "Key");
    }
}
