//! The program under test.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::process::Command;

use super::{Child, Terminal, free_port, http, workspace};
use crate::FakeControlPlane;
use crate::resources;
use crate::wait::{PATIENCE, until_within};

/// The configuration of a Weir, and the files that it serves.
pub struct WeirBuilder {
    directory: TempDir,
    sections: String,
    downstream: String,
    admin_keys: String,
    listen: SocketAddr,
    admin: SocketAddr,
    log_level: String,
    environment: Vec<(String, String)>,
}

impl WeirBuilder {
    /// Sets a variable of its environment.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Logs at this level instead of `debug`.
    #[must_use]
    pub fn log_level(mut self, level: &str) -> Self {
        self.log_level = level.to_owned();
        self
    }

    /// Adds any text to the configuration.
    #[must_use]
    pub fn section(mut self, toml: &str) -> Self {
        self.sections.push_str(toml);
        self.sections.push('\n');
        self
    }

    /// Adds keys to the table of the side that clients connect to.
    #[must_use]
    pub fn downstream(mut self, keys: &str) -> Self {
        self.downstream.push_str(keys);
        self.downstream.push('\n');
        self
    }

    /// Adds keys to the table of the admin interface.
    #[must_use]
    pub fn admin(mut self, keys: &str) -> Self {
        self.admin_keys.push_str(keys);
        self.admin_keys.push('\n');
        self
    }

    /// Takes names without an authority from a control plane. `protocol` and `dynamic_parameters` are the values
    /// of those keys.
    #[must_use]
    pub fn upstream(
        self,
        control_plane: &FakeControlPlane,
        protocol: &str,
        dynamic_parameters: &str,
    ) -> Self {
        self.upstream_at(control_plane.address(), protocol, dynamic_parameters)
    }

    /// As [`Self::upstream`], from whatever listens there.
    #[must_use]
    pub fn upstream_at(self, server: SocketAddr, protocol: &str, dynamic_parameters: &str) -> Self {
        self.section(&format!(
            "[[upstream]]\nauthority = \"\"\nendpoints = [\"http://{server}\"]\n\
             protocol = \"{protocol}\"\ndynamic_parameters = \"{dynamic_parameters}\"\n"
        ))
    }

    /// Serves files, as if `resources` had been written to one of them.
    #[must_use]
    pub fn resources(self, resources: &[Value]) -> Self {
        self.files(&[("resources.json", &resources::file(resources))])
    }

    /// Serves these files: names and contents.
    #[must_use]
    pub fn files(self, files: &[(&str, &str)]) -> Self {
        for (name, content) in files {
            write_atomically(&self.directory.path().join("resources"), name, content);
        }
        let path = self.directory.path().join("resources");
        self.section(&format!("[[upstream]]\nauthority = \"\"\nfiles = \"{}\"\n", path.display()))
    }

    /// Derives a dynamic parameter from the text of the same key in the node's metadata.
    #[must_use]
    pub fn parameter_from_metadata(self, key: &str) -> Self {
        self.section(&format!("[[dynamic_parameters]]\nkey = \"{key}\"\nfrom = \"node.metadata.{key}\"\n"))
    }

    /// Listens for clients where another one does.
    #[must_use]
    pub fn beside(mut self, other: &Weir) -> Self {
        self.listen = other.listen;
        self
    }

    /// Writes the configuration, starts the program and waits until it listens.
    pub async fn start(self) -> Weir {
        let mut config = String::new();
        let Self { listen, admin, sections, downstream, admin_keys, log_level, .. } = &self;
        write!(
            config,
            "[node]\nid = \"weir-test\"\ncluster = \"test\"\n\n[downstream]\nlisten = [\"{listen}\"]\n{downstream}\n\
             [admin]\nlisten = \"{admin}\"\n{admin_keys}\n[log]\nlevel = \"{log_level}\"\n\n{sections}"
        )
        .expect("a string grows as needed");
        let path = self.directory.path().join("weir.toml");
        std::fs::write(&path, config).expect("write the configuration");
        Weir::start(self.directory, &path, self.listen, self.admin, self.environment).await
    }
}

/// What came of a command.
#[derive(Debug)]
pub struct Ran {
    /// Its exit code.
    pub code: i32,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
}

/// A running Weir.
pub struct Weir {
    child: Child,
    directory: TempDir,
    config: PathBuf,
    listen: SocketAddr,
    admin: SocketAddr,
    environment: Vec<(String, String)>,
}

impl Weir {
    /// A Weir without a source of resources yet, on ports of its own.
    pub fn builder() -> WeirBuilder {
        let address = || SocketAddr::from(([127, 0, 0, 1], free_port()));
        WeirBuilder {
            directory: TempDir::with_prefix("weir-").expect("a temporary directory"),
            sections: String::new(),
            downstream: String::new(),
            admin_keys: String::new(),
            listen: address(),
            admin: address(),
            log_level: "debug".to_owned(),
            environment: Vec::new(),
        }
    }

    /// Starts one with a configuration that stands in a file; `listen` and `admin` are what is written there.
    pub async fn with_config(config: &Path, listen: SocketAddr, admin: SocketAddr) -> Self {
        let directory = TempDir::with_prefix("weir-").expect("a temporary directory");
        Self::start(directory, config, listen, admin, Vec::new()).await
    }

