//! Whom the commands trust that connect to somebody, and who they are to them: one piece for all of them.

use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use weir_tls::{Client, ClientSettings, Error, KeyPair, Part, Token};
use weir_upstream::Credentials;

/// What errors and logs call the files.
const PLACE: &str = "command line";

/// TLS, and a token.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "TLS and tokens")]
pub(crate) struct TrustArgs {
    /// Who vouches for the server, as PEM; without it, whom the system trusts
    #[arg(long, value_name = "FILE", env = "WEIR_TLS_CA")]
    tls_ca: Option<PathBuf>,
    /// The certificate to show, as PEM
    #[arg(long, value_name = "FILE", env = "WEIR_TLS_CERT", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Its private key, as PEM
    #[arg(long, value_name = "FILE", env = "WEIR_TLS_KEY", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// What the server's certificate is for; without it, the host that is connected to
    #[arg(long, value_name = "NAME", env = "WEIR_TLS_SERVER_NAME")]
    tls_server_name: Option<String>,
    /// A file with the bearer token to send
    #[arg(long, value_name = "FILE", env = "WEIR_TOKEN_FILE")]
    token_file: Option<PathBuf>,
}

impl TrustArgs {
    /// Whether anything was said of TLS.
    pub(crate) fn speaks_tls(&self) -> bool {
        self.tls_ca.is_some() || self.tls_cert.is_some() || self.tls_server_name.is_some()
    }

    /// How TLS is spoken, in which `alpn` is: `h2` or `http/1.1`; none to a server that speaks none. To be called in a
    /// tokio runtime.
    ///
    /// # Errors
    /// When a file cannot be used, or is for nothing.
    pub(crate) fn tls(&self, is_https: bool, alpn: &'static str) -> Result<Option<Client>> {
        if !is_https {
            return match self.speaks_tls() {
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

    /// What may be behind a connection that ends as soon as it begins: in TLS 1.3 a server that has not seen a
    /// certificate may be gone before it has said so.
    pub(crate) fn hint(&self, is_https: bool) -> &'static str {
        match is_https && self.tls_cert.is_none() {
            true => "; if the server demands a certificate, give one by --tls-cert and --tls-key",
            false => "",
        }
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
