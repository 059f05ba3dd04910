//! Compiles `proto/` without `protoc`, and fetches the descriptors of Envoy's own types.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, bail, ensure};

/// The package that carries Envoy's descriptors, and where in it they are.
const DESCRIPTORS: (&str, &str) = ("envoy-types", "src/generated/types.bin");

fn main() -> anyhow::Result<()> {
    compile_protos()?;
    copy_descriptors()
}

fn compile_protos() -> anyhow::Result<()> {
    let root = Path::new("../../proto");
    println!("cargo:rerun-if-changed={}", root.display());
    let transport = ["envoy/service/discovery/v3/discovery.proto", "envoy/service/discovery/v3/ads.proto"];
    let status = ["envoy/service/status/v3/csds.proto"];
    let code = || tonic_prost_build::configure().bytes(".");
    code().compile_fds(protox::compile(transport, [root])?)?;
    // The messages of the transport are there already.
    let code = code().extern_path(".envoy.service.discovery.v3", "crate::discovery");
    code.compile_fds(protox::compile(status, [root])?)?;
    Ok(())
}

/// Copies the descriptor set to where the crate includes it. The package keeps it to itself, and compiling
/// its 200,000 lines for that one file would be a waste, so it is looked up where cargo has unpacked it.
fn copy_descriptors() -> anyhow::Result<()> {
    let (package, file) = DESCRIPTORS;
    let source = package_root(package)?.join(file);
    let target = PathBuf::from(env::var("OUT_DIR")?).join("envoy-types.bin");
    println!("cargo:rerun-if-changed={}", source.display());
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../../Cargo.lock");
    fs::copy(&source, target).with_context(|| format!("copying {}", source.display()))?;
    Ok(())
}

fn package_root(name: &str) -> anyhow::Result<PathBuf> {
    let metadata = metadata(name, &["--offline"]).or_else(|_| metadata(name, &[]))?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let Some(package) = packages.iter().find(|package| package["name"] == name) else {
        bail!("cargo metadata does not list {name}");
    };
    let manifest = package["manifest_path"].as_str().context("a package without manifest_path")?;
    Ok(Path::new(manifest).parent().context("a manifest without a directory")?.to_owned())
}

/// What cargo knows of the packages of this target, `feature` included. Nothing is downloaded where
/// everything is there already.
fn metadata(feature: &str, flags: &[&str]) -> anyhow::Result<serde_json::Value> {
    let mut command = Command::new(env::var("CARGO")?);
    command.args(["metadata", "--format-version=1", "--features", feature]).args(flags);
    command.args(["--filter-platform", &env::var("TARGET")?]);
    let output = command.output()?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}