    async fn start(
        directory: TempDir,
        config: &Path,
        listen: SocketAddr,
        admin: SocketAddr,
        environment: Vec<(String, String)>,
    ) -> Self {
        let child = spawn(config, &environment);
        let mut weir = Self { child, directory, config: config.to_owned(), listen, admin, environment };
        weir.listens().await;
        weir
    }

    async fn listens(&mut self) {
        let (child, listen) = (&mut self.child, self.listen);
        until_within(PATIENCE, format!("Weir to listen on {listen}"), || {
            child.expect_running();
            async move { TcpStream::connect(listen).await.ok() }
        })
        .await;
        // Another one may listen there too.
        self.child.wait_for_line(&["weir serves"]).await;
    }

    /// Where clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.listen
    }

    /// The answer of its admin interface. Panics if it does not answer.
    pub async fn admin(&self, path: &str) -> http::Answer {
        let answer = http::get(self.admin, path).await;
        answer.unwrap_or_else(|e| panic!("ask Weir for {path}: {e}; its output:\n{}", self.child.output()))
    }

    /// Has its admin interface change something. Panics if it does not answer.
    pub async fn change(&self, method: &str, path: &str, body: &str) -> http::Answer {
        let answer = http::request(self.admin, method, path, &[("host", "test")], body).await;
        answer.unwrap_or_else(|e| panic!("ask Weir for {path}: {e}; its output:\n{}", self.child.output()))
    }

    /// Where its admin interface is.
    pub fn admin_address(&self) -> SocketAddr {
        self.admin
    }

    /// Runs a command of the program against it: `weir clients …`.
    pub async fn run(&self, arguments: &[&str]) -> Ran {
        let output = self.command(arguments).output().await.expect("the program runs");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let code = output.status.code().expect("it ends by itself");
        Ran { code, stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Runs a command of the program against it, on a terminal.
    pub fn run_on_terminal(&self, arguments: &[&str]) -> Terminal {
        Terminal::start(self.command(arguments).env_remove("NO_COLOR"))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(weir_program());
        command.args(arguments).current_dir(workspace());
        command.env("WEIR_ADMIN", format!("http://{}", self.admin)).env("WEIR_CONFIG", &self.config);
        command
    }

    /// Its output.
    pub fn child(&self) -> &Child {
        &self.child
    }

    /// Writes one of the files that it serves, as people should: beside it, and renamed over it.
    pub fn write_file(&self, name: &str, content: &str) {
        write_atomically(&self.directory.path().join("resources"), name, content);
    }

    /// As [`WeirBuilder::resources`], while it runs.
    pub fn write_resources(&self, resources: &[Value]) {
        self.write_file("resources.json", &resources::file(resources));
    }

    /// Where its configuration stands.
    pub fn config(&self) -> &Path {
        &self.config
    }

    /// Writes its configuration anew, as it is but for this.
    pub fn reconfigure(&self, change: impl FnOnce(String) -> String) {
        let text = std::fs::read_to_string(&self.config).expect("read the configuration");
        let directory = self.config.parent().expect("a file has a directory");
        write_atomically(directory, "weir.toml", &change(text));
    }

    /// Removes one of the files that it serves.
    pub fn remove_file(&self, name: &str) {
        std::fs::remove_file(self.directory.path().join("resources").join(name)).expect("remove a file");
    }

    /// Kills it (SIGKILL).
    pub async fn kill(&mut self) {
        self.child.kill().await;
    }

    /// Sends it a signal: `TERM`, `HUP`, ….
    pub async fn signal(&self, signal: &str) {
        self.child.signal(signal).await;
    }

    /// Waits until it has ended, and gives how.
    pub async fn ended(&mut self) -> ExitStatus {
        self.child.ended().await
    }

    /// Asks it to end, and gives how it did.
    pub async fn terminate(&mut self) -> ExitStatus {
        self.child.terminate().await
    }

    /// Starts it again, with the same configuration and ports.
    pub async fn restart(&mut self) {
        self.child = spawn(&self.config, &self.environment);
        self.listens().await;
    }
}

fn spawn(config: &Path, environment: &[(String, String)]) -> Child {
    let mut command = Command::new(weir_program());
    command.arg("serve").arg("--config").arg(config).env_remove("WEIR_LOG").current_dir(workspace());
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    Child::start("weir", &mut command)
}

fn write_atomically(directory: &Path, name: &str, content: &str) {
    std::fs::create_dir_all(directory).expect("make a directory");
    // A leading dot keeps it from being taken for a resource file.
    let beside = directory.join(format!(".{name}.new"));
    std::fs::write(&beside, content).expect("write a file");
    std::fs::rename(&beside, directory.join(name)).expect("rename a file");
}

/// The program as it is now: built if need be, once for each test binary, since cargo builds programs along with
/// the tests of their own packages only. `WEIR_BIN` takes another.
pub fn weir_program() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    std::env::var_os("WEIR_BIN").map_or_else(|| BUILT.get_or_init(build).clone(), PathBuf::from)
}

/// Builds it with the profile and into the target directory of the running test.
fn build() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows where it is");
    // target/PROFILE/deps/TEST
    let directory = test.ancestors().nth(2).expect("tests are two levels below the target directory");
    let profile = match directory.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(other) => other,
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
    let output = std::process::Command::new(cargo)
        .args(["build", "--quiet", "--package", "weir", "--profile", profile, "--target-dir"])
        .arg(directory.parent().expect("the profile is in the target directory"))
        .current_dir(workspace())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "build Weir:\n{}", String::from_utf8_lossy(&output.stderr));
    directory.join("weir")
}
