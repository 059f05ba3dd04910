//! The authority of an `xdstp://` name selects the upstream.
#![allow(clippy::expect_used, reason = "a test ends at the first thing that is not as it should be")]

mod world;

use weir_protocol::Dialect;
use weir_testkit::{FakeControlPlane, Published, type_url};
use weir_upstream::Settings;

use crate::world::{World, native, streams};

#[tokio::test]
async fn w03_the_authority_selects_the_upstream() {
    let names = ["a", "xdstp:///T/a", "xdstp://one.example/T/a", "xdstp://two.example/T/dir/a"];
    let glob = "xdstp://two.example/T/dir/*";
    for dialect in [Dialect::Delta, Dialect::Sotw] {
        let none = FakeControlPlane::start().await;
        let (one, two) = (FakeControlPlane::start().await, FakeControlPlane::start_tp2().await);
        for (upstream, text) in [(&none, "none"), (&one, "one"), (&two, "two")] {
            upstream.set_all(names.map(|name| Published::text(type_url("cds"), name, text)));
        }
        let world = World::start(vec![
            streams(&none, dialect, &[]),
            Settings { authority: "one.example".into(), ..streams(&one, dialect, &[]) },
            Settings { authority: "two.example".into(), ..native(&two, dialect) },
        ]);
        let view = world.view("cds", &[names[0], names[1], names[2], glob, "xdstp://nobody.example/T/a"]);
        let wanted = [(names[0], "none"), (names[1], "none"), (names[2], "one"), (names[3], "two")];
        view.until_shows(&wanted).await;
        world.until("all is answered", |_| view.is_settled()).await;
        let asks = |upstream: &FakeControlPlane, name: &str| {
            upstream.look(|state| state.requests.iter().any(|request| request.asks_for(name)))
        };
        assert!(asks(&two, glob) && !asks(&one, glob) && !asks(&none, glob));
        assert!([none, one, two].iter().all(|upstream| !asks(upstream, "xdstp://nobody.example/T/a")));
    }
}
