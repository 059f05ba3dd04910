//! Control planes whose settings change, that come and that go, while they are served.
#![allow(clippy::expect_used, reason = "a test ends at the first thing that is not as it should be")]

mod world;

use std::time::Duration;

use weir_protocol::Dialect;
use weir_testkit::control_plane::{Request, State};
use weir_testkit::{FakeControlPlane, Published, type_url};
use weir_upstream::{Change, Services, Settings, ShrinkGuard, Source, Trial};

use crate::world::{World, streams};

const HOUR: Duration = Duration::from_secs(3600);
const BOTH: [Dialect; 2] = [Dialect::Delta, Dialect::Sotw];

fn cluster(name: &str, content: &str) -> Published {
    Published::text(type_url("cds"), name, content)
}

fn put(settings: Settings) -> Change {
    Change::Put(Source::ControlPlane(Box::new(settings)))
}

#[tokio::test]
async fn another_endpoint_is_sent_nothing_of_versions_and_brings_what_differs() {
    for dialect in BOTH {
        let (first, second) = (FakeControlPlane::start().await, FakeControlPlane::start().await);
        first.set_all([cluster("same", "1"), cluster("other", "1"), cluster("gone", "1")]);
        second.set_all([cluster("same", "1"), cluster("other", "2")]);
        let world = World::start(vec![streams(&first, dialect, &[])]);
        let view = world.view("cds", &["*"]);
        view.until_shows(&[("gone", "1"), ("other", "1"), ("same", "1")]).await;
        let before = view.head();
        world.change(put(streams(&second, dialect, &[])));
        view.until_shows(&[("other", "2"), ("same", "1")]).await;
        assert_eq!(view.changed_since(before), ["other"], "{dialect}: nobody is sent what is the same");
        first.wait_until_alone().await;
        assert_eq!(world.status.streams()[0].endpoint.as_deref(), Some(&*second.uri()));
    }
}

#[tokio::test]
async fn a_control_plane_that_cannot_be_reached_takes_new_settings_at_once() {
    let (mut gone, right) = (FakeControlPlane::start().await, FakeControlPlane::start().await);
    gone.stop().await;
    right.set(cluster("a", "1"));
    let mut wrong = streams(&gone, Dialect::Delta, &[]);
    (wrong.backoff.base, wrong.backoff.max) = (HOUR, HOUR);
    let world = World::start(vec![wrong]);
    let view = world.view("cds", &["a"]);
    world
        .until("it has failed", |w| w.status.streams().iter().any(|stream| stream.last_failure.is_some()))
        .await;
    world.change(put(streams(&right, Dialect::Delta, &[])));
    view.until_shows(&[("a", "1")]).await;
}

#[tokio::test]
async fn credentials_and_the_sets_of_parameters_go_by_the_new_settings() {
    let upstream = FakeControlPlane::start().await;
    upstream.set(cluster("a", "1"));
    let world = World::start(vec![streams(&upstream, Dialect::Delta, &["env"])]);
    let prod = world.view("cds", &["a{env=prod}"]);
    prod.until_shows(&[("a", "1")]).await;
    let mut settings = streams(&upstream, Dialect::Delta, &["env"]);
    settings.credentials.headers.insert("x-tenant", "shop".parse().expect("a header"));
    world.change(put(settings));
    let with_header = async |count| {
        let sent = |state: &State| {
            let open: Vec<_> = state.streams.iter().filter(|stream| stream.open).collect();
            let sent = open.iter().all(|stream| stream.headers.contains_key("x-tenant"));
            (sent && open.len() == count).then_some(())
        };
        upstream.wait_for("the header on all streams", sent).await;
    };
    with_header(1).await;
    let test = world.view("cds", &["a{env=test}"]);
    test.until_shows(&[("a", "1")]).await;
    with_header(2).await;
    prod.shows(&[("a", "1")]);
}

#[tokio::test]
async fn without_its_guard_what_was_withheld_is_believed() {
    let upstream = FakeControlPlane::start().await;
    upstream.set_all([cluster("a", "1"), cluster("b", "1")]);
    let mut guarded = streams(&upstream, Dialect::Delta, &[]);
    guarded.shrink_guard = Some(ShrinkGuard { percent: 10, minimum: 1, confirm_after: HOUR });
    let world = World::start(vec![guarded]);
    let view = world.view("cds", &["*"]);
    view.until_shows(&[("a", "1"), ("b", "1")]).await;
    upstream.remove(type_url("cds"), "b");
    world
        .until("it is withheld", |w| w.status.streams().iter().any(|stream| !stream.withheld.is_empty()))
        .await;
    view.shows(&[("a", "1"), ("b", "1")]);
    world.change(put(streams(&upstream, Dialect::Delta, &[])));
    view.until_shows(&[("a", "1")]).await;
}

