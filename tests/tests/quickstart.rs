//! What the README shows first: `config/quickstart.toml` in front of real Envoys.

mod support;

use std::path::{Path, PathBuf};

use support::local;
use weir_testkit::Dialect;
use weir_testkit::process::{Envoy, EnvoyOptions, Load, Weir, free_port};

/// A copy of `config/` in which `ports` are other ones, so that the test runs beside anything.
fn copy_of_config(into: &Path, ports: &[(&str, u16)]) -> PathBuf {
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config");
    let mut files = vec![PathBuf::from("quickstart.toml")];
    for entry in std::fs::read_dir(config.join("resources")).unwrap() {
        files.push(Path::new("resources").join(entry.unwrap().file_name()));
    }
    std::fs::create_dir_all(into.join("resources")).unwrap();
    for file in files {
        let mut text = std::fs::read_to_string(config.join(&file)).unwrap();
        for (old, new) in ports {
            text = text.replace(old, &new.to_string());
        }
        std::fs::write(into.join(&file), text).unwrap();
    }
    into.join("quickstart.toml")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_quickstart_serves_two_environments() {
    let directory = tempfile::TempDir::new().unwrap();
    let [listen, admin, prod, test] = std::array::from_fn(|_| free_port());
    let ports = [("18000", listen), ("19000", admin), ("10000", prod), ("10001", test)];
    let config = copy_of_config(directory.path(), &ports);
    let weir = Weir::with_config(&config, local(listen), local(admin)).await;
    for (dialect, env, port) in [(Dialect::Sotw, "prod", prod), (Dialect::Delta, "test", test)] {
        let options = EnvoyOptions::new(dialect, &format!("quickstart-{env}")).metadata("env", env);
        let mut envoy = Envoy::start(weir.address(), &options);
        envoy.live().await;
        let load = Load::start(local(port));
        load.wait_for(&format!("hello from {env}\n")).await;
        load.finish();
    }
}
