//! What a real Envoy asks for only when a request needs it: virtual hosts (VHDS) and clusters (ODCDS).

mod support;

use std::net::SocketAddr;

use serde_json::{Value, json};

use support::{Bed, Source, for_all, local};
use tokio::task::JoinSet;
use weir_testkit::control_plane::{Missing, Request, State};
use weir_testkit::process::http::{self, Answer};
use weir_testkit::process::{Backend, Envoy, EnvoyOptions, Weir, free_port};
use weir_testkit::resources::{
    assignment, eds_cluster, listener, published, routes, separately, static_cluster,
};
use weir_testkit::wait::{until, within};
use weir_testkit::{Dialect, FakeControlPlane, Published, type_url};

const SOURCES: [Source; 2] = [Source::Streams("ads-delta"), Source::Native("ads-delta")];

fn over_ads() -> Value {
    json!({ "ads": {}, "resource_api_version": "V3" })
}

/// A listener whose requests may wait for what they need.
fn patient_listener(port: u16, config: &Value) -> Value {
    let mut typed_config = config.clone();
    typed_config["@type"] = json!("type.googleapis.com/envoy.extensions.filters.http.on_demand.v3.OnDemand");
    let mut listener = listener("l", port, "r");
    let manager = &mut listener["filter_chains"][0]["filters"][0]["typed_config"];
    let filters = manager["http_filters"].as_array_mut().expect("a list");
    filters.insert(0, json!({ "name": "envoy.filters.http.on_demand", "typed_config": typed_config }));
    listener
}

fn virtual_host(name: &str, domain: &str, cluster: &str) -> Published {
    published(&json!({
        "@type": type_url("vhds"),
        "name": name,
        "domains": [domain],
        "routes": [{ "match": { "prefix": "/" }, "route": { "cluster": cluster } }],
    }))
    .alias(&format!("r/{domain}"))
}

/// Every name that was ever asked for of a type, each as often as that was.
fn asked(state: &State, type_url: &str) -> Vec<String> {
    let requests = state.requests_for(type_url);
    requests.flat_map(|r| r.names.iter().cloned().chain(r.locators.iter().map(|l| l.name.clone()))).collect()
}

async fn get(port: u16, headers: &[(&str, &str)]) -> Answer {
    within("an answer", http::get_with(local(port), "/", headers)).await.expect("a whole answer")
}

/// Asks until `body` is the answer.
async fn get_until(port: u16, headers: &[(&str, &str)], body: &str) {
    until(body, || async {
        let answer = http::get_with(local(port), "/", headers).await.ok()?;
        (answer.status == 200 && answer.body == body).then_some(())
    })
    .await;
}

