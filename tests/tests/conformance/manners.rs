//! Control planes that behave in other ways than most, drawn by seed: through one Weir, and through two.

use std::collections::BTreeSet;
use std::time::Duration;

use weir_testkit::client::DIALECTS;
use weir_testkit::control_plane::Manners;
use weir_testkit::{Dialect, Published, XdsClient, type_url};

use crate::weir::{Uses, Weir};

/// When silence is taken for absence in these tests.
const SOON: Duration = Duration::from_millis(1500);

/// A name whose parameters are not in canonical order when they are reversed.
const SPELLED: &str = "xdstp:///envoy.config.route.v3.RouteConfiguration/shop?a=1&b=2";

fn soon(settings: &mut weir_upstream::Settings) {
    settings.does_not_exist = SOON;
}

/// Takes in what comes until the client holds just these names of a type.
async fn until_it_holds(
    client: &mut XdsClient,
    type_url: &str,
    held: &mut BTreeSet<String>,
    wanted: &[&str],
) {
    let wanted: BTreeSet<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
    while *held != wanted {
        let received = client.accept(type_url).await;
        if client.dialect() == Dialect::Sotw && type_url == weir_testkit::type_url("cds") {
            held.clear();
        }
        held.extend(received.names().into_iter().map(str::to_owned));
        received.removed.iter().for_each(|name| _ = held.remove(name));
    }
}

/// What a client sees of a control plane with these manners.
async fn follow(manners: Manners, uses: Uses, upstream: Dialect, tiers: usize) {
    let (cds, rds, lds) = (type_url("cds"), type_url("rds"), type_url("lds"));
    let control_plane = uses.control_plane().await;
    control_plane.behave(manners);
    let clusters = ["a", "b", "c"].map(|name| Published::text(cds, name, "1"));
    let routes = ["r", SPELLED].map(|name| Published::text(rds, name, "1"));
    control_plane.set_all(clusters.into_iter().chain(routes));
    control_plane.set(Published::text(lds, "named", "1").unlisted());
    let first = Weir::start_with(control_plane.address(), upstream, uses, soon).await;
    let second = match tiers {
        1 => None,
        _ => Some(Weir::start_with(first.proxy.address(), upstream, Uses::Locators, soon).await),
    };
    let weir = second.as_ref().unwrap_or(&first);
    for dialect in DIALECTS {
        let mut client = weir.client(dialect, "prod").await;
        let (mut clusters, mut routes, mut listeners) = <(BTreeSet<_>, BTreeSet<_>, BTreeSet<_>)>::default();
        client.subscribe(lds, &["*", "named"]);
        until_it_holds(&mut client, lds, &mut listeners, &["named"]).await;
        client.subscribe(cds, &["*"]);
        until_it_holds(&mut client, cds, &mut clusters, &["a", "b", "c"]).await;
        // In the state of the world, nobody would learn that one of these types has gone.
        let late = format!("late for {dialect:?}");
        client.subscribe(rds, &["r", &late, SPELLED]);
        until_it_holds(&mut client, rds, &mut routes, &["r", SPELLED]).await;

        control_plane.set(Published::text(rds, &late, "1"));
        until_it_holds(&mut client, rds, &mut routes, &[&late, "r", SPELLED]).await;
        control_plane.remove(cds, "b");
        until_it_holds(&mut client, cds, &mut clusters, &["a", "c"]).await;
        if dialect == Dialect::Delta && upstream == Dialect::Delta {
            control_plane.remove(rds, SPELLED);
            until_it_holds(&mut client, rds, &mut routes, &[&late, "r"]).await;
        }
        control_plane.set(Published::text(cds, "b", "1"));
        control_plane.set(Published::text(rds, SPELLED, "1"));
        until_it_holds(&mut client, cds, &mut clusters, &["a", "b", "c"]).await;
    }
}

/// `WEIR_MANNERS_SEED` runs a single seed.
#[tokio::test]
async fn i16_p16_w07_clients_have_what_control_planes_of_any_manners_have() {
    let single = std::env::var("WEIR_MANNERS_SEED").ok().and_then(|seed| seed.parse().ok());
    for seed in single.map_or(0..16, |seed: u64| seed..seed + 1) {
        let uses = if seed % 2 == 0 { Uses::Nodes } else { Uses::Locators };
        let upstream = DIALECTS[(seed / 2 % 2) as usize];
        let (manners, tiers) = (Manners::drawn(seed), 1 + (seed / 4 % 2) as usize);
        // Shown when the test fails.
        println!("seed {seed}: {manners:?}, {upstream:?}, TP2: {}, {tiers} tiers", uses == Uses::Locators);
        follow(manners, uses, upstream, tiers).await;
    }
}
