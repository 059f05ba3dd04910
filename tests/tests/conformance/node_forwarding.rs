//! Control planes that go by the node of each client: p19.

use std::path::Path;
use std::sync::Arc;

use weir_config::{Config, ParameterStreams, Source};
use weir_database::{NodeIdOf, ParameterSets};
use weir_downstream::Forwarding;
use weir_testkit::client::DIALECTS;
use weir_testkit::constraints::locator;
use weir_testkit::node::NodeBuilder;
use weir_testkit::resource::metadata;
use weir_testkit::wait::until;
use weir_testkit::{Dialect, FakeControlPlane, Published, XdsClient, node, type_url};
use weir_upstream::{Naming, NodeTemplate};
use weir_wire::discovery::Node;

use crate::weir::{Ends, Uses, Weir};

/// A configuration that forwards these parts of nodes.
fn config(upstream: &str) -> Config {
    let file =
        format!("downstream.listen = ['127.0.0.1:0']\n[[upstream]]\nendpoints = ['http://a:1']\n{upstream}");
    weir_config::parse(&file, Path::new("weir.toml")).expect("a configuration")
}

fn streams(config: &Config) -> &ParameterStreams {
    let Source::ControlPlane(control_plane) = &config.upstreams[0].source else { panic!("{config:?}") };
    control_plane.parameters.as_ref().expect("streams")
}

/// A Weir that forwards parts of nodes, as this upstream is configured.
async fn forwarding(control_plane: &FakeControlPlane, ends: Ends, upstream: &str) -> Weir {
    let config = config(upstream);
    let keys: Arc<[Arc<str>]> = streams(&config).set_keys().map(Arc::from).collect();
    let node = NodeTemplate::new(Node { cluster: "weir".to_owned(), ..Node::default() });
    let template = node.clone();
    let node_id = streams(&config).node.unique_id.then(|| NodeIdOf::new(move |set| template.id_of(set)));
    let naming = Naming::Streams { keys: Arc::clone(&keys), node };
    let sets = ParameterSets { keys, max: streams(&config).max_sets.get(), node_id };
    Weir::start_serving(
        control_plane.address(),
        ends.upstream,
        Uses::Nodes,
        |settings| settings.naming = naming,
        |settings| {
            settings.server.forwarding = Forwarding::from(&config);
            settings.database.parameter_sets = [(String::new(), sets)].into();
        },
    )
    .await
}

async fn in_each_dialect(upstream: &str, test: impl AsyncFn(FakeControlPlane, Weir, Dialect)) {
    for above in DIALECTS {
        for downstream in DIALECTS {
            println!("{above:?} above, {downstream:?} below:");
            let control_plane = FakeControlPlane::start().await;
            let weir = forwarding(&control_plane, Ends { upstream: above, downstream }, upstream).await;
            test(control_plane, weir, downstream).await;
        }
    }
}

/// Has the control plane serve `c` by the role of a node: its text is the role.
fn publish_roles(control_plane: &FakeControlPlane) {
    for role in ["web", "db"] {
        control_plane.set(Published::text(type_url("cds"), "c", role).for_metadata("role", role));
    }
}

/// A client that has subscribed to `c`.
async fn asking(weir: &Weir, dialect: Dialect, node: &NodeBuilder) -> XdsClient {
    let mut client = weir.proxy.client_of(dialect, node).await;
    client.subscribe(type_url("cds"), &["c"]);
    client
}

fn of_role(id: &str, role: &str) -> NodeBuilder {
    node(id).metadata("labels.role", role).metadata("role", role).metadata("secret", "x")
}

#[tokio::test]
async fn p19_each_client_is_served_by_its_own_node() {
    const FORWARD: &str = "node.forward = ['id', 'metadata.role', 'metadata.labels']";
    let cds = type_url("cds");
    in_each_dialect(FORWARD, async |control_plane, weir, dialect| {
        publish_roles(&control_plane);
        let mut clients = Vec::new();
        // The second of the same node shares the set of the first.
        for (id, role) in [("a", "web"), ("b", "db"), ("b", "db"), ("c", "web")] {
            let mut client = asking(&weir, dialect, &of_role(id, role)).await;
            assert_eq!(client.accept(cds).await.resource("c").text(), role, "{id}");
            clients.push(client);
        }
        control_plane.look(|state| {
            let nodes = state.streams.iter().map(|stream| stream.node.clone().expect("it has asked"));
            let mut nodes: Vec<_> = nodes.map(|node| (node.id.clone(), node)).collect();
            nodes.sort_by(|one, other| one.0.cmp(&other.0));
            assert_eq!(nodes.iter().map(|(id, _)| &**id).collect::<Vec<_>>(), ["a", "b", "c"]);
            for (_, node) in &nodes {
                assert_eq!((&*node.cluster, &*node.user_agent_name), ("weir", "weir"), "not forwarded");
                assert_eq!(metadata(node, "secret"), None, "not forwarded");
            }
            assert_eq!(metadata(&nodes[1].1, "role").as_deref(), Some("db"));
        });
        control_plane.set(Published::text(cds, "c", "web 2").for_metadata("role", "web"));
        for i in [0, 3] {
            assert_eq!(clients[i].accept(cds).await.resource("c").text(), "web 2");
        }
        let mut wildcard = weir.proxy.client_of(dialect, &of_role("b", "db")).await;
        wildcard.subscribe(cds, &[]);
        assert_eq!(wildcard.accept(cds).await.resource("c").text(), "db");
    })
    .await;
}

