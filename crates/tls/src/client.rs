//! The side that connects.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{verify_tls12_signature, verify_tls13_signature};
use rustls::server::ParsedCertificate;
use rustls::sign::SingleCertAndKey;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use weir_types::Pattern;

use crate::error::{Error, Fault, Part, explain};
use crate::reload::{Contents, Reloaded, Source, read};
use crate::server::{NotNamed, keep, valid_until};
use crate::{KeyPair, pem, provider};

/// How servers are distinguished, and one is known to them.
#[derive(Clone, Debug, Default)]
pub struct ClientSettings {
    /// Who vouches for servers; by default those whom the system trusts.
    pub ca: Option<PathBuf>,
    /// What servers are shown, if they ask.
    pub key_pair: Option<KeyPair>,
    /// What the server is called, and its certificate is for; by default the host that is connected to.
    pub server_name: Option<String>,
    /// The names of which the server's certificate has to have one, in place of the server's name.
    pub subject_alt_names: Vec<Pattern>,
    /// The application protocol: `h2` or `http/1.1`.
    pub alpn: &'static str,
}

/// Why there is no TLS connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The host is neither a DNS name nor an address.
    #[error("{0:?} is no name that a certificate could be for")]
    Name(String),
    /// One side did not like the other, or the server does not use TLS.
    #[error("the TLS handshake with {server} failed: {}", explain(error))]
    Handshake {
        /// As what the server was addressed.
        server: String,
        /// What went wrong.
        error: io::Error,
    },
    /// The server uses TLS, but not the protocol that it is needed for.
    #[error("{server} does not support {alpn} (ALPN)")]
    Protocol {
        /// As what the server was addressed.
        server: String,
        /// The protocol that it would have to support.
        alpn: &'static str,
    },
}

/// Makes TLS connections to servers. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Client {
    config: Reloaded<ClientConfig>,
    server_name: Option<String>,
    alpn: &'static str,
}

impl ClientSettings {
    /// Reads the files, and states what is wrong with them.
    ///
    /// # Errors
    /// When one cannot be used.
    pub fn check(&self) -> Result<(), Error> {
        let contents = read(&self.files())?;
        self.config(&contents, Some(SystemTime::now())).map(drop)
    }

    fn files(&self) -> Vec<Source> {
        let own = self.key_pair.iter().flat_map(|KeyPair { certificate, key }| {
            [(certificate.clone(), Part::Certificate), (key.clone(), Part::Key)]
        });
        own.chain(self.ca.iter().map(|ca| (ca.clone(), Part::Authorities))).collect()
    }

    /// What connects, and until when its certificate is valid. With `now` it has to be.
    fn config(&self, contents: &Contents, now: Option<SystemTime>) -> Result<(ClientConfig, u64), Error> {
        let roots = match (&self.ca, contents.last()) {
            (Some(ca), Some(contents)) => pem::authorities(ca, contents)?,
            _ => pem::system_authorities()?,
        };
        let about = |error: rustls::Error| {
            Error::new(self.ca.clone().unwrap_or_default(), Part::Authorities, Fault::Tls(error.to_string()))
        };
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(about)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Verifier {
                roots,
                names: self.subject_alt_names.clone(),
            }));
        let (mut config, until) = match &self.key_pair {
            None => (builder.with_no_client_auth(), 0),
            Some(files) => {
                let key = pem::certified_key(files, &contents[0], &contents[1])?;
                let until = valid_until(files, &key, now)?;
                (builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(key))), until)
            }
        };
        config.alpn_protocols = vec![self.alpn.as_bytes().to_vec()];
        config.resumption = Resumption::disabled();
        Ok((config, until))
    }
}

impl Client {
    /// Connects with `settings`. `place` is the name of the connection in logs and metrics. To be called in a tokio runtime.
    ///
    /// # Errors
    /// When a file cannot be used.
    pub fn start(place: &str, settings: ClientSettings) -> Result<Self, Error> {
        let (server_name, alpn) = (settings.server_name.clone(), settings.alpn);
        let files = settings.files();
        let config = keep(place, files, move |contents, now| settings.config(contents, now))?;
        Ok(Self { config, server_name, alpn })
    }

    /// Makes a TLS connection of `socket`, which is connected to `host`.
    ///
    /// # Errors
    /// When the server is not whom it should be, or does not like the client.
    pub async fn connect<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        host: &str,
        socket: S,
    ) -> Result<TlsStream<S>, ConnectError> {
        let server = self.server_name.as_deref().unwrap_or(host);
        // An address of IPv6 stands in brackets in a URI.
        let bare = server.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(bare.to_owned()).map_err(|_| ConnectError::Name(bare.to_owned()))?;
        let stream = TlsConnector::from(self.config.current()).connect(name, socket).await;
        let server = server.to_owned();
        let stream = stream.map_err(|error| ConnectError::Handshake { server: server.clone(), error })?;
        match stream.get_ref().1.alpn_protocol() {
            Some(agreed) if agreed == self.alpn.as_bytes() => Ok(stream),
            // HTTP/1.1 is the protocol of servers without ALPN.
            None if self.alpn == "http/1.1" => Ok(stream),
            _ => Err(ConnectError::Protocol { server, alpn: self.alpn }),
        }
    }
}

/// Trusts servers whose certificate is good, and has one of some names; where there are none, that of the server.
#[derive(Debug)]
struct Verifier {
    roots: Arc<RootCertStore>,
    names: Vec<Pattern>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let certificate = ParsedCertificate::try_from(end_entity)?;
        let algorithms = provider().signature_verification_algorithms.all;
        verify_server_cert_signed_by_trust_anchor(&certificate, &self.roots, intermediates, now, algorithms)?;
        match self.names.is_empty() {
            true => verify_server_name(&certificate, server_name)?,
            false => NotNamed::check(end_entity, &self.names)?,
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &provider().signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &provider().signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider().signature_verification_algorithms.supported_schemes()
    }
}