async fn live_envoy(server: SocketAddr, id: &str) -> Envoy {
    let mut envoy = Envoy::start(server, &EnvoyOptions::new(Dialect::Delta, id));
    envoy.live().await;
    envoy
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i10_a_virtual_host_comes_with_the_first_request_for_it() {
    let vhds = type_url("vhds");
    let (one, two) = (Backend::start("one").await, Backend::start("two").await);
    for source in SOURCES {
        let ports = [free_port(), free_port()];
        let mut bare = routes("r", "none");
        bare["virtual_hosts"] = json!([]);
        let mut on_demand = over_ads();
        // Envoy waits this long for virtual hosts before it has asked for any; nothing answers that.
        on_demand["initial_fetch_timeout"] = json!("0.1s");
        bare["vhds"] = json!({ "config_source": on_demand });
        let resources = |port| {
            for_all([
                eds_cluster("c1"),
                eds_cluster("c2"),
                assignment("c1", &[one.address()]),
                assignment("c2", &[two.address()]),
                patient_listener(port, &json!({})),
                bare.clone(),
            ])
        };
        let mut bed = Bed::start(source, &resources(ports[0])).await;
        let missing = Published::text(vhds, "r/none.test", "").alias("r/none.test").without_body();
        bed.control_plane().set_all([
            virtual_host("r/vh1", "one.test", "c1"),
            virtual_host("r/vh2", "two.test", "c2"),
            missing,
        ]);
        let _envoy = live_envoy(bed.address(), "envoy-1").await;
        let control_plane = bed.control_plane.as_ref().expect("there is a control plane");
        assert!(control_plane.look(|state| asked(state, vhds)).is_empty(), "i13");

        assert_eq!(get(ports[0], &[("host", "one.test")]).await.body, "one");
        assert_eq!(control_plane.look(|state| asked(state, vhds)), ["r/one.test"]);
        assert_eq!(get(ports[0], &[("host", "none.test")]).await.status, 404, "i12");

        let moved = virtual_host("r/vh1", "one.test", "c2");
        control_plane.set(moved);
        get_until(ports[0], &[("host", "one.test")], "two").await;

        // Another Envoy is served what is here already; and so is one that comes back.
        let _other = live_envoy(bed.address(), "envoy-2").await;
        let (before, streams) = control_plane.look(|state| (asked(state, vhds).len(), state.streams.len()));
        control_plane.reset_streams();
        let again = |request: &Request| request.stream >= streams && request.asks_for("r/one.test");
        control_plane.wait_for_request("the host again", again).await;
        get_until(ports[0], &[("host", "one.test")], "two").await;
        let stated = control_plane.look(|state| {
            asked(state, vhds)[before..].iter().all(|name| ["r/one.test", "r/none.test"].contains(&&**name))
        });
        assert!(stated, "nothing but what was asked for");
    }
}

/// How an Envoy takes virtual hosts: over ADS, or from their own service.
#[derive(Clone, Copy, Debug)]
enum Over {
    Ads,
    Service,
}

/// A listener on `port` with routes of this name, whose virtual hosts are of their own.
fn bare_routes(over: Over, name: &str, port: u16) -> [Value; 2] {
    let mut bare = routes(name, "none");
    bare["virtual_hosts"] = json!([]);
    let mut hosts = over_ads();
    hosts["initial_fetch_timeout"] = json!("0.1s");
    bare["vhds"] = json!({ "config_source": hosts });
    let mut listener = patient_listener(port, &json!({}));
    listener["name"] = json!(format!("l-{name}"));
    let manager = &mut listener["filter_chains"][0]["filters"][0]["typed_config"];
    manager["rds"]["route_config_name"] = json!(name);
    [listener, bare].map(|resource| match over {
        Over::Ads => resource,
        Over::Service => separately(Dialect::Delta, resource),
    })
}

fn virtual_host_of(routes: &str, name: &str, domain: &str, cluster: &str) -> Published {
    let host = virtual_host(&format!("{routes}/{name}"), domain, cluster);
    Published { aliases: vec![format!("{routes}/{domain}")], ..host }
}

/// Two route configurations whose virtual hosts come on one stream, where it is ADS.
async fn two_route_configurations(over: Over, mode: &str) {
    println!("--- {over:?} {mode}");
    let vhds = type_url("vhds");
    let (one, two) = (Backend::start("one").await, Backend::start("two").await);
    let ports = [free_port(), free_port()];
    let control_plane = FakeControlPlane::start().await;
    let clusters = [static_cluster("c1", &[one.address()]), static_cluster("c2", &[two.address()])];
    let [r, s] = [("r", ports[0]), ("s", ports[1])].map(|(name, port)| bare_routes(over, name, port));
    control_plane.set_all(clusters.into_iter().chain(r).chain(s).map(|resource| published(&resource)));
    control_plane.set_all([
        virtual_host_of("r", "vh1", "one.test", "c1"),
        virtual_host_of("r", "vh2", "other.test", "c2"),
        virtual_host_of("s", "vh1", "one.test", "c2"),
    ]);
    let mode = format!("virtual_hosts = \"{mode}\"");
    let mut weir =
        Weir::builder().upstream(&control_plane, "ads-delta", "streams").section(&mode).start().await;
    let mut options = EnvoyOptions::new(Dialect::Delta, "envoy");
    if matches!(over, Over::Service) {
        options = options.separate();
    }
    let mut envoy = Envoy::start(weir.address(), &options);
    envoy.live().await;

    assert_eq!(get(ports[0], &[("host", "one.test")]).await.body, "one");
    assert_eq!(get(ports[1], &[("host", "one.test")]).await.body, "two", "the same host elsewhere");
    assert_eq!(get(ports[0], &[("host", "none.test")]).await.status, 404, "i14");
    let asked_for_all = control_plane.look(|state| asked(state, vhds).contains(&"*".to_owned()));
    assert_eq!(asked_for_all, mode.contains("wildcard"), "i13, i17");

    // Envoy comes back with the wildcard beside the names, to a Weir that knows nothing.
    weir.kill().await;
    control_plane.set(virtual_host_of("s", "vh1", "one.test", "c1"));
    weir.restart().await;
    get_until(ports[1], &[("host", "one.test")], "one").await;
    assert_eq!(get(ports[0], &[("host", "other.test")]).await.body, "two", "not asked for before");
    let asked_for_all = control_plane.look(|state| asked(state, vhds).contains(&"*".to_owned()));
    assert_eq!(asked_for_all, mode.contains("wildcard"), "i13, i17");
    envoy.expect_no_fetch_timeout().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i13_i14_i17_two_route_configurations_have_their_virtual_hosts_over_ads() {
    two_route_configurations(Over::Ads, "on-demand").await;
    two_route_configurations(Over::Ads, "wildcard").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i13_i14_i17_two_route_configurations_have_their_virtual_hosts_from_their_service() {
    two_route_configurations(Over::Service, "on-demand").await;
    two_route_configurations(Over::Service, "wildcard").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i14_i15_a_request_to_a_missing_host_ends_however_upstream_answers() {
    let one = Backend::start("one").await;
    for source in SOURCES {
        let port = free_port();
        let mut bare = routes("r", "none");
        bare["virtual_hosts"] = json!([]);
        let mut on_demand = over_ads();
        on_demand["initial_fetch_timeout"] = json!("0.1s");
        bare["vhds"] = json!({ "config_source": on_demand });
        let resources =
            for_all([static_cluster("c1", &[one.address()]), patient_listener(port, &json!({})), bare]);
        let mut bed = Bed::start(source, &resources).await;
        let _envoy = live_envoy(bed.address(), "envoy").await;
        let control_plane = bed.control_plane();
        for missing in Missing::ALL.into_iter().filter(|missing| *missing != Missing::Silent) {
            control_plane.answer_missing(missing);
            let host = format!("{missing:?}.test").to_lowercase();
            assert_eq!(get(port, &[("host", &host)]).await.status, 404, "{missing:?}");
            // The host comes after all, under another name.
            control_plane.set(virtual_host(&format!("r/vh-{missing:?}"), &host, "c1"));
            get_until(port, &[("host", &host)], "one").await;
        }
    }
}

/// How many of `count` requests at once, each for a cluster that nobody has asked for yet, are answered.
async fn answered_at_once(server: SocketAddr, port: u16, count: usize) -> usize {
    let _envoy = live_envoy(server, "envoy").await;
    let ask = |i: usize| async move {
        let cluster = format!("lazy-{i}");
        get(port, &[("host", "a"), ("x-cluster", &cluster)]).await.body == "two"
    };
    let answers = (0..count).map(ask).collect::<JoinSet<_>>().join_all().await;
    answers.into_iter().filter(|answered| *answered).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i10_clusters_that_are_asked_for_at_once_all_come() {
    const COUNT: usize = 5;
    let (one, two) = (Backend::start("one").await, Backend::start("two").await);
    let port = free_port();
    // An answer that Envoy loses ends as 503.
    let odcds = json!({ "odcds": { "source": over_ads(), "timeout": "5s" } });
    let mut by_header = routes("r", "none");
    by_header["virtual_hosts"][0]["routes"][0]["route"] = json!({ "cluster_header": "x-cluster" });
    let resources = [static_cluster("listed", &[one.address()]), patient_listener(port, &odcds), by_header];
    let control_plane = FakeControlPlane::start().await;
    control_plane.set_all(resources.map(|resource| published(&resource)));
    let lazy = |i| published(&static_cluster(&format!("lazy-{i}"), &[two.address()])).unlisted();
    control_plane.set_all((0..COUNT).map(lazy));
    let direct = answered_at_once(control_plane.address(), port, COUNT).await;
    let weir = Weir::builder().upstream(&control_plane, "ads-delta", "streams").start().await;
    let through = answered_at_once(weir.address(), port, COUNT).await;
    assert!(through >= direct, "directly {direct} of {COUNT}, through Weir {through}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i10_a_cluster_comes_with_the_first_request_for_it() {
    let cds = type_url("cds");
    let (one, two) = (Backend::start("one").await, Backend::start("two").await);
    for source in SOURCES {
        let port = free_port();
        // Longer than anybody waits here: Envoy gives up nothing by itself.
        let odcds = json!({ "odcds": { "source": over_ads(), "timeout": "600s" } });
        let mut by_header = routes("r", "none");
        by_header["virtual_hosts"][0]["routes"][0]["route"] = json!({ "cluster_header": "x-cluster" });
        let items =
            for_all([static_cluster("listed", &[one.address()]), patient_listener(port, &odcds), by_header]);
        let bed = Bed::start(source, &items).await;
        let control_plane = bed.control_plane.as_ref().expect("there is a control plane");
        control_plane.set_all(
            ["lazy", "other"].map(|name| published(&static_cluster(name, &[two.address()])).unlisted()),
        );
        let mut envoy = live_envoy(bed.address(), "envoy").await;
        assert_eq!(get(port, &[("host", "a"), ("x-cluster", "listed")]).await.body, "one");
        assert_eq!(get(port, &[("host", "a"), ("x-cluster", "lazy")]).await.body, "two");
        let named = control_plane.look(|state| asked(state, cds));
        assert!(named.iter().all(|name| ["*", "lazy"].contains(&&**name)), "only that one: {named:?}");
        assert_eq!(get(port, &[("host", "a"), ("x-cluster", "missing")]).await.status, 503);
        // The wildcard goes on beside it, and so does the lazily fetched one.
        control_plane.set(published(&static_cluster("late", &[one.address()])));
        let active = "cluster_manager.active_clusters";
        envoy.wait_for_stat(active, |count| count == 4).await;
        control_plane.set(published(&static_cluster("lazy", &[one.address()])).unlisted());
        get_until(port, &[("host", "a"), ("x-cluster", "lazy")], "one").await;
    }
}
