//! The side that is connected to.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use parking_lot::RwLock;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, OtherError, ServerConfig, SignatureScheme,
};
use rustls_pki_types::{CertificateDer, UnixTime};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use weir_types::Pattern;

use crate::error::{Error, Fault, Part, explain};
use crate::metrics::{Metrics, ValidUntil};
use crate::reload::{Contents, Reloaded, Source, read};
use crate::{Identity, KeyPair, pem, provider};

/// Whether clients show certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientCertificate {
    /// They must.
    Required,
    /// They may; what they show has to be good.
    Optional,
    /// They are not asked.
    None,
}

/// How one is known to clients, and clients are distinguished.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// What clients are shown.
    pub key_pair: KeyPair,
    /// Who vouches for clients; needed unless they are not asked for certificates.
    pub client_ca: Option<PathBuf>,
    /// Whether clients show certificates.
    pub client_certificate: ClientCertificate,
    /// The names of which a client's certificate has to have one; none are needed where this is empty.
    pub subject_alt_names: Vec<Pattern>,
    /// The supported application protocols, the preferred one first: `h2`, `http/1.1`.
    pub alpn: Vec<&'static str>,
    /// How long a handshake may take, the wait for its turn included.
    pub handshake_timeout: Duration,
    /// How many handshakes there are at once, of clients that have begun theirs.
    pub max_handshakes: usize,
}

/// Why a client was not let in.
#[derive(Debug, thiserror::Error)]
pub enum HandshakeError {
    /// It took too long.
    #[error("the TLS handshake was not over within {0:?}")]
    Timeout(Duration),
    /// One side did not like the other, or the client does not use TLS.
    #[error("the TLS handshake failed: {}", explain(.0))]
    Failed(#[from] io::Error),
}

/// Makes TLS connections of what clients connect with. Cheap to clone; all clones go by the same settings.
#[derive(Clone, Debug)]
pub struct Acceptor(Arc<RwLock<Door>>);

/// By what a handshake goes.
#[derive(Clone, Debug)]
struct Door {
    config: Reloaded<ServerConfig>,
    turns: Arc<Semaphore>,
    timeout: Duration,
}

impl ServerSettings {
    /// Reads the files, and states what is wrong with them.
    ///
    /// # Errors
    /// When one cannot be used.
    pub fn check(&self) -> Result<(), Error> {
        let contents = read(&self.files())?;
        self.config(&contents, Some(SystemTime::now())).map(drop)
    }

    fn files(&self) -> Vec<Source> {
        let KeyPair { certificate, key } = &self.key_pair;
        let own = [(certificate.clone(), Part::Certificate), (key.clone(), Part::Key)];
        let ca = self.client_ca.iter().map(|ca| (ca.clone(), Part::Authorities));
        own.into_iter().chain(ca).collect()
    }

    /// What serves, and until when its certificate is valid. With `now` it has to be.
    fn config(&self, contents: &Contents, now: Option<SystemTime>) -> Result<(ServerConfig, u64), Error> {
        let about = |error: rustls::Error| {
            Error::new(&self.key_pair.certificate, Part::Certificate, Fault::Tls(error.to_string()))
        };
        let key = pem::certified_key(&self.key_pair, &contents[0], &contents[1])?;
        let until = valid_until(&self.key_pair, &key, now)?;
        let builder = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(about)?;
        let builder = match (&self.client_ca, self.client_certificate) {
            (_, ClientCertificate::None) | (None, _) => builder.with_no_client_auth(),
            (Some(ca), demand) => {
                let roots = pem::authorities(ca, &contents[2])?;
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider());
                let verifier = match demand {
                    ClientCertificate::Optional => verifier.allow_unauthenticated().build(),
                    _ => verifier.build(),
                };
                let verifier = verifier
                    .map_err(|error| Error::new(ca, Part::Authorities, Fault::Tls(error.to_string())))?;
                let names = self.subject_alt_names.clone();
                builder.with_client_cert_verifier(Arc::new(Named { verifier, names }))
            }
        };
        let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(key)));
        config.alpn_protocols = self.alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        // A session that is resumed is not judged again.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok((config, until))
    }
}

