//! Streams for parameter sets that share connections.
#![allow(clippy::expect_used, reason = "a test ends at the first thing that is not as it should be")]

mod world;

use std::collections::BTreeMap;

use weir_protocol::Dialect;
use weir_testkit::{FakeControlPlane, Published, type_url};

use crate::world::{View, World, streams};

/// How many parameter sets there are.
const SETS: usize = 5;

/// A world whose streams share connections, so many at most, and a view of each parameter set.
async fn start(upstream: &FakeControlPlane, dialect: Dialect, per_connection: usize) -> (World, Vec<View>) {
    let mut settings = streams(upstream, dialect, &["env"]);
    settings.streams_per_connection = per_connection;
    let world = World::start(vec![settings]);
    let views: Vec<_> = (0..SETS).map(|i| world.view("cds", &[&format!("c{{env=e{i}}}")])).collect();
    for (i, view) in views.iter().enumerate() {
        view.until_shows(&[("c", &*format!("of e{i}"))]).await;
    }
    (world, views)
}

fn publish(upstream: &FakeControlPlane, text: &str) {
    for i in 0..SETS {
        let env = format!("e{i}");
        upstream
            .set(Published::text(type_url("cds"), "c", &format!("{text} {env}")).for_metadata("env", &env));
    }
}

/// How many streams each connection has, where all are connected.
fn shares(world: &World) -> Vec<usize> {
    let mut by_connection: BTreeMap<u64, usize> = BTreeMap::new();
    for stream in world.status.streams() {
        let Some(carrier) = stream.carrier else { return Vec::new() };
        *by_connection.entry(carrier.id).or_default() += 1;
    }
    let mut shares: Vec<_> = by_connection.into_values().collect();
    shares.sort_unstable();
    shares
}

#[tokio::test]
async fn u16_streams_share_connections_and_come_back_together() {
    for dialect in [Dialect::Delta, Dialect::Sotw] {
        let mut upstream = FakeControlPlane::start().await;
        publish(&upstream, "of");
        let (world, views) = start(&upstream, dialect, 2).await;
        assert_eq!(shares(&world), [1, 2, 2], "{dialect}");
        upstream.stop().await;
        world.until("the end of all", |world| world.status.streams().iter().all(|s| !s.is_connected())).await;
        publish(&upstream, "again");
        upstream.restart().await;
        for (i, view) in views.iter().enumerate() {
            view.until_shows(&[("c", &*format!("again e{i}"))]).await;
        }
        world.until("all of them", |world| shares(world) == [1, 2, 2]).await;
    }
}

#[tokio::test]
async fn u16_a_connection_has_no_more_streams_than_the_control_plane_takes() {
    for dialect in [Dialect::Delta, Dialect::Sotw] {
        let upstream = FakeControlPlane::start_taking(2).await;
        publish(&upstream, "of");
        let (world, _views) = start(&upstream, dialect, 100).await;
        assert_eq!(shares(&world), [1, 2, 2], "{dialect}");
    }
}

#[tokio::test]
async fn u16_room_that_a_stream_has_left_is_used_again() {
    let upstream = FakeControlPlane::start().await;
    publish(&upstream, "of");
    let (world, mut views) = start(&upstream, Dialect::Delta, SETS).await;
    assert_eq!(shares(&world), [SETS]);
    views.truncate(2);
    world
        .until("three to be gone", |world| {
            world.database.sweep(std::time::Instant::now());
            shares(world) == [2]
        })
        .await;
    for i in 2..SETS {
        let view = world.view("cds", &[&format!("c{{env=e{i}}}")]);
        view.until_shows(&[("c", &*format!("of e{i}"))]).await;
        views.push(view);
    }
    assert_eq!(shares(&world), [SETS]);
}
