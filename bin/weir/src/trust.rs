//! Whom the commands trust that connect to somebody, and who they are to them: one piece for all of them.

use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use weir_tls::{Client, ClientSettings, Error, KeyPair, Part, Token};
use weir_upstream::Credentials;

use crate::answers;
use crate::operate::admin::Address;

/// What errors and logs call the files.
const PLACE: &str = "command line";

/// The heading of these options in the help. Each has it, since options that follow would be below it otherwise.
const HEADING: &str = "TLS and tokens";

/// TLS, and a token.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct TrustArgs {
    /// CA certificates for the server, as PEM; default: the roots of the system
    #[arg(long, value_name = "FILE", env = "WEIR_TLS_CA", help_heading = HEADING)]
    tls_ca: Option<PathBuf>,
    /// The client certificate, as PEM
    #[arg(long, value_name = "FILE", env = "WEIR_TLS_CERT", help_heading = HEADING, requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Its private key, as PEM
    #[arg(long, value_name = "FILE", env = "WEIR_TLS_KEY", help_heading = HEADING, requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// The name that the server's certificate must have; default: the host of its address
    #[arg(long, value_name = "NAME", env = "WEIR_TLS_SERVER_NAME", help_heading = HEADING)]
    tls_server_name: Option<String>,
    /// A file with the bearer token to send
    #[arg(long, value_name = "FILE", env = "WEIR_TOKEN_FILE", help_heading = HEADING)]
    token_file: Option<PathBuf>,
}

impl TrustArgs {
    /// Whether any TLS option was given.
    pub(crate) fn uses_tls(&self) -> bool {
        self.tls_ca.is_some() || self.tls_cert.is_some() || self.tls_server_name.is_some()
    }

    /// TLS settings with this `alpn` (`h2` or `http/1.1`); none for a server without TLS. To be called in a
    /// tokio runtime.
    ///
    /// # Errors
    /// When a file cannot be used, or is for nothing.
    pub(crate) fn tls(&self, is_https: bool, alpn: &'static str) -> Result<Option<Client>> {
        if !is_https {
            return match self.uses_tls() {
                true => bail!("--tls-… is for servers that are https://"),
                false => Ok(None),
            };
        }
        let pair = self.tls_cert.clone().zip(self.tls_key.clone());
        let settings = ClientSettings {
            ca: self.tls_ca.clone(),
            key_pair: pair.map(|(certificate, key)| KeyPair { certificate, key }),
            server_name: self.tls_server_name.clone(),
            subject_alt_names: Vec::new(),
            alpn,
        };
        settings.check().map_err(|error| describe(&error))?;
        Client::start(PLACE, settings).map(Some).map_err(|error| describe(&error))
    }

    /// What may be behind a connection to a server that fails.
    pub(crate) fn hint(&self, is_https: bool) -> Hint<'_> {
        Hint { is_https, is_anonymous: self.tls_cert.is_none(), trust: Some(self) }
    }

    /// The token that is sent.
    ///
    /// # Errors
    /// When there is none where it should be.
    pub(crate) fn token(&self) -> Result<Option<Token>> {
        self.token_file.as_deref().map(Token::load).transpose().map_err(|error| describe(&error))
    }

    /// What is sent with each call. To be called in a tokio runtime.
    ///
    /// # Errors
    /// When there is no token where it should be.
    pub(crate) fn credentials(&self) -> Result<Credentials> {
        let token = self.token_file.as_deref().map(|path| Token::keep(PLACE, path));
        let token = token.transpose().map_err(|error| describe(&error))?;
        Ok(Credentials { token, ..Credentials::default() })
    }
}

/// What to do about a connection that fails.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hint<'a> {
    is_https: bool,
    /// Whether there is no certificate to show.
    is_anonymous: bool,
    /// How to connect to the server once more; none where it is not asked what it is.
    trust: Option<&'a TrustArgs>,
}