/// Until when a certificate is valid. With `now` it has to be.
pub(crate) fn valid_until(
    files: &KeyPair,
    key: &CertifiedKey,
    now: Option<SystemTime>,
) -> Result<u64, Error> {
    let valid = pem::check_validity(&files.certificate, key, now.unwrap_or_else(SystemTime::now));
    match (valid, now) {
        // There is nothing better, and it may come later: clients will see what is wrong.
        (Err(error), None) => {
            tracing::error!(%error, "using an invalid certificate");
            Ok(0)
        }
        (valid, _) => valid,
    }
}

/// Follows the content of files. At the start a certificate may have expired; what comes later has to be valid.
pub(crate) fn keep<T: Send + Sync + 'static>(
    place: &str,
    files: Vec<Source>,
    load: impl Fn(&Contents, Option<SystemTime>) -> Result<(T, u64), Error> + Send + 'static,
) -> Result<Reloaded<T>, Error> {
    let until = ValidUntil::default();
    Metrics::new(place).observe(&until);
    let mut first = true;
    Reloaded::start(place, files, move |contents| {
        let now = (!std::mem::take(&mut first)).then(SystemTime::now);
        let (value, end) = load(contents, now)?;
        until.store(end, Ordering::Relaxed);
        Ok(value)
    })
}

impl Door {
    fn new(place: &str, settings: ServerSettings) -> Result<Self, Error> {
        let (timeout, turns) =
            (settings.handshake_timeout, Arc::new(Semaphore::new(settings.max_handshakes)));
        let files = settings.files();
        let config = keep(place, files, move |contents, now| settings.config(contents, now))?;
        Ok(Self { config, turns, timeout })
    }
}

impl Acceptor {
    /// Serves with `settings`. `place` is the name of the listener in logs and metrics. To be called in a tokio runtime.
    ///
    /// # Errors
    /// When a file cannot be used.
    pub fn start(place: &str, settings: ServerSettings) -> Result<Self, Error> {
        Ok(Self(Arc::new(RwLock::new(Door::new(place, settings)?))))
    }

    /// Serves as another one does from now on. Connections that there are stay as they were made.
    pub fn follow(&self, other: &Self) {
        let door = other.0.read().clone();
        *self.0.write() = door;
    }

    /// Makes a TLS connection of `socket`, and states who the client is; nobody where it showed no certificate.
    /// `begun` ends once the client has sent something: until then the connection takes no slot.
    ///
    /// # Errors
    /// When it is not let in.
    pub async fn accept<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        socket: S,
        begun: impl AsyncFnOnce(&S) -> io::Result<()>,
    ) -> Result<(TlsStream<S>, Option<Identity>), HandshakeError> {
        let Door { config, turns, timeout } = self.0.read().clone();
        let handshake = async {
            begun(&socket).await?;
            let _turn = turns.acquire().await.map_err(io::Error::other)?;
            TlsAcceptor::from(config.current()).accept(socket).await
        };
        let shaken = timeout_at(Instant::now() + timeout, handshake).await;
        let stream = shaken.map_err(|_| HandshakeError::Timeout(timeout))??;
        let certificates = stream.get_ref().1.peer_certificates();
        let identity = certificates.and_then(|chain| chain.first()).map(|first| Identity::of(first));
        Ok((stream, identity))
    }
}

/// A client's certificate was signed by who may, and is not for anybody who may come in.
#[derive(Debug, thiserror::Error)]
#[error("the certificate is that of {0}, whom the configuration does not let in (subject_alt_names)")]
pub(crate) struct NotNamed(pub(crate) String);

impl NotNamed {
    /// Whether the certificate has one of `names`.
    pub(crate) fn check(certificate: &CertificateDer<'_>, names: &[Pattern]) -> Result<(), rustls::Error> {
        let identity = Identity::of(certificate);
        if names.iter().any(|name| identity.matches(name)) {
            return Ok(());
        }
        let other = OtherError(Arc::new(Self(identity.to_string())));
        Err(rustls::Error::InvalidCertificate(CertificateError::Other(other)))
    }
}

/// Lets in whose certificate is good and has one of some names.
#[derive(Debug)]
struct Named {
    verifier: Arc<dyn ClientCertVerifier>,
    names: Vec<Pattern>,
}

impl ClientCertVerifier for Named {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.verifier.root_hint_subjects()
    }

    fn client_auth_mandatory(&self) -> bool {
        self.verifier.client_auth_mandatory()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        let verified = self.verifier.verify_client_cert(end_entity, intermediates, now)?;
        if !self.names.is_empty() {
            NotNamed::check(end_entity, &self.names)?;
        }
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}
