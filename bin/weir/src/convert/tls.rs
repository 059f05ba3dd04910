//! Certificates and tokens: from their keys in the configuration to what holds them, and what is wrong with them.

use std::time::Duration;

use anyhow::{Result, anyhow};
use http::{HeaderMap, HeaderName, HeaderValue};
use weir_admin::Auth;
use weir_config::{Admin, Config, ControlPlane, Downstream, Protocol, Source};
use weir_tls::{
    Acceptor, Client, ClientCertificate, ClientSettings, Error, KeyPair, Part, ServerSettings, Token,
    TokenFile,
};
use weir_upstream::Credentials;

/// What every use of files is called in the configuration, and whether they can be used.
pub(crate) fn problems(config: &Config) -> Vec<String> {
    let mut found = Vec::new();
    let clients = server(&config.downstream).map(|settings| settings.check());
    found.extend(clients.and_then(Result::err).map(|error| describe("downstream", &error)));
    if let Some(admin) = &config.admin {
        let tls = operators(admin).map(|settings| settings.check());
        let token = admin.token_file.as_ref().map(|path| Token::load(path).map(drop));
        let checked = [tls, token].into_iter().flatten().filter_map(Result::err);
        found.extend(checked.map(|error| describe("admin", &error)));
        let change = admin.change_token_file.as_ref().and_then(|path| Token::load(path).err());
        found.extend(change.map(|error| format!("{CHANGE_TOKEN}: {error}")));
    }
    for (i, upstream) in config.upstreams.iter().enumerate() {
        let Source::ControlPlane(control_plane) = &upstream.source else { continue };
        found.extend(of_upstream(i, control_plane));
    }
    found
}

fn of_upstream(i: usize, control_plane: &ControlPlane) -> impl Iterator<Item = String> {
    let tls = client(control_plane).map(|settings| settings.check());
    let token = control_plane.general.token_file.as_ref().map(|path| Token::load(path).map(drop));
    let checked = [tls, token].into_iter().flatten().filter_map(Result::err);
    checked.map(move |error| describe(&format!("upstream[{i}]"), &error))
}

/// Whether the files of upstream number `i` can be used, and its certificate is valid.
///
/// # Errors
/// When one cannot be.
pub(crate) fn check_upstream(i: usize, control_plane: &ControlPlane) -> Result<()> {
    of_upstream(i, control_plane).next().map_or(Ok(()), |problem| Err(anyhow!(problem)))
}

const CHANGE_TOKEN: &str = "admin.change_token_file";

/// TLS settings of the client listener; none without TLS. To be called in a tokio runtime.
///
/// # Errors
/// When a file cannot be used.
pub(crate) fn downstream(downstream: &Downstream) -> Result<Option<Acceptor>> {
    let acceptor = server(downstream).map(|settings| Acceptor::start("downstream", settings)).transpose();
    acceptor.map_err(|error| anyhow!(describe("downstream", &error)))
}

/// As [`downstream`], where a certificate that has expired is an error too. To be called in a tokio runtime.
///
/// # Errors
/// When a file cannot be used.
pub(crate) fn valid_downstream(downstream: &Downstream) -> Result<Option<Acceptor>> {
    if let Some(settings) = server(downstream) {
        settings.check().map_err(|error| anyhow!(describe("downstream", &error)))?;
    }
    self::downstream(downstream)
}

/// As [`admin`], where a certificate that has expired is an error too. To be called in a tokio runtime.
///
/// # Errors
/// When a file cannot be used.
pub(crate) fn valid_admin(admin: &Admin) -> Result<(Option<Acceptor>, Auth)> {
    if let Some(settings) = operators(admin) {
        settings.check().map_err(|error| anyhow!(describe("admin", &error)))?;
    }
    self::admin(admin)
}

