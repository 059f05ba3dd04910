//! Compiles `proto/` without `protoc`.

fn main() -> anyhow::Result<()> {
    let root = std::path::Path::new("../../proto");
    let files = ["envoy/service/discovery/v3/discovery.proto", "envoy/service/discovery/v3/ads.proto"];
    println!("cargo:rerun-if-changed={}", root.display());
    let descriptors = protox::compile(files, [root])?;
    tonic_prost_build::configure().bytes(".").compile_fds(descriptors)?;
    Ok(())
}
