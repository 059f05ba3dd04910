//! The program, killed with its control plane and started alone: clients and a real Envoy get all that there was.

use std::future::ready;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use weir_store::{Origin, Store};
use weir_testkit::client::DIALECTS;
use weir_testkit::process::{Backend, Envoy, EnvoyOptions, Load, Weir, WeirBuilder, free_port};
use weir_testkit::resources::{assignment, eds_cluster, listener, published, routes};
use weir_testkit::wait::until;
use weir_testkit::{Dialect, FakeControlPlane, Published, XdsClient, node, type_url};
use weir_types::{DynamicParameters, ResourceLocator, TypeUrl};

/// A Weir with a store in `directory`.
fn weir(control_plane: &FakeControlPlane, mode: &str, directory: &Path) -> WeirBuilder {
    let store = format!("[store]\npath = \"{}\"\n", directory.join("store").display());
    Weir::builder().upstream(control_plane, "ads-delta", mode).parameter_from_metadata("env").section(&store)
}

/// The value of a metric without labels; none while there is no such.
async fn metric(weir: &Weir, name: &str) -> Option<f64> {
    let body = weir.admin("/metrics").await.body;
    let line =
        body.lines().find(|line| line.starts_with(name) && line[name.len()..].starts_with(['{', ' ']))?;
    line.rsplit(' ').next()?.parse().ok()
}

/// Until the file has an answer to each of `asked`, by the short names of their types and by names, for clients with
/// `parameters`. It is looked at beside the Weir that writes it.
async fn until_stored(directory: &Path, mode: &str, parameters: &DynamicParameters, asked: &[(&str, &str)]) {
    let settings = weir_config::Store::at(directory.join("store"));
    let store = Store::open(settings, None).expect("there is a thread");
    let (keys, set) = match mode {
        "native" => (None, DynamicParameters::empty()),
        _ => (Some(Arc::from(["env".into()])), parameters.clone()),
    };
    let origin = Arc::new(Origin { authority: String::new(), keys, parameters: set });
    let locators = asked.iter().map(|(short, name)| {
        let type_url = TypeUrl::from_short_name(short).expect("a type");
        (type_url, ResourceLocator::new(*name, parameters.clone()))
    });
    let locators: Vec<_> = locators.collect();
    until("everything to be stored", || {
        let pasts = store.look_up(&origin, locators.clone());
        let answered = |(type_url, locator): &(TypeUrl, ResourceLocator)| {
            let mut of_type = pasts.iter().filter(|past| past.type_url == *type_url);
            of_type.any(|past| match locator.is_collection() {
                true => past.known.iter().any(|(known, _)| known == locator),
                false => past.variants.iter().any(|variant| *variant.name() == locator.name),
            })
        };
        ready(locators.iter().all(answered).then_some(()))
    })
    .await;
}

async fn clusters(weir: &Weir, dialect: Dialect, env: &str) -> Vec<(String, String)> {
    let mut client = XdsClient::connect(dialect, weir.address(), &node(env).metadata("env", env)).await;
    client.subscribe(type_url("cds"), &["*"]);
    let mut texts = client.accept(type_url("cds")).await.texts();
    texts.sort();
    texts
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u09_killed_with_its_control_plane_and_started_alone_it_serves_what_there_was() {
    let cds = type_url("cds");
    for mode in ["streams", "native"] {
        println!("--- {mode}");
        let directory = tempfile::tempdir().expect("a directory");
        let mut control_plane = match mode {
            "native" => FakeControlPlane::start_tp2().await,
            _ => FakeControlPlane::start().await,
        };
        let all: Vec<_> = (0..50).map(|i| (format!("c{i:02}"), "1".to_owned())).collect();
        control_plane.set_all(all.iter().map(|(name, text)| Published::text(cds, name, text)));
        let mut weir = weir(&control_plane, mode, directory.path()).start().await;
        for env in ["prod", "test"] {
            assert_eq!(clusters(&weir, Dialect::Delta, env).await, all);
        }
        for env in ["prod", "test"] {
            let parameters = [("env", env)].into_iter().collect();
            until_stored(directory.path(), mode, &parameters, &[("cds", "*")]).await;
        }
        for _ in 0..3 {
            weir.kill().await;
            control_plane.stop().await;
            weir.restart().await;
            for dialect in DIALECTS {
                for env in ["prod", "test"] {
                    assert_eq!(clusters(&weir, dialect, env).await, all, "{dialect:?} {env}");
                }
            }
            assert!(metric(&weir, "weir_upstream_unconfirmed").await.is_some_and(|count| count >= 50.0));
            control_plane.restart().await;
            until("upstream to vouch for it", || async {
                (metric(&weir, "weir_upstream_unconfirmed").await? == 0.0).then_some(())
            })
            .await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u09_a_torn_store_does_not_stop_the_start_and_the_log_says_so() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store");
    std::fs::write(&path, "not a store ".repeat(1000)).expect("it is written");
    let control_plane = FakeControlPlane::start().await;
    control_plane.set(Published::text(type_url("cds"), "c", "1"));
    let weir = weir(&control_plane, "streams", directory.path()).start().await;
    weir.child().wait_for_line(&["store unusable: moved aside", "store.broken-"]).await;
    assert_eq!(clusters(&weir, Dialect::Sotw, "prod").await, [("c".to_owned(), "1".to_owned())]);
    let parameters = [("env", "prod")].into_iter().collect();
    until_stored(directory.path(), "streams", &parameters, &[("cds", "*")]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u09_an_envoy_boots_while_the_control_plane_is_down() {
    for dialect in DIALECTS {
        println!("--- {dialect:?}");
        let directory = tempfile::tempdir().expect("a directory");
        let (backend, port) = (Backend::start("one").await, free_port());
        let path: Vec<Value> = vec![
            eds_cluster("c"),
            assignment("c", &[backend.address()]),
            listener("l", port, "r"),
            routes("r", "c"),
        ];
        let mut control_plane = FakeControlPlane::start().await;
        control_plane.set_all(path.iter().map(published));
        let mut weir = weir(&control_plane, "streams", directory.path()).start().await;
        {
            let mut envoy = Envoy::start(weir.address(), &EnvoyOptions::new(dialect, "first"));
            envoy.live().await;
            Load::start(([127, 0, 0, 1], port).into()).wait_for("one").await;
        }
        let asked = [("cds", "*"), ("eds", "c"), ("lds", "*"), ("rds", "r")];
        until_stored(directory.path(), "streams", &DynamicParameters::empty(), &asked).await;
        weir.kill().await;
        control_plane.stop().await;
        weir.restart().await;
        let mut envoy = Envoy::start(weir.address(), &EnvoyOptions::new(dialect, "second"));
        envoy.live().await;
        Load::start(([127, 0, 0, 1], port).into()).wait_for("one").await;
    }
}
