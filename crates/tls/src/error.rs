//! What is wrong with files, for the person who put them there.

use std::io;
use std::path::PathBuf;

use rustls::{AlertDescription, CertificateError, InvalidMessage, OtherError};

/// Which of the files an error is about: each has a key of its own in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// One's own certificate.
    Certificate,
    /// Its private key.
    Key,
    /// Those whose certificates are trusted.
    Authorities,
    /// A token.
    Token,
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {fault}", path.display())]
pub struct Error {
    /// Which file.
    pub path: PathBuf,
    /// As what it was read.
    pub part: Part,
    fault: Fault,
}

impl Error {
    pub(crate) fn new(path: impl Into<PathBuf>, part: Part, fault: Fault) -> Self {
        Self { path: path.into(), part, fault }
    }
}

/// Why a handshake failed, in words for whoever put the files there.
pub(crate) fn explain(error: &io::Error) -> String {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    let words = match cause {
        Some(rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(other)))) => {
            return other.to_string();
        }
        Some(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
            "the other side's certificate is of no authority that is trusted here"
        }
        Some(rustls::Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. },
        )) => "the other side's certificate has expired",
        Some(rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType)) => {
            "the other side does not use TLS"
        }
        Some(rustls::Error::NoCertificatesPresented) => "the other side showed no certificate",
        Some(rustls::Error::AlertReceived(AlertDescription::UnknownCA)) => {
            "the other side does not trust the authority of our certificate"
        }
        Some(rustls::Error::AlertReceived(AlertDescription::CertificateRequired)) => {
            "the other side demands a certificate, and there is none to show"
        }
        Some(rustls::Error::AlertReceived(AlertDescription::CertificateExpired)) => {
            "for the other side, our certificate has expired"
        }
        _ => return error.to_string(),
    };
    words.to_owned()
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error("it cannot be read: {0}")]
    Unreadable(#[source] io::Error),
    #[error("it is not PEM: {0}")]
    Pem(String),
    #[error("there is no certificate in it")]
    NoCertificate,
    #[error("there is no private key in it")]
    NoKey,
    #[error("certificate {number} in it is malformed: {reason}")]
    Malformed { number: usize, reason: String },
    #[error("the certificate of {subject} has expired at {at}")]
    Expired { subject: String, at: String },
    #[error("the certificate of {subject} is valid from {at} on only")]
    NotYetValid { subject: String, at: String },
    #[error("the private key cannot be used: {0}")]
    Key(String),
    #[error("the private key does not fit the certificate in {0}")]
    OtherKey(String),
    #[error("certificate {number} in it is no authority: {reason}")]
    Authority { number: usize, reason: String },
    #[error("the system has no certificate authorities{0}")]
    NoSystemRoots(String),
    #[error("the token is empty")]
    NoToken,
    #[error("the token has characters that no header may have: only visible ASCII is allowed")]
    BadToken,
    #[error("{0}")]
    Tls(String),
}