#[tokio::test]
async fn an_authority_that_comes_is_asked_for_what_was_refused_and_one_that_goes_leaves_nothing() {
    const NAME: &str = "xdstp://new.example/envoy.config.cluster.v3.Cluster/a";
    let (old, new) = (FakeControlPlane::start().await, FakeControlPlane::start_tp2().await);
    old.set(cluster("a", "1"));
    new.set(cluster(NAME, "1"));
    let world = World::start(vec![streams(&old, Dialect::Delta, &[])]);
    let (plain, located) = (world.view("cds", &["*"]), world.view("cds", &[NAME]));
    plain.until_shows(&[("a", "1")]).await;
    world.until("it is refused", |_| located.is_settled()).await;
    for round in ["1", "2"] {
        new.set(cluster(NAME, round));
        let settings =
            Settings { authority: "new.example".to_owned(), ..world::native(&new, Dialect::Delta) };
        world.change(put(settings));
        located.until_shows(&[(NAME, round)]).await;
        world.change(Change::Remove("new.example".to_owned()));
        located.until_shows(&[]).await;
        new.wait_until_alone().await;
        world.until("it is refused again", |_| located.is_settled()).await;
    }
    plain.shows(&[("a", "1")]);
    world.until("one stream to be left", |w| w.status.streams().len() == 1).await;
}

/// A stream that nobody wants any more finds a better endpoint, which is not among the new settings' when it is wanted
/// again. `before` that one are others that nobody listens at.
async fn move_while_idle(before: usize) {
    let resources = |text| ["cds", "eds"].map(|short| Published::text(type_url(short), "a", text));
    let mut gone = FakeControlPlane::start().await;
    let mut better = FakeControlPlane::start().await;
    let (backup, new) = (FakeControlPlane::start().await, FakeControlPlane::start().await);
    gone.stop().await;
    better.stop().await;
    better.pause();
    better.set_all(resources("better"));
    backup.set_all(resources("backup"));
    new.set_all(resources("new"));
    let settings = Settings {
        services: Services::PerType,
        trial: Trial { answer: HOUR, lasting: Duration::ZERO },
        ..streams(&backup, Dialect::Delta, &[])
    };
    let preferred = std::iter::repeat_n(gone.uri(), before).chain([better.uri(), backup.uri()]);
    let world = World::start(vec![Settings { endpoints: preferred.collect(), ..settings.clone() }]);
    let (clusters, endpoints) = (world.view("cds", &["a"]), world.view("eds", &["a"]));
    clusters.until_shows(&[("a", "backup")]).await;
    endpoints.until_shows(&[("a", "backup")]).await;
    better.restart().await;
    let is_cds = |r: &Request| r.type_url == type_url("cds");
    better.wait_for_request("a try", |r| is_cds(r) && r.asks_for("a")).await;
    drop(clusters);
    let given_up = |r: &Request| is_cds(r) && r.unsubscribed.contains(&"a".to_owned());
    backup.wait_for_request("that it is given up", given_up).await;
    better.resume();
    let is_left = |state: &State| {
        let mut open = state.streams.iter().filter(|stream| stream.open);
        open.all(|stream| !stream.path.contains("Cluster")).then_some(())
    };
    backup.wait_for("that it is left", is_left).await;
    world.change(put(Settings { endpoints: vec![new.uri()], ..settings }));
    endpoints.until_shows(&[("a", "new")]).await;
    world.view("cds", &["a"]).until_shows(&[("a", "new")]).await;
}

#[tokio::test]
async fn a_stream_that_is_idle_forgets_where_it_was_to_move() {
    move_while_idle(0).await;
}

#[tokio::test]
async fn a_stream_that_is_idle_forgets_a_place_that_there_is_no_more() {
    move_while_idle(1).await;
}

#[tokio::test]
async fn a_control_plane_without_endpoints_is_away_until_it_has_some() {
    let upstream = FakeControlPlane::start().await;
    upstream.set(cluster("a", "1"));
    let settings = streams(&upstream, Dialect::Delta, &[]);
    let world = World::start(vec![Settings { endpoints: Vec::new(), ..settings.clone() }]);
    let view = world.view("cds", &["a"]);
    world.until("unknown locators are unavailable", |_| view.is_away()).await;
    world.change(put(settings));
    view.until_shows(&[("a", "1")]).await;
}
