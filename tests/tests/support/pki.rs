//! Certificates of a test, and the files that a Weir has of them.

use std::path::Path;

use tempfile::TempDir;
use weir_testkit::{Authority, Secured};

/// Two authorities, of which one is right, and a directory: `ca.pem` and `wrong.pem` are the authorities, and
/// `weir.pem` and `weir.key` what a Weir shows.
pub struct Pki {
    pub right: Authority,
    pub wrong: Authority,
    directory: TempDir,
}

impl Pki {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let pki = Self { right: Authority::new("right"), wrong: Authority::new("wrong"), directory };
        pki.right.write(pki.path(), "ca");
        pki.wrong.write(pki.path(), "wrong");
        pki.right.issue(&["localhost", "spiffe://prod.example/weir"]).write(pki.path(), "weir");
        pki
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The path of a file, as a text.
    pub fn file(&self, name: &str) -> String {
        self.path().join(name).display().to_string()
    }

    /// Somebody with a certificate for `name`.
    pub fn shows(&self, name: &str) -> Secured {
        Secured::new(self.right.issue(&[name]), &self.right)
    }

    /// Somebody without a certificate.
    pub fn shows_nothing(&self) -> Secured {
        Secured { certificate: None, trusts: self.right.pem().to_owned() }
    }

    /// A table of TLS settings, and more of it.
    pub fn tls(&self, table: &str, more: &str) -> String {
        let path = self.path().display();
        format!(
            "[{table}]\ncertificate = \"{path}/weir.pem\"\nkey = \"{path}/weir.key\"\n\
             client_ca = \"{path}/ca.pem\"\n{more}"
        )
    }
}
