//! TLS on every side: certificates, certificate authorities and tokens from files.
//!
//! Owns reading them, making rustls configurations of them, making these anew when the files change, and who the
//! peer at the other end of a connection is. A connection keeps what it was made with; only new ones see new files,
//! and a bad new file changes nothing. Sessions are never resumed, so that each connection is judged by what is
//! trusted when it is made. Never decides what a peer may have: that is for whoever serves it.

mod client;
mod error;
mod identity;
mod metrics;
mod pem;
mod reload;
mod server;
mod token;

#[cfg(test)]
mod tests;

pub use client::{Client, ClientSettings, ConnectError};
pub use error::{Error, Part};
pub use identity::Identity;
pub use reload::Reloaded;
pub use server::{Acceptor, ClientCertificate, HandshakeError, ServerSettings};
pub use token::{Token, TokenFile};

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use rustls::crypto::CryptoProvider;

/// A certificate, with those between it and its authority, and its private key: two PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPair {
    /// The certificate, then those that vouch for it.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

fn provider() -> Arc<CryptoProvider> {
    static PROVIDER: LazyLock<Arc<CryptoProvider>> =
        LazyLock::new(|| Arc::new(rustls::crypto::ring::default_provider()));
    Arc::clone(&PROVIDER)
}
