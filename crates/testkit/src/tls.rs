//! TLS for both ends of the wire, with certificates on both sides; written against rustls, not with Weir's own.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper_util::rt::TokioIo;
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tonic::codegen::Service;
use tonic::codegen::http::Uri;

use crate::Authority;
use crate::process::Certificate;

/// What one end shows, and whom it trusts.
#[derive(Clone, Debug)]
pub struct Secured {
    /// What it shows; nothing where there is none, as only a client may.
    pub certificate: Option<Certificate>,
    /// The authority that it trusts, as PEM.
    pub trusts: String,
}

impl Secured {
    /// An end that shows a certificate.
    pub fn new(certificate: Certificate, trusts: &Authority) -> Self {
        Self { certificate: Some(certificate), trusts: trusts.pem().to_owned() }
    }

    fn roots(&self) -> Arc<RootCertStore> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(self.trusts.as_bytes()) {
            roots.add(certificate.expect("a PEM certificate")).expect("an authority");
        }
        Arc::new(roots)
    }

    fn own(&self) -> Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
        let Certificate { chain, key } = self.certificate.as_ref()?;
        let chain = CertificateDer::pem_slice_iter(chain.as_bytes()).collect::<Result<_, _>>();
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("a PEM key");
        Some((chain.expect("PEM certificates"), key))
    }

    /// A server that takes only clients with a certificate.
    pub(crate) fn server(&self) -> Arc<ServerConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(self.roots(), Arc::clone(&provider));
        let (chain, key) = self.own().expect("a server has a certificate");
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions of TLS")
            .with_client_cert_verifier(verifier.build().expect("a verifier"))
            .with_single_cert(chain, key)
            .expect("a key that fits");
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Arc::new(config)
    }

    fn client(&self, protocol: &str) -> Arc<ClientConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions of TLS")
            .with_root_certificates(self.roots());
        let mut config = match self.own() {
            Some((chain, key)) => builder.with_client_auth_cert(chain, key).expect("a key that fits"),
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        Arc::new(config)
    }

    /// Uses HTTP/1.1 over TLS to a server that is called `localhost`.
    pub(crate) async fn connect_http(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from("localhost").expect("a name");
        TlsConnector::from(self.client("http/1.1")).connect(name, stream).await
    }

    pub(crate) fn connector(&self, server: SocketAddr) -> Connector {
        Connector { config: self.client("h2"), server }
    }
}

/// Connects to a server that is called `localhost`.
#[derive(Clone)]
pub(crate) struct Connector {
    config: Arc<ClientConfig>,
    server: SocketAddr,
}

impl Service<Uri> for Connector {
    type Response = TokioIo<TlsStream<TcpStream>>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let Self { config, server } = self.clone();
        Box::pin(async move {
            let stream = TcpStream::connect(server).await?;
            let name = ServerName::try_from("localhost").expect("a name");
            Ok(TokioIo::new(TlsConnector::from(config).connect(name, stream).await?))
        })
    }
}
