//! Commands about clients that ask by locators, before a control plane that supports TP2.

use serde_json::{Value, json};
use weir_testkit::process::Ran;
use weir_testkit::resources::static_cluster;
use weir_testkit::wait::until;
use weir_testkit::{XdsClient, node};
use weir_wire::discovery::ResourceLocator;

use crate::CDS;
use crate::support::{Bed, Source, local};

fn document(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p02_a_client_with_locators_is_explained_and_compared_with_its_control_plane() {
    let in_env = |env, port: u16| (Some(env), static_cluster("backend", &[local(port)]));
    for protocol in ["ads-delta", "ads-sotw"] {
        let bed = Bed::start(Source::Native(protocol), &[in_env("prod", 1), in_env("test", 2)]).await;
        let mut client = XdsClient::delta(bed.address(), &node("web-1").metadata("env", "prod")).await;
        let dynamic_parameters = [("env".to_owned(), "test".to_owned())].into();
        client.locate(CDS, &[ResourceLocator { name: "backend".to_owned(), dynamic_parameters }]);
        client.accept(CDS).await;

        let explain = ["explain", "backend", "--type", "cds", "--client", "web-1", "--output", "json"];
        let explained = until("the client to be in sync", || async {
            let explained = document(&bed.weir.run(&explain).await);
            (explained["client"]["state"] == "in-sync").then_some(explained)
        })
        .await;
        assert_eq!(
            (&explained["client"]["located"], &explained["outcome"]),
            (&json!(true), &json!("served"))
        );
        let parameter = &explained["parameters"][0];
        assert_eq!(
            (&parameter["value"], &parameter["origin"]),
            (&json!("test"), &json!({ "source": "locator" }))
        );
        assert_eq!(explained["chosen"]["constraints"], "env=test");

        let config = bed.weir.config().display().to_string();
        let compare = ["diff", "web-1", "--upstream", "--config", &config, "--output", "json"];
        let ran = bed.weir.run(&compare).await;
        assert_eq!((ran.code, &document(&ran)["same"]), (0, &json!(1)), "{ran:?}");

        // It does not answer for what comes next.
        bed.set(&[in_env("prod", 1), in_env("test", 3)]);
        client.receive_type(CDS).await;
        let ran =
            bed.weir.run(&["trace-change", "cds", "backend", "--timeout", "1ms", "--output", "json"]).await;
        assert_eq!((ran.code, &document(&ran)["unanswered"]), (3, &json!(1)), "{ran:?}");
    }
}
