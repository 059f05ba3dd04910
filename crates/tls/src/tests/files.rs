//! Errors about files.

use std::fs;

use super::*;
use crate::{Part, Token};

#[test]
fn what_is_wrong_with_a_servers_files_is_stated() {
    let world = World::new();
    world.ours.issue_expired(&["old.example"]).write(world.path(), "expired");
    fs::write(world.file("empty.pem"), "").unwrap();
    fs::write(world.file("text.pem"), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        .unwrap();
    let with = |certificate: &str, key: &str, ca: &str| {
        let key_pair = KeyPair { certificate: world.file(certificate), key: world.file(key) };
        let settings = ServerSettings { key_pair, client_ca: Some(world.file(ca)), ..world.server() };
        let error = settings.check().unwrap_err();
        (error.part, error.to_string().replace(&format!("{}/", world.path().display()), ""))
    };
    for (files, part, wanted) in [
        (
            ("none.pem", "server.key", "ca.pem"),
            Part::Certificate,
            "none.pem: it cannot be read: No such file",
        ),
        (
            ("empty.pem", "server.key", "ca.pem"),
            Part::Certificate,
            "empty.pem: there is no certificate in it",
        ),
        (
            ("server.key", "server.key", "ca.pem"),
            Part::Certificate,
            "server.key: there is no certificate in it",
        ),
        (
            ("text.pem", "server.key", "ca.pem"),
            Part::Certificate,
            "text.pem: certificate 1 in it is malformed",
        ),
        (("server.pem", "server.pem", "ca.pem"), Part::Key, "server.pem: there is no private key in it"),
        (
            ("server.pem", "client.key", "ca.pem"),
            Part::Key,
            "client.key: the private key does not fit the certificate in server.pem",
        ),
        (
            ("expired.pem", "expired.key", "ca.pem"),
            Part::Certificate,
            "expired.pem: the certificate of CN=old.example has expired at Jan  2 00:00:00 2020 +00:00",
        ),
        (
            ("server.pem", "server.key", "empty.pem"),
            Part::Authorities,
            "empty.pem: there is no certificate in it",
        ),
        (("server.pem", "server.key", "no-ca.pem"), Part::Authorities, "no-ca.pem: it cannot be read"),
    ] {
        let (found, error) = with(files.0, files.1, files.2);
        assert!(error.starts_with(wanted), "{error}");
        assert_eq!(found, part, "{error}");
    }
    world.server().check().unwrap();
    world.client().check().unwrap();
    ClientSettings { key_pair: None, ..world.client() }.check().unwrap();
}

#[test]
fn a_token_is_what_stands_in_the_file_and_never_shown() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    let load = |text: &str| {
        fs::write(&path, text).unwrap();
        Token::load(&path)
    };
    let token = load(" secret\n").unwrap();
    assert!(token.is(b"secret") && !token.is(b"secret ") && !token.is(b"secre") && !token.is(b""));
    let bearer = token.bearer().unwrap();
    assert_eq!(bearer.as_bytes(), b"Bearer secret");
    assert_eq!(format!("{token:?} {bearer:?}"), "Token(…) Sensitive");
    for (text, wanted) in
        [("\n", "the token is empty"), ("a b", "the token has characters"), ("é", "the token has")]
    {
        let error = load(text).unwrap_err();
        assert_eq!(error.part, Part::Token);
        assert!(error.to_string().contains(wanted), "{error}");
        assert!(!error.to_string().contains("a b"), "{error}");
    }
}
