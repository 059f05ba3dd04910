//! A certificate authority that makes what a test needs: good certificates, and bad ones.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use rcgen::string::Ia5String;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType,
    date_time_ymd,
};

use crate::process::Certificate;

/// Whoever trusts it trusts what it issues.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    /// A new one with this common name.
    pub fn new(common_name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, common_name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().expect("a new key");
        let pem = params.self_signed(&key).expect("a certificate that signs itself").pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// Its own certificate.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// A certificate with these names, which are URIs, addresses and DNS names; valid for long.
    pub fn issue(&self, names: &[&str]) -> Certificate {
        self.sign(params(names))
    }

    /// One that has expired.
    pub fn issue_expired(&self, names: &[&str]) -> Certificate {
        let mut params = params(names);
        (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2020, 1, 2));
        self.sign(params)
    }

    fn sign(&self, params: CertificateParams) -> Certificate {
        let key = KeyPair::generate().expect("a new key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a signed certificate");
        Certificate { chain: certificate.pem(), key: key.serialize_pem() }
    }

    /// Writes its certificate to `NAME.pem` in `directory`, at once.
    pub fn write(&self, directory: &Path, name: &str) -> PathBuf {
        replace(directory, &format!("{name}.pem"), &self.pem)
    }
}

impl Certificate {
    /// Writes it to `NAME.pem` and `NAME.key` in `directory`, each at once, and gives both paths.
    pub fn write(&self, directory: &Path, name: &str) -> (PathBuf, PathBuf) {
        let key = replace(directory, &format!("{name}.key"), &self.key);
        (replace(directory, &format!("{name}.pem"), &self.chain), key)
    }
}

fn replace(directory: &Path, name: &str, text: &str) -> PathBuf {
    let (path, beside) = (directory.join(name), directory.join(format!(".{name}.new")));
    std::fs::write(&beside, text).expect("write a file");
    std::fs::rename(&beside, &path).expect("rename a file");
    path
}

fn params(names: &[&str]) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, *names.first().unwrap_or(&"nobody"));
    params.use_authority_key_identifier_extension = true;
    params.subject_alt_names = names.iter().map(|name| san(name)).collect();
    params
}

fn san(name: &str) -> SanType {
    let text = || Ia5String::try_from(name).expect("an ASCII name");
    match name.parse::<IpAddr>() {
        Ok(address) => SanType::IpAddress(address),
        Err(_) if name.contains("://") => SanType::URI(text()),
        Err(_) => SanType::DnsName(text()),
    }
}
