//! Files that Weir writes, and a real Envoy that takes all of its configuration from them.

mod support;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use support::local;
use weir_testkit::FakeControlPlane;
use weir_testkit::process::{Backend, Envoy, Load, Weir, free_port};
use weir_testkit::resources::{assignment, eds_cluster, listener, published, routes};
use weir_testkit::wait::until;

/// A source that watches a file.
fn watched(path: &Path) -> Value {
    json!({ "path_config_source": { "path": path }, "resource_api_version": "V3" })
}

/// The path of an exported file.
fn exported(directory: &Path, name: &str, ending: &str) -> PathBuf {
    directory.join(format!("{name}.{ending}"))
}

/// The same resources, but from files.
fn from_files(mut resource: Value, directory: &Path, ending: &str) -> Value {
    for (kind, place) in [
        ("eds", "/eds_cluster_config/eds_config"),
        ("rds", "/filter_chains/0/filters/0/typed_config/rds/config_source"),
    ] {
        if let Some(config) = resource.pointer_mut(place) {
            *config = watched(&exported(directory, kind, ending));
        }
    }
    assert!(!resource.to_string().contains("\"ads\""), "{resource:#}");
    resource
}

fn resources(port: u16, backend: &Backend, directory: &Path, ending: &str) -> Vec<Value> {
    [eds_cluster("c"), assignment("c", &[backend.address()]), listener("l", port, "r"), routes("r", "c")]
        .map(|resource| from_files(resource, directory, ending))
        .into()
}

async fn an_envoy_follows_exported_files(ending: &str) {
    let (one, two) = (Backend::start("one").await, Backend::start("two").await);
    let port = free_port();
    let directory = tempfile::tempdir().expect("a directory");
    let upstream = FakeControlPlane::start().await;
    upstream.set_all(resources(port, &one, directory.path(), ending).iter().map(published));
    let mut weir = Weir::builder().upstream(&upstream, "ads-delta", "streams");
    for (kind, names) in [("lds", ""), ("cds", ""), ("rds", "names = ['r']"), ("eds", "names = ['c']")] {
        let to = exported(directory.path(), kind, ending);
        weir = weir.section(&format!("[[export]]\ntype = '{kind}'\nto = '{}'\n{names}\n", to.display()));
    }
    let _weir = weir.start().await;
    for kind in ["lds", "cds", "rds", "eds"] {
        let path = exported(directory.path(), kind, ending);
        until("a file to be exported", async || path.exists().then_some(())).await;
    }

    let mut envoy = Envoy::with_bootstrap("envoy", |_| {
        json!({
            "node": { "id": "envoy", "cluster": "test" },
            "dynamic_resources": {
                "lds_config": watched(&exported(directory.path(), "lds", ending)),
                "cds_config": watched(&exported(directory.path(), "cds", ending)),
            },
        })
    });
    envoy.live().await;
    let load = Load::start(local(port));
    load.wait_for("one").await;
    let moved = resources(port, &two, directory.path(), ending);
    upstream.change(|resources| *resources = moved.iter().map(published).collect());
    load.wait_for("two").await;
    load.wait_for_more(20).await;
    load.finish();
    let left = std::fs::read_dir(directory.path()).expect("a directory").count();
    assert_eq!(left, 4, "nothing is left beside the files");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f03_an_envoy_follows_exported_yaml_and_json() {
    for ending in ["yaml", "json"] {
        an_envoy_follows_exported_files(ending).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f03_an_envoy_follows_exported_binary_and_text() {
    for ending in ["pb", "pb_text"] {
        an_envoy_follows_exported_files(ending).await;
    }
}