/// TLS settings of the admin listener, and the credentials that it requires. To be called in a tokio runtime.
///
/// # Errors
/// When a file cannot be used.
pub(crate) fn admin(admin: &Admin) -> Result<(Option<Acceptor>, Auth)> {
    let bad = |error| anyhow!(describe("admin", &error));
    let acceptor = operators(admin).map(|settings| Acceptor::start("admin", settings)).transpose();
    let change_token = keep("admin", admin.change_token_file.as_deref());
    let (readers, changers) = match &admin.tls {
        Some(tls) => (tls.read.clone(), tls.change.clone()),
        None => Default::default(),
    };
    let auth = Auth {
        token: keep("admin", admin.token_file.as_deref()).map_err(bad)?,
        change_token: change_token.map_err(|error| anyhow!("{CHANGE_TOKEN}: {error}"))?,
        readers,
        changers,
    };
    Ok((acceptor.map_err(bad)?, auth))
}

fn server(downstream: &Downstream) -> Option<ServerSettings> {
    let tls = downstream.tls.as_ref()?;
    Some(ServerSettings {
        key_pair: KeyPair { certificate: tls.certificate.clone(), key: tls.key.clone() },
        client_ca: tls.client_ca.clone(),
        client_certificate: match tls.client_certificate() {
            weir_config::ClientCertificate::Required => ClientCertificate::Required,
            weir_config::ClientCertificate::Optional => ClientCertificate::Optional,
            weir_config::ClientCertificate::None => ClientCertificate::None,
        },
        subject_alt_names: tls.subject_alt_names.clone(),
        alpn: vec!["h2", "http/1.1"],
        handshake_timeout: tls.handshake_timeout.get(),
        max_handshakes: tls.max_handshakes.get(),
    })
}

fn operators(admin: &Admin) -> Option<ServerSettings> {
    let tls = admin.tls.as_ref()?;
    Some(ServerSettings {
        key_pair: KeyPair { certificate: tls.certificate.clone(), key: tls.key.clone() },
        client_ca: tls.client_ca.clone(),
        // Probes have none.
        client_certificate: ClientCertificate::Optional,
        subject_alt_names: Vec::new(),
        alpn: vec!["http/1.1"],
        handshake_timeout: Duration::from_secs(10),
        max_handshakes: 64,
    })
}

/// TLS settings and credentials for the control plane of upstream number `i`.
///
/// # Errors
/// When a file cannot be used.
pub(super) fn upstream(i: usize, control_plane: &ControlPlane) -> Result<(Option<Client>, Credentials)> {
    let place = format!("upstream[{i}]");
    let bad = |error| anyhow!(describe(&place, &error));
    let tls = client(control_plane).map(|settings| Client::start(&place, settings));
    let (mut headers, mut filled) = (HeaderMap::new(), Vec::new());
    for (name, template) in &control_plane.general.headers {
        let name = HeaderName::try_from(name)?;
        // Without placeholders there is nothing to wait for.
        let Some(text) = template.reveal().fill(|_| None) else {
            filled.push((name, template.clone()));
            continue;
        };
        let mut value = HeaderValue::try_from(text)?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    let token = keep(&place, control_plane.general.token_file.as_deref());
    Ok((tls.transpose().map_err(bad)?, Credentials { headers, filled, token: token.map_err(bad)? }))
}

fn keep(place: &str, path: Option<&std::path::Path>) -> Result<Option<TokenFile>, Error> {
    path.map(|path| Token::keep(place, path)).transpose()
}

fn client(control_plane: &ControlPlane) -> Option<ClientSettings> {
    let tls = control_plane.general.tls.as_ref()?;
    Some(ClientSettings {
        ca: tls.ca.clone(),
        key_pair: tls
            .certificate
            .clone()
            .zip(tls.key.clone())
            .map(|(certificate, key)| KeyPair { certificate, key }),
        server_name: tls.server_name.as_ref().map(|name| name.as_str().to_owned()),
        subject_alt_names: tls.subject_alt_names.clone(),
        alpn: if control_plane.modes.protocol == Protocol::Rest { "http/1.1" } else { "h2" },
    })
}

/// The key that names the file, and what is wrong with it.
fn describe(place: &str, error: &Error) -> String {
    let key = match error.part {
        Part::Certificate => "tls.certificate",
        Part::Key => "tls.key",
        Part::Authorities if place.starts_with("upstream") => "tls.ca",
        Part::Authorities => "tls.client_ca",
        Part::Token => "token_file",
    };
    format!("{place}.{key}: {error}")
}
