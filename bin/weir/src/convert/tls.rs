//! Certificates and tokens: from their keys in the configuration to what holds them, and what is wrong with them.

use anyhow::{Result, anyhow};
use http::{HeaderMap, HeaderName, HeaderValue};
use weir_config::{Config, ControlPlane, Protocol, Source};
use weir_tls::{Client, ClientSettings, Error, KeyPair, Part, Token, TokenFile};
use weir_upstream::Credentials;

/// What every use of files is called in the configuration, and whether they can be used.
pub(crate) fn problems(config: &Config) -> Vec<String> {
    let mut found = Vec::new();
    for (i, upstream) in config.upstreams.iter().enumerate() {
        let Source::ControlPlane(control_plane) = &upstream.source else { continue };
        let place = format!("upstream[{i}]");
        let tls = client(control_plane).map(|settings| settings.check());
        let token = control_plane.token_file.as_ref().map(|path| Token::load(path).map(drop));
        let checked = [tls, token].into_iter().flatten().filter_map(Result::err);
        found.extend(checked.map(|error| describe(&place, &error)));
    }
    found
}

/// How TLS is spoken to the control plane of upstream number `i`, and what it is told.
///
/// # Errors
/// When a file cannot be used.
pub(super) fn upstream(i: usize, control_plane: &ControlPlane) -> Result<(Option<Client>, Credentials)> {
    let place = format!("upstream[{i}]");
    let bad = |error| anyhow!(describe(&place, &error));
    let tls = client(control_plane).map(|settings| Client::start(&place, settings));
    let mut headers = HeaderMap::new();
    for (name, value) in &control_plane.headers {
        let mut value = HeaderValue::try_from(value)?;
        value.set_sensitive(true);
        headers.insert(HeaderName::try_from(name)?, value);
    }
    let token = keep(&place, control_plane.token_file.as_deref());
    Ok((tls.transpose().map_err(bad)?, Credentials { headers, token: token.map_err(bad)? }))
}

fn keep(place: &str, path: Option<&std::path::Path>) -> Result<Option<TokenFile>, Error> {
    path.map(|path| Token::keep(place, path)).transpose()
}

fn client(control_plane: &ControlPlane) -> Option<ClientSettings> {
    let tls = control_plane.tls.as_ref()?;
    Some(ClientSettings {
        ca: tls.ca.clone(),
        key_pair: tls.key_pair.as_ref().map(key_pair),
        server_name: tls.server_name.clone(),
        subject_alt_names: tls.subject_alt_names.clone(),
        alpn: if control_plane.protocol == Protocol::Rest { "http/1.1" } else { "h2" },
    })
}

fn key_pair(files: &weir_config::KeyPair) -> KeyPair {
    KeyPair { certificate: files.certificate.clone(), key: files.key.clone() }
}

/// The key that names the file, and what is wrong with it.
fn describe(place: &str, error: &Error) -> String {
    let key = match error.part {
        Part::Certificate => "tls.certificate",
        Part::Key => "tls.key",
        Part::Authorities => "tls.ca",
        Part::Token => "token_file",
    };
    format!("{place}.{key}: {error}")
}