#[tokio::test]
async fn p19_a_client_that_comes_back_with_another_node_has_another_set_and_the_old_one_stays() {
    let cds = type_url("cds");
    const SHARED: &str = "node = { forward = ['id', 'metadata'], unique_id = false }";
    in_each_dialect(SHARED, async |control_plane, weir, dialect| {
        publish_roles(&control_plane);
        let mut first = asking(&weir, dialect, &of_role("a", "web")).await;
        assert_eq!(first.accept(cds).await.resource("c").text(), "web");
        control_plane.pause();
        let mut again = asking(&weir, dialect, &of_role("a", "db")).await;
        control_plane
            .wait_for("the stream of the second set", |state| (state.streams.len() == 2).then_some(()))
            .await;
        control_plane.resume();
        assert_eq!(again.accept(cds).await.resource("c").text(), "db");
        first.expect_nothing().await;
        control_plane.set(Published::text(cds, "c", "web 2").for_metadata("role", "web"));
        assert_eq!(first.accept(cds).await.resource("c").text(), "web 2");
        again.expect_nothing().await;
    })
    .await;
}

#[tokio::test]
async fn p19_no_locator_chooses_the_node() {
    let cds = type_url("cds");
    in_each_dialect("node.forward = ['id']", async |control_plane, weir, dialect| {
        control_plane.set(Published::text(cds, "c", "1"));
        let mut client = weir.proxy.client_of(dialect, &node("a")).await;
        client.locate(cds, &[locator("c", &[])]);
        let received = client.accept(cds).await;
        let constraints = format!("{:?}", received.resource("c").constraints);
        assert!(constraints.contains("weir.node"), "{constraints}");
        client.locate(cds, &[locator("c", &[("weir.node", "x")])]);
        let status = client.closed().await;
        assert_eq!(status.code(), tonic::Code::InvalidArgument);
        assert!(status.message().contains("\"weir.node\", which is reserved"), "{status:?}");
    })
    .await;
}

#[tokio::test]
async fn p19_a_node_that_is_too_large_to_forward_is_refused() {
    let cds = type_url("cds");
    const SMALL: &str = "node = { forward = ['id', 'metadata.role'], max_size = '100B' }";
    in_each_dialect(SMALL, async |control_plane, weir, dialect| {
        control_plane.set(Published::text(cds, "c", "1"));
        let mut client = asking(&weir, dialect, &of_role("a", "short")).await;
        client.accept(cds).await;
        let mut large = asking(&weir, dialect, &of_role("b", &"long".repeat(25))).await;
        let status = large.closed().await;
        assert_eq!(status.code(), tonic::Code::InvalidArgument);
        for part in ["id, metadata.role", "at most 100 bytes (upstream.node.max_size), got 1"] {
            assert!(status.message().contains(part), "{status:?}");
        }
        client.expect_nothing().await;
    })
    .await;
}

#[tokio::test]
async fn u15_two_sets_in_use_never_share_a_node_id() {
    let cds = type_url("cds");
    in_each_dialect("node.forward = ['id', 'metadata']", async |control_plane, weir, dialect| {
        publish_roles(&control_plane);
        let mut first = asking(&weir, dialect, &of_role("a", "web")).await;
        assert_eq!(first.accept(cds).await.resource("c").text(), "web");
        let mut other = asking(&weir, dialect, &of_role("a", "db")).await;
        let refused = other.accept(cds).await;
        assert_eq!(refused.error_codes(), [("c", tonic::Code::ResourceExhausted)]);
        assert!(format!("{refused:?}").contains("would share the node id \\\"a\\\""), "{refused:?}");
        first.expect_nothing().await;
        drop((first, other));
        // The idle set gives way.
        until("the first to be gone", async || {
            weir.let_some_time_pass();
            let mut again = asking(&weir, dialect, &of_role("a", "db")).await;
            let received = again.accept(cds).await;
            (!received.resources.is_empty()).then(|| assert_eq!(received.resource("c").text(), "db"))
        })
        .await;
        assert_eq!(weir.proxy.database.displaced_sets(), [(String::new(), 1)].into());
        control_plane
            .wait_for("one stream to be left", |state| (state.open_streams().count() == 1).then_some(()))
            .await;
    })
    .await;
}

#[tokio::test]
async fn p15_idle_sets_give_way_to_those_that_would_be_too_many() {
    let cds = type_url("cds");
    const TWO: &str = "max_parameter_sets = 2\nnode.forward = ['id']";
    in_each_dialect(TWO, async |control_plane, weir, dialect| {
        control_plane.set(Published::text(cds, "c", "1"));
        let mut clients = Vec::new();
        for id in ["a", "b"] {
            let mut client = asking(&weir, dialect, &node(id)).await;
            assert_eq!(client.accept(cds).await.resource("c").text(), "1");
            clients.push(client);
        }
        let mut third = asking(&weir, dialect, &node("c")).await;
        assert_eq!(third.accept(cds).await.error_codes(), [("c", tonic::Code::ResourceExhausted)]);
        drop(third);
        clients.truncate(1);
        until("the second to be gone", async || {
            weir.let_some_time_pass();
            let mut third = asking(&weir, dialect, &node("c")).await;
            (!third.accept(cds).await.resources.is_empty()).then_some(())
        })
        .await;
        control_plane.set(Published::text(cds, "c", "2"));
        assert_eq!(clients[0].accept(cds).await.resource("c").text(), "2", "who is there keeps what it has");
    })
    .await;
}
