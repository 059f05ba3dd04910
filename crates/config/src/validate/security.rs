//! Who is let in, and who may have what.

use std::path::{Path, PathBuf};

use weir_types::{NodeField, Pattern};

use super::Findings;
use crate::file::{self, File};
use crate::settings::{AccessRule, Admin, AdminTls, DownstreamTls, KeyPair};
use crate::values::{ClientCertificate, Text};

/// What a valid file says.
pub(super) struct Secured {
    pub(super) downstream: Option<DownstreamTls>,
    pub(super) admin: Option<Admin>,
    pub(super) access: Vec<AccessRule>,
}

/// Takes what this is about out of `file`.
pub(super) fn validate(file: &mut File, directory: &Path, findings: &mut Findings) -> Secured {
    let downstream = file.downstream.tls.take().map(|tls| downstream_tls(tls, directory, findings));
    if downstream.is_none() && !file.downstream.listen_plaintext.is_empty() {
        findings
            .add("downstream.listen_plaintext", "without downstream.tls there is no TLS at listen either");
    }
    let identities = downstream.as_ref().is_some_and(|tls| tls.client_ca.is_some());
    check_rules(&file.dynamic_parameters, identities, findings);
    let access = std::mem::take(&mut file.access);
    for (i, _) in access.iter().enumerate().filter(|(_, rule)| rule.identities.is_some() && !identities) {
        findings.add(format!("access[{i}].identities"), NO_IDENTITIES);
    }
    Secured {
        downstream,
        admin: file.admin.take().map(|file| admin(file, directory, findings)),
        access: access.into_iter().map(access_rule).collect(),
    }
}

const NO_IDENTITIES: &str = "no client has an identity without downstream.tls.client_ca";

fn patterns(texts: Vec<Text<Pattern>>) -> Vec<Pattern> {
    texts.into_iter().map(|text| text.0).collect()
}

fn downstream_tls(file: file::DownstreamTls, directory: &Path, findings: &mut Findings) -> DownstreamTls {
    let given = file.client_certificate;
    let client_certificate = given.unwrap_or(match file.client_ca {
        Some(_) => ClientCertificate::Required,
        None => ClientCertificate::None,
    });
    match (&file.client_ca, client_certificate) {
        (None, ClientCertificate::Required | ClientCertificate::Optional) => {
            findings.add("downstream.tls.client_certificate", "it needs client_ca: who vouches for clients")
        }
        (Some(_), ClientCertificate::None) => {
            findings.add("downstream.tls.client_ca", "it does not apply with client_certificate = \"none\"");
        }
        _ => {}
    }
    if file.client_ca.is_none() && !file.subject_alt_names.is_empty() {
        findings.add("downstream.tls.subject_alt_names", NO_IDENTITIES);
    }
    if file.handshake_timeout.0.0.is_zero() {
        findings.add("downstream.tls.handshake_timeout", "it must be longer than nothing");
    }
    findings.add_zero("downstream.tls.max_handshakes", file.max_handshakes);
    DownstreamTls {
        key_pair: key_pair(file.certificate, file.key, directory),
        client_ca: file.client_ca.map(|ca| directory.join(ca)),
        client_certificate,
        subject_alt_names: patterns(file.subject_alt_names),
        handshake_timeout: file.handshake_timeout.0.0,
        max_handshakes: file.max_handshakes,
    }
}

fn key_pair(certificate: PathBuf, key: PathBuf, directory: &Path) -> KeyPair {
    KeyPair { certificate: directory.join(certificate), key: directory.join(key) }
}

fn admin(file: file::Admin, directory: &Path, findings: &mut Findings) -> Admin {
    let tls = file.tls.map(|tls| AdminTls {
        key_pair: key_pair(tls.certificate, tls.key, directory),
        client_ca: tls.client_ca.map(|ca| directory.join(ca)),
        read: patterns(tls.read),
        change: patterns(tls.change),
    });
    if let Some(AdminTls { client_ca: None, read, change, .. }) = &tls {
        for (key, _) in [("read", read), ("change", change)].iter().filter(|(_, list)| !list.is_empty()) {
            findings.add(format!("admin.tls.{key}"), "it needs client_ca: who vouches for operators");
        }
    }
    let certificates = tls.as_ref().is_some_and(|tls| !tls.read.is_empty() || !tls.change.is_empty());
    let address = file.listen.0.0;
    if !address.ip().is_loopback() && file.token_file.is_none() && !certificates {
        findings.add(
            "admin.listen",
            format!(
                "{address} is no loopback address, where everybody could look; it needs token_file, \
                 or tls with client_ca and read"
            ),
        );
    }
    let path = |path: Option<PathBuf>| path.map(|path| directory.join(path));
    Admin {
        listen: address,
        token_file: path(file.token_file),
        change_token_file: path(file.change_token_file),
        tls,
    }
}

fn access_rule(file: file::Access) -> AccessRule {
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