impl Hint<'_> {
    /// Whether the admin interface of a Weir is at `endpoint`, a URL.
    pub(crate) async fn is_admin(self, endpoint: &str) -> bool {
        let (Some(trust), Ok(address)) = (self.trust, endpoint.parse::<Address>()) else { return false };
        match trust.tls(address.is_https(), "http/1.1") {
            Ok(tls) => answers::is_admin(&address, tls.as_ref()).await,
            Err(_) => false,
        }
    }

    /// A remedy for `reason`, to be appended to it.
    pub(crate) fn of(self, reason: &str) -> &'static str {
        let states = |words| reason.contains(words);
        match self.is_https {
            // An alert of TLS, read as a frame of HTTP/2.
            false if states("frame with invalid size") => "; if the server uses TLS, write https://",
            false => "",
            true if states("does not use TLS") => "; write http:// for a server without TLS",
            true if states("not valid for name") => "; state what it is for by --tls-server-name",
            true if states("of no authority that is trusted") => "; name its authority by --tls-ca",
            // In TLS 1.3 a server that has not seen a certificate may close the connection before it has sent the reason.
            true if self.is_anonymous => {
                "; if the server demands a certificate, give one by --tls-cert and --tls-key"
            }
            true => "",
        }
    }
}

/// The argument that names the file, and what is wrong with it.
fn describe(error: &Error) -> anyhow::Error {
    let argument = match error.part {
        Part::Certificate => "--tls-cert",
        Part::Key => "--tls-key",
        Part::Authorities => "--tls-ca",
        Part::Token => "--token-file",
    };
    anyhow!("{argument}: {error}")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        trust: TrustArgs,
    }

    fn trust(arguments: &[&str]) -> Result<TrustArgs, clap::Error> {
        Command::try_parse_from([&["x"], arguments].concat()).map(|command| command.trust)
    }

    #[test]
    fn what_fails_has_a_remedy() {
        let anonymous = trust(&[]).unwrap();
        let (plain, tls) = (anonymous.hint(false), anonymous.hint(true));
        for (hint, reason, wanted) in [
            (plain, "http2 error: connection error detected: frame with invalid size", "https://"),
            (plain, "Connection refused", ""),
            (tls, "the other side does not use TLS", "http://"),
            (tls, "the other side's certificate is of no authority that is trusted here", "--tls-ca"),
            (tls, "certificate not valid for name \"a\"", "--tls-server-name"),
            (tls, "connection reset", "--tls-cert and --tls-key"),
        ] {
            let hinted = hint.of(reason);
            assert!(hinted.contains(wanted) && hinted.is_empty() == wanted.is_empty(), "{reason}{hinted}");
        }
        let known = trust(&["--tls-cert", "/a.pem", "--tls-key", "/a.key"]).unwrap();
        assert_eq!(known.hint(true).of("connection reset"), "");
    }

    #[tokio::test]
    async fn what_cannot_be_used_is_named_by_its_argument() {
        for (arguments, wanted) in [
            (&["--tls-ca", "/none.pem"][..], "--tls-ca: /none.pem: it cannot be read: "),
            (&["--tls-cert", "/a.pem", "--tls-key", "/a.key"], "--tls-cert: /a.pem: it cannot be read: "),
        ] {
            let error = trust(arguments).unwrap().tls(true, "h2").unwrap_err().to_string();
            assert!(error.starts_with(wanted), "{error}");
        }
        let error = trust(&["--token-file", "/none"]).unwrap().token().unwrap_err().to_string();
        assert!(error.starts_with("--token-file: /none: it cannot be read: "), "{error}");
        let plain = trust(&["--tls-ca", "/none.pem"]).unwrap().tls(false, "h2").unwrap_err();
        assert_eq!(plain.to_string(), "--tls-… is for servers that are https://");
        assert!(trust(&["--tls-cert", "/a.pem"]).is_err(), "a certificate without its key");
        assert!(trust(&[]).unwrap().tls(false, "h2").unwrap().is_none());
    }
}
