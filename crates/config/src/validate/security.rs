//! Who is let in, and who may have what.

use std::path::{Path, PathBuf};

use weir_types::{NodeField, Pattern};

use crate::file::{self, File};
use crate::findings::Findings;
use crate::settings::{AccessRule, Admin, AdminTls, DownstreamTls, KeyPair};
use crate::values::{ClientCertificate, Text};

const NO_IDENTITIES: &str = "no client has an identity without downstream.tls.client_ca";

/// Checks every rule about certificates and rights.
pub(super) fn check(file: &File, findings: &mut Findings) {
    if let Ok(Some(admin)) = &file.admin {
        check_admin(admin, findings);
    }
    let Ok(downstream) = &file.downstream else { return };
    if let Some(tls) = &downstream.tls {
        check_downstream_tls(tls, findings);
    } else if !downstream.listen_plaintext.is_empty() {
        findings
            .add("downstream.listen_plaintext", "without downstream.tls there is no TLS at listen either");
    }
    let identities = downstream.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
    check_rules(file.dynamic_parameters.as_deref().unwrap_or_default(), identities, findings);
    let access = file.access.as_deref().unwrap_or_default();
    for (i, _) in access.iter().enumerate().filter(|(_, rule)| rule.identities.is_some() && !identities) {
        findings.add(format!("access[{i}].identities"), NO_IDENTITIES);
    }
}

fn patterns(texts: Vec<Text<Pattern>>) -> Vec<Pattern> {
    texts.into_iter().map(|text| text.0).collect()
}

fn client_certificate(tls: &file::DownstreamTls) -> ClientCertificate {
    tls.client_certificate.unwrap_or(match tls.client_ca {
        Some(_) => ClientCertificate::Required,
        None => ClientCertificate::None,
    })
}

fn check_downstream_tls(tls: &file::DownstreamTls, findings: &mut Findings) {
    match (&tls.client_ca, client_certificate(tls)) {
        (None, ClientCertificate::Required | ClientCertificate::Optional) => {
            findings.add("downstream.tls.client_certificate", "it needs client_ca: who vouches for clients");
        }
        (Some(_), ClientCertificate::None) => {
            findings.add("downstream.tls.client_ca", "it does not apply with client_certificate = \"none\"");
        }
        _ => {}
    }
    if tls.client_ca.is_none() && !tls.subject_alt_names.is_empty() {
        findings.add("downstream.tls.subject_alt_names", NO_IDENTITIES);
    }
    if tls.handshake_timeout.0.0.is_zero() {
        findings.add("downstream.tls.handshake_timeout", "it must be longer than nothing");
    }
    findings.add_zero("downstream.tls.max_handshakes", tls.max_handshakes);
}

pub(super) fn downstream_tls(file: file::DownstreamTls, directory: &Path) -> DownstreamTls {
    DownstreamTls {
        client_certificate: client_certificate(&file),
        key_pair: key_pair(file.certificate, file.key, directory),
        client_ca: file.client_ca.map(|ca| directory.join(ca)),
        subject_alt_names: patterns(file.subject_alt_names),
        handshake_timeout: file.handshake_timeout.0.0,
        max_handshakes: file.max_handshakes,
    }
}

fn key_pair(certificate: PathBuf, key: PathBuf, directory: &Path) -> KeyPair {
    KeyPair { certificate: directory.join(certificate), key: directory.join(key) }
}

fn check_admin(admin: &file::Admin, findings: &mut Findings) {
    if let Some(file::AdminTls { client_ca: None, read, change, .. }) = &admin.tls {
        for (key, _) in [("read", read), ("change", change)].iter().filter(|(_, list)| !list.is_empty()) {
            findings.add(format!("admin.tls.{key}"), "it needs client_ca: who vouches for operators");
        }
    }
    let certificates = admin.tls.as_ref().is_some_and(|tls| !tls.read.is_empty() || !tls.change.is_empty());
    let address = admin.listen.0.0;
    if !address.ip().is_loopback() && admin.token_file.is_none() && !certificates {
        findings.add(
            "admin.listen",
            format!(
                "{address} is no loopback address, where everybody could look; it needs token_file, \
                 or tls with client_ca and read"
            ),
        );
    }
}

pub(super) fn admin(file: file::Admin, directory: &Path) -> Admin {
    let path = |path: Option<PathBuf>| path.map(|path| directory.join(path));
    Admin {
        listen: file.listen.0.0,
        token_file: path(file.token_file),
        change_token_file: path(file.change_token_file),
        tls: file.tls.map(|tls| AdminTls {
            key_pair: key_pair(tls.certificate, tls.key, directory),
            client_ca: path(tls.client_ca),
            read: patterns(tls.read),
            change: patterns(tls.change),
        }),
    }
}

pub(super) fn access_rule(file: file::Access) -> AccessRule {
    AccessRule {
        identities: file.identities.map(patterns),
        types: file.types.into_iter().map(|text| text.0.0).collect(),
        names: patterns(file.names),
    }
}

fn check_rules(rules: &[file::DynamicParameter], identities: bool, findings: &mut Findings) {
    for (i, rule) in rules.iter().enumerate() {
        let of_identity = matches!(rule.from.0, NodeField::Identity(_));
        if of_identity && !identities {
            findings.add(format!("dynamic_parameters[{i}].from"), NO_IDENTITIES);
        }
        if rule.enforce && !of_identity {
            let message =
                "a client says of its node what it likes; only what comes from identity.* can be enforced";
            findings.add(format!("dynamic_parameters[{i}].enforce"), message);
        }
        if !rule.enforce && rules.iter().any(|other| other.enforce && other.key == rule.key) {
            let message = format!("another rule for {:?} is enforced, so this one has to be, too", rule.key);
            findings.add(format!("dynamic_parameters[{i}].key"), message);
        }
    }
}
