//! The program between clients and control planes that go by their nodes, of ours and of others.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::future::ready;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use weir_store::{Origin, Store};
use weir_testkit::client::{Connection, DIALECTS};
use weir_testkit::constraints::locator;
use weir_testkit::process::{Weir, WeirBuilder, no_go};
use weir_testkit::resources::eds_cluster;
use weir_testkit::wait::until;
use weir_testkit::{Dialect, FakeControlPlane, Published, XdsClient, node, type_url};
use weir_types::{DynamicParameters, NODE_KEY, ResourceLocator, TypeUrl};

use crate::support::go_control_plane::GoControlPlane;
use crate::support::pki::Pki;

async fn client(weir: &Weir, dialect: Dialect, id: &str) -> XdsClient {
    XdsClient::connect(dialect, weir.address(), &node(id)).await
}

/// The names of all clusters that a client is given.
async fn clusters(client: &mut XdsClient) -> Vec<String> {
    let received = client.accept(type_url("cds")).await;
    received.resources.iter().map(|resource| resource.name.clone()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p19_go_control_plane_serves_each_client_its_own_snapshot() {
    if let Some(reason) = no_go() {
        println!("skipped: {reason}");
        return;
    }
    let cds = type_url("cds");
    for protocol in ["ads-delta", "ads-sotw"] {
        for dialect in DIALECTS {
            println!("--- {protocol}, {dialect:?}");
            let control_plane = GoControlPlane::start().await;
            for id in ["one", "two"] {
                control_plane.publish(id, &[eds_cluster(id)]).await;
            }
            let weir = Weir::builder().upstream_at(control_plane.address, protocol, "streams");
            let weir = weir.section("[upstream.node]\nforward = [\"id\"]\n").start().await;
            let mut clients = Vec::new();
            for id in ["one", "two"] {
                let mut client = client(&weir, dialect, id).await;
                client.subscribe(cds, &[]);
                assert_eq!(clusters(&mut client).await, [id]);
                clients.push(client);
            }
            control_plane.publish("two", &[eds_cluster("three")]).await;
            // What is removed goes when what is new is in use.
            assert!(clusters(&mut clients[1]).await.contains(&"three".to_owned()));
            control_plane.publish("one", &[eds_cluster("four")]).await;
            let first_change = clusters(&mut clients[0]).await;
            assert!(first_change.contains(&"four".to_owned()) && !first_change.contains(&"three".to_owned()));
        }
    }
}

/// A Weir with a store in `directory`.
fn weir(control_plane: &FakeControlPlane, directory: &Path) -> WeirBuilder {
    let store = format!("[store]\npath = \"{}\"\n", directory.join("store").display());
    let weir = Weir::builder().upstream(control_plane, "ads-delta", "streams");
    weir.section("[upstream.node]\nforward = [\"id\", \"metadata.role\"]\n").section(&store)
}

async fn text(weir: &Weir, role: &str) -> String {
    let node = node(role).metadata("role", role);
    let mut client = XdsClient::connect(Dialect::Delta, weir.address(), &node).await;
    client.subscribe(type_url("cds"), &["c"]);
    client.accept(type_url("cds")).await.resource("c").text()
}

/// Until the file has what came for each node. It is looked at beside the Weir that writes it.
async fn until_stored(weir: &Weir, directory: &Path) {
    let settings = weir_config::Store::at(directory.join("store"));
    let store = Store::open(settings, None).expect("there is a thread");
    let upstreams: Value = serde_json::from_str(&weir.admin("/upstreams").await.body).expect("JSON");
    let sets: Vec<BTreeMap<String, String>> = upstreams["items"]
        .as_array()
        .expect("streams")
        .iter()
        .map(|stream| serde_json::from_value(stream["parameters"].clone()).expect("parameters"))
        .collect();
    assert_eq!(sets.len(), 2, "{upstreams}");
    until("everything to be stored", || {
        let stored = |set: &BTreeMap<String, String>| {
            let parameters: DynamicParameters = set.clone().into_iter().collect();
            let keys = Some(Arc::from([NODE_KEY.into()]));
            let origin = Arc::new(Origin { authority: String::new(), keys, parameters: parameters.clone() });
            let cds = TypeUrl::from_short_name("cds").expect("a type");
            let pasts = store.look_up(&origin, vec![(cds, ResourceLocator::new("c", parameters))]);
            pasts.iter().any(|past| !past.variants.is_empty())
        };
        ready(sets.iter().all(stored).then_some(()))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p19_u09_what_was_stored_for_a_node_is_found_again_after_a_restart() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut control_plane = FakeControlPlane::start().await;
    for role in ["web", "db"] {
        control_plane.set(Published::text(type_url("cds"), "c", role).for_metadata("role", role));
    }
    let mut weir = weir(&control_plane, directory.path()).start().await;
    for role in ["web", "db"] {
        assert_eq!(text(&weir, role).await, role);
    }
    until_stored(&weir, directory.path()).await;
    weir.kill().await;
    control_plane.stop().await;
    weir.restart().await;
    for role in ["db", "web"] {
        assert_eq!(text(&weir, role).await, role);
    }
}

/// What a client with this certificate and node is given for a resource, or why it is given nothing.
async fn ask(
    weir: &Weir,
    pki: &Pki,
    certificate: &str,
    namespace: &str,
    kind: &str,
) -> Result<String, String> {
    let connection = Connection::secured(weir.address(), &pki.shows(certificate)).await?;
    let mut client = connection.ads(Dialect::Delta, &node("a").metadata("NAMESPACE", namespace));
    client.subscribe(type_url(kind), &["r"]);
    match client.try_receive(weir_testkit::wait::PATIENCE).await {
        Some(Ok(received)) if received.resources.is_empty() => Err(format!("{:?}", received.errors)),
        Some(Ok(received)) => Ok(received.resource("r").text()),
        Some(Err(status)) => Err(format!("{:?}: {}", status.code(), status.message())),
        None => panic!("neither an answer nor a refusal"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p20_a_client_has_the_node_that_its_certificate_vouches_for_and_only_then_secrets() {
    const VERIFY: &str = "verify = [\"spiffe://prod.example/ns/{node.metadata.NAMESPACE}/sa/web\"]\n";
    const SHOP: &str = "spiffe://prod.example/ns/shop/sa/web";
    let (pki, control_plane) = (Pki::new(), FakeControlPlane::start().await);
    for kind in ["cds", "sds"] {
        let published = Published::text(type_url(kind), "r", "of the shop");
        control_plane.set(published.for_metadata("NAMESPACE", "shop"));
    }
    let weir = |verify: &str| {
        let builder = Weir::builder().upstream(&control_plane, "ads-delta", "streams");
        let node = format!("[upstream.node]\nforward = [\"id\", \"metadata\"]\n{verify}");
        builder.section(&node).section(&pki.tls("downstream.tls", ""))
    };
    let verified = weir(VERIFY).start().await;
    for kind in ["cds", "sds"] {
        assert_eq!(ask(&verified, &pki, SHOP, "shop", kind).await, Ok("of the shop".to_owned()));
    }
    for (certificate, namespace) in
        [(SHOP, "bank"), (SHOP, "shop/sa/web"), (SHOP, ""), ("spiffe://prod.example/x", "shop")]
    {
        let refused = ask(&verified, &pki, certificate, namespace, "cds").await.expect_err("it is refused");
        assert!(
            refused.starts_with("PermissionDenied: the certificate of the client (spiffe://"),
            "{refused}"
        );
    }
    let metrics = verified.admin("/metrics").await.body;
    let refused = metrics.lines().find(|line| line.starts_with("weir_downstream_nodes_refused_total{"));
    assert!(refused.is_some_and(|line| line.contains("unverified") && line.ends_with(" 4")), "{refused:?}");

    let claimed = weir("").start().await;
    claimed.child().wait_for_line(&["forwarded nodes are not verified"]).await;
    assert_eq!(ask(&claimed, &pki, SHOP, "shop", "cds").await, Ok("of the shop".to_owned()));
    assert!(ask(&claimed, &pki, SHOP, "shop", "sds").await.is_err());
    control_plane.look(|state| {
        assert!(state.requests.iter().filter(|request| request.type_url.ends_with("Secret")).count() <= 2)
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p19_operators_see_what_a_set_forwards_and_by_which_field_two_sets_differ() {
    let control_plane = FakeControlPlane::start().await;
    control_plane.set(Published::text(type_url("cds"), "c", "web").for_metadata("role", "web"));
    let weir = Weir::builder().upstream(&control_plane, "ads-delta", "streams");
    let weir = weir.section("[upstream.node]\nforward = [\"id\", \"metadata.role\"]\n").start().await;
    let mut clients = Vec::new();
    for role in ["web", "db"] {
        let node = node(role).metadata("role", role);
        let mut client = XdsClient::connect(Dialect::Delta, weir.address(), &node).await;
        client.subscribe(type_url("cds"), &["c"]);
        client.accept(type_url("cds")).await;
        clients.push(client);
    }
    let upstreams: Value = serde_json::from_str(&weir.admin("/upstreams").await.body).expect("JSON");
    let forwarded: Vec<_> =
        upstreams["items"].as_array().expect("streams").iter().map(|s| &s["forwarded"]).collect();
    let web = forwarded.iter().find(|node| node["id"] == "web").expect("the set of the first client");
    assert_eq!((&web["metadata"], &web["cluster"]), (&json!({ "role": "web" }), &json!("")), "{upstreams}");
    let served = weir.run(&["explain", "c", "--type", "cds", "--client", "web"]).await;
    assert!(served.stdout.contains("stands for what is forwarded of it"), "{}", served.stdout);
    assert!(served.stdout.contains("\nserved"), "{}", served.stdout);
    let other = weir.run(&["explain", "c", "--type", "cds", "--client", "db"]).await.stdout;
    for part in
        ["node.id is \"db\" here, and \"web\" there", "node.metadata.role is \"db\" here, and \"web\" there"]
    {
        assert!(other.contains(part), "{other}");
    }
    let config = weir.config().to_str().expect("UTF-8");
    for role in ["web", "db"] {
        // The control plane is asked as it is asked for this client: the other one has no such cluster.
        let compared = weir.run(&["diff", role, "--upstream", "--config", config]).await;
        assert_eq!((compared.code, &*compared.stderr), (0, ""), "{role}: {compared:?}");
        assert!(
            compared.stdout.contains(if role == "web" { "1 resource" } else { "0 resources" }),
            "{compared:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p21_headers_are_filled_with_what_the_certificate_of_a_client_has() {
    const RULE: &str = "[[dynamic_parameters]]\nkey = \"team\"\nfrom = \"identity.spiffe\"\n\
                        pattern = \"/team/([^/]+)/\"\nenforce = true\n";
    let spiffe = |team: &str, id: &str| format!("spiffe://prod.example/team/{team}/{id}");
    let (pki, control_plane) = (Pki::new(), FakeControlPlane::start().await);
    control_plane.set(Published::text(type_url("cds"), "r", "1"));
    control_plane.set(Published::text(type_url("cds"), "of-shop", "1").for_metadata("role", "shop"));
    let headers =
        "[upstream.headers]\nx-forwarded-client-cert = \"URI={identity.spiffe}\"\nx-team = \"{team}!\"\n";
    let weir =
        Weir::builder().upstream(&control_plane, "ads-delta", "streams").section("parameter_keys = []\n");
    let weir = weir.section(headers).section("[upstream.node]\nforward = [\"metadata.role\"]\n");
    let weir = weir.section(RULE).section(&pki.tls("downstream.tls", "client_certificate = \"optional\"\n"));
    let weir = weir.start().await;
    let mut clients = Vec::new();
    // The second one of an identity shares the set of the first, whatever its node.
    for (node_id, team, id) in [("a", "shop", "web"), ("b", "shop", "web"), ("c", "bank", "web")] {
        let connection = Connection::secured(weir.address(), &pki.shows(&spiffe(team, id))).await;
        let mut client =
            connection.expect("it may connect").ads(Dialect::Delta, &node(node_id).metadata("role", team));
        client.subscribe(type_url("cds"), &["r"]);
        assert_eq!(client.accept(type_url("cds")).await.resource("r").text(), "1");
        clients.push(client);
    }
    let sent = |name: &str| {
        let values = control_plane.look(|state| {
            let streams = state.open_streams().map(|(_, stream)| stream.headers[name].clone());
            streams.map(|value| value.to_str().expect("a text").to_owned()).collect::<Vec<_>>()
        });
        values.into_iter().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    };
    let uri = |team| format!("URI={}", spiffe(team, "web"));
    assert_eq!(sent("x-forwarded-client-cert"), [uri("bank"), uri("shop")]);
    assert_eq!(sent("x-team"), ["bank!", "shop!"]);
    assert_eq!(control_plane.look(|state| state.open_streams().count()), 2);

    for client in [0, 2] {
        clients[client].subscribe(type_url("cds"), &["r", "of-shop"]);
        clients[client].accept(type_url("cds")).await;
    }
    let explained = weir.run(&["explain", "of-shop", "--type", "cds", "--client", "c"]).await.stdout;
    let [own, other] = ["bank", "shop"].map(|team| spiffe(team, "web"));
    let differs = format!("header_values.identity.spiffe is \"{own}\" here, and \"{other}\" there");
    assert!(explained.contains(&differs), "{explained}");
    let config = weir.admin("/config").await.body;
    assert!(config.contains("[redacted]") && !config.contains("URI="), "{config}");

    for (certificate, wanted) in [
        (
            Some(spiffe("shop", "web;By=spiffe://prod.example/x")),
            "{identity.spiffe} of the client must be visible ASCII",
        ),
        (Some("spiffe://prod.example/none".to_owned()), "gives no value for {team}"),
        (Some("web.prod.example".to_owned()), "(web.prod.example) gives no value for {identity.spiffe}"),
        (None, "(there is none) gives no value for {identity.spiffe}"),
    ] {
        let shows = certificate.map_or_else(|| pki.shows_nothing(), |name| pki.shows(&name));
        let connection = Connection::secured(weir.address(), &shows).await.expect("it may connect");
        let mut client = connection.ads(Dialect::Delta, &node("d"));
        client.subscribe(type_url("cds"), &["r"]);
        let status = client.closed().await;
        assert_eq!(status.code(), tonic::Code::PermissionDenied);
        assert!(status.message().contains(wanted), "{status:?}");
    }
    // A parameter of a locator is a claim.
    clients[2].locate(type_url("cds"), &[locator("r", &[("team", "shop")])]);
    let refused = clients[2].accept(type_url("cds")).await;
    assert_eq!(refused.resources.len(), 0, "{refused:?}");
    assert_eq!(control_plane.look(|state| state.streams.len()), 2);
}
