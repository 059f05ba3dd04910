//! What a person is told whose certificates, credentials or access rules are not as they should be.

use std::path::Path;

use super::errors::{FILES, HEAD, PLANE, error};

#[test]
fn certificates_and_credentials() {
    const TLS: &str = "[[upstream]]\nendpoints = ['https://a:1']\n";
    for (parts, wanted) in [
        (
            &[HEAD, PLANE, "tls.ca = 'x'\n"][..],
            "4: upstream[0].tls: it applies only to endpoints that are https://",
        ),
        (
            &[HEAD, FILES, "token_file = 'x'\n"],
            "4: upstream[0].token_file: it does not apply to files; it belongs to endpoints",
        ),
        (
            &[HEAD, TLS, "tls.certificate = 'x'\n"],
            "4: upstream[0].tls.certificate: it needs the private key beside it: key",
        ),
        (
            &[HEAD, TLS, "tls.key = 'x'\n"],
            "4: upstream[0].tls.key: it needs the certificate that it is for: certificate",
        ),
        (
            &[HEAD, TLS, "tls.subject_alt_names = ['a*b']\n"],
            "4: upstream[0].tls.subject_alt_names[0]: \"a*b\" is no pattern; write a text, or one with a single * at its beginning or at its end",
        ),
        (
            &[HEAD, TLS, "tls.server_name = ''\n"],
            "4: upstream[0].tls.server_name: \"\" is no name; leave it out for the host of the endpoint",
        ),
        (
            &[HEAD, PLANE, "token_file = 'x'\n"],
            "4: upstream[0].token_file: endpoints[0] is not https://, and would show it to everyone on the way; token_over_plaintext = true allows that",
        ),
        (
            &[HEAD, PLANE, "headers = { Authorization = 'x' }\n"],
            "4: upstream[0].headers.authorization: endpoints[0] is not https://, and would show it to everyone on the way; token_over_plaintext = true allows that",
        ),
        (
            &[HEAD, TLS, "token_over_plaintext = true\n"],
            "4: upstream[0].token_over_plaintext: every endpoint is https://",
        ),
        (
            &[HEAD, TLS, "token_file = 'x'\nheaders = { authorization = 'x' }\n"],
            "4: upstream[0].token_file: headers has an authorization already",
        ),
        (
            &[HEAD, TLS, "headers = { 'a b' = 'x' }\n"],
            "4: upstream[0].headers.a b: \"a b\" is no name of a header",
        ),
        (
            &[HEAD, TLS, "headers = { grpc-timeout = 'x' }\n"],
            "4: upstream[0].headers.grpc-timeout: this header belongs to the transport",
        ),
        (
            &[HEAD, TLS, "headers = { x-bin = 'x' }\n"],
            "4: upstream[0].headers.x-bin: headers with binary values are not supported",
        ),
        (
            &[HEAD, TLS, "headers = { x = \"a\\nb\" }\n"],
            "4: upstream[0].headers.x: the value has characters that no header may have",
        ),
    ] {
        assert_eq!(error(parts), wanted);
    }
    for good in ["token_file = 'x'\ntoken_over_plaintext = true\n", "headers = { x-tenant = 'a' }\n"] {
        crate::parse(&[HEAD, PLANE, good].concat(), Path::new("x")).unwrap();
    }
}
