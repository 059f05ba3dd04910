//! Real processes: Weir itself, the real clients that run behind it, and what these talk to.
//!
//! Every process is killed when its value is dropped, and everything listens on the loopback only.

mod backend;
mod browser;
mod caller;
mod certificate;
mod child;
mod csds;
mod envoy;
mod events;
mod go;
pub mod http;
mod java;
mod load;
mod node;
mod ports;
mod python;
mod shell;
mod sovereign;
mod terminal;
mod weir;

pub use backend::Backend;
pub use browser::{Browser, key, no_browser};
pub use caller::{Caller, grpc_bootstrap};
pub use certificate::Certificate;
pub use child::Child;
pub use csds::dumped;
pub use envoy::{ClientTls, Envoy, EnvoyOptions, xds_cluster};
pub use events::Events;
pub use go::{go_program, no_go};
pub use java::{java_program, no_java};
pub use load::{Answers, Load};
pub(crate) use ports::Reserved;
pub use ports::free_port;
pub use python::GrpcServers;
pub use shell::Shell;
pub use sovereign::Sovereign;
pub use terminal::Terminal;
pub use weir::{Ran, Weir, WeirBuilder, weir_program};

use std::path::PathBuf;

/// A tool that `cargo xtask setup` installs. Panics, with what to do, if it is not there.
pub fn tool(path: &str) -> PathBuf {
    let tool = tools().join(path);
    assert!(tool.exists(), "{} is missing: run `cargo xtask setup`", tool.display());
    tool
}

/// Where the tools are.
fn tools() -> PathBuf {
    std::env::var_os("WEIR_TEST_TOOLS").map_or_else(|| workspace().join("target/tools"), PathBuf::from)
}

/// The root of the workspace.
fn workspace() -> PathBuf {
    let crates = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    crates.canonicalize().expect("the workspace is there")
}
