//! Certificates, keys and authorities, out of the contents of PEM files.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use rustls::RootCertStore;
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem};
use x509_parser::prelude::{ASN1Time, FromDer, X509Certificate};

use crate::error::{Error, Fault, Part};
use crate::{KeyPair, provider};

/// The certificate and the key in the contents of `files`. Whether it is valid now is not asked.
pub(crate) fn certified_key(
    files: &KeyPair,
    certificate: &[u8],
    key: &[u8],
) -> Result<Arc<CertifiedKey>, Error> {
    let about_key = |fault| Error::new(&files.key, Part::Key, fault);
    let chain = certificates(&files.certificate, Part::Certificate, certificate)?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| {
        about_key(match error {
            pem::Error::NoItemsFound => Fault::NoKey,
            error => Fault::Pem(error.to_string()),
        })
    })?;
    let certified = CertifiedKey::from_der(chain, key, &provider()).map_err(|error| {
        about_key(match error {
            rustls::Error::InconsistentKeys(_) => Fault::OtherKey(files.certificate.display().to_string()),
            error => Fault::Key(error.to_string()),
        })
    })?;
    Ok(Arc::new(certified))
}

/// Those whose certificates are trusted: every certificate in the contents of `path`.
pub(crate) fn authorities(path: &Path, contents: &[u8]) -> Result<Arc<RootCertStore>, Error> {
    let mut roots = RootCertStore::empty();
    for (i, certificate) in certificates(path, Part::Authorities, contents)?.into_iter().enumerate() {
        roots.add(certificate).map_err(|error| {
            let fault = Fault::Authority { number: i + 1, reason: error.to_string() };
            Error::new(path, Part::Authorities, fault)
        })?;
    }
    Ok(Arc::new(roots))
}

/// Those whom the system trusts.
pub(crate) fn system_authorities() -> Result<Arc<RootCertStore>, Error> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (added, _ignored) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        let why: Vec<_> = found.errors.iter().map(ToString::to_string).collect();
        let why = if why.is_empty() { String::new() } else { format!(": {}", why.join("; ")) };
        return Err(Error::new("(system)", Part::Authorities, Fault::NoSystemRoots(why)));
    }
    Ok(Arc::new(roots))
}

fn certificates(path: &Path, part: Part, contents: &[u8]) -> Result<Vec<CertificateDer<'static>>, Error> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(contents).collect();
    let found = found.map_err(|error| Error::new(path, part, Fault::Pem(error.to_string())))?;
    if found.is_empty() {
        return Err(Error::new(path, part, Fault::NoCertificate));
    }
    for (i, certificate) in found.iter().enumerate() {
        X509Certificate::from_der(certificate).map_err(|error| {
            Error::new(path, part, Fault::Malformed { number: i + 1, reason: error.to_string() })
        })?;
    }
    Ok(found)
}

/// Until when the first of the certificates is valid, in seconds since 1970; an error where it is not valid `now`.
pub(crate) fn check_validity(path: &Path, key: &CertifiedKey, now: SystemTime) -> Result<u64, Error> {
    let Some(Ok((_, certificate))) = key.cert.first().map(|der| X509Certificate::from_der(der)) else {
        return Err(Error::new(path, Part::Certificate, Fault::NoCertificate));
    };
    let now = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let now =
        ASN1Time::from_timestamp(now.try_into().unwrap_or(i64::MAX)).unwrap_or_else(|_| ASN1Time::now());
    let (validity, subject) = (certificate.validity(), certificate.subject().to_string());
    let fault = if now > validity.not_after {
        Fault::Expired { subject, at: validity.not_after.to_string() }
    } else if now < validity.not_before {
        Fault::NotYetValid { subject, at: validity.not_before.to_string() }
    } else {
        return Ok(validity.not_after.timestamp().try_into().unwrap_or(0));
    };
    Err(Error::new(path, Part::Certificate, fault))
}
