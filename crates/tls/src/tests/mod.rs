//! Handshakes between both sides, over memory.

mod files;
mod handshakes;
mod rotation;

use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::duplex;
use weir_testkit::Authority;

use crate::{Acceptor, Client, ClientCertificate, ClientSettings, Identity, KeyPair, ServerSettings};

/// Two authorities, and a directory for what they issue.
struct World {
    ours: Authority,
    theirs: Authority,
    directory: TempDir,
}

impl World {
    fn new() -> Self {
        let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
        let directory = tempfile::tempdir().unwrap();
        ours.write(directory.path(), "ca");
        theirs.write(directory.path(), "other-ca");
        ours.issue(&["server.example", "spiffe://ours/server"]).write(directory.path(), "server");
        ours.issue(&["spiffe://ours/client", "client.example"]).write(directory.path(), "client");
        Self { ours, theirs, directory }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    fn key_pair(&self, name: &str) -> KeyPair {
        KeyPair { certificate: self.file(&format!("{name}.pem")), key: self.file(&format!("{name}.key")) }
    }

    fn server(&self) -> ServerSettings {
        ServerSettings {
            key_pair: self.key_pair("server"),
            client_ca: Some(self.file("ca.pem")),
            client_certificate: ClientCertificate::Required,
            subject_alt_names: Vec::new(),
            alpn: vec!["h2"],
            handshake_timeout: Duration::from_secs(10),
            max_handshakes: 2,
        }
    }

    fn client(&self) -> ClientSettings {
        ClientSettings {
            ca: Some(self.file("ca.pem")),
            key_pair: Some(self.key_pair("client")),
            server_name: Some("server.example".into()),
            subject_alt_names: Vec::new(),
            alpn: "h2",
        }
    }
}

/// Whom the server takes the client for, and whether the client is content; or the error of each.
async fn shake(
    acceptor: &Acceptor,
    client: &Client,
) -> (Result<Option<Identity>, String>, Result<(), String>) {
    let (near, far) = duplex(64 << 10);
    let (server, client) =
        tokio::join!(acceptor.accept(far, async |_| Ok(())), client.connect("host.example", near));
    (
        server.map(|(_, identity)| identity).map_err(|error| error.to_string()),
        client.map(drop).map_err(|error| error.to_string()),
    )
}

/// As [`shake`], for settings that are used once.
async fn meet(
    server: ServerSettings,
    client: ClientSettings,
) -> (Result<Option<Identity>, String>, Result<(), String>) {
    let (acceptor, client) = (Acceptor::start("server", server), Client::start("client", client));
    shake(&acceptor.unwrap(), &client.unwrap()).await
}
