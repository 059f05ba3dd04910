//! Certificates for servers on the loopback, made when they are needed.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair};

/// A certificate of `localhost` that vouches for itself, and its key: both as PEM.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// The certificate.
    pub chain: String,
    /// Its private key.
    pub key: String,
}

impl Certificate {
    /// A new one with this common name.
    pub fn new(common_name: &str) -> Self {
        let mut params = CertificateParams::new(["localhost".to_owned()]).expect("a DNS name");
        params.distinguished_name.push(DnType::CommonName, common_name);
        // Python trusts only what may vouch for others.
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a new key");
        let certificate = params.self_signed(&key).expect("a certificate that signs itself");
        Self { chain: certificate.pem(), key: key.serialize_pem() }
    }
}
