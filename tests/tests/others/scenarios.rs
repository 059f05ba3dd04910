//! What happens in every lane, and in which order.

use std::time::Duration;

use super::clients::Servers;
use super::lane::{Lane, MAIN, OTHER, RETRY, World};
use super::observed::Expected::{Answer, Failure};

/// How long the control plane is away.
const AWAY_FOR: Duration = Duration::from_secs(20);
/// How often a change is made that may break a request or not, as chance has it.
const ROUNDS: usize = 5;
/// Longer than Weir holds back what waits for clusters, so that clients have it in the end.
const WARMING: Duration = Duration::from_millis(1500);
/// How long Weir and the control plane are away together.
const BOTH_AWAY: Duration = Duration::from_secs(3);

/// Until this shows, requests have nowhere to go.
pub const START: &str = "start";
/// The control plane is back.
pub const AWAY: &str = "away 20 s";
/// Weir is back.
pub const KILLED: &str = "Weir killed";

/// Changes that show only once somebody has connected again, with how long that one may wait between attempts: Weir, or
/// gRPC, which begins with a second, draws, and doubles it.
pub const RECOVERIES: [(&str, Duration); 4] = [
    (START, GRPC_RETRY),
    ("away 20 s", RETRY),
    ("Weir killed", GRPC_RETRY),
    ("Weir killed while away", GRPC_RETRY),
];
const GRPC_RETRY: Duration = Duration::from_secs(10);

/// The names of the servers that requests end at.
pub const SERVERS: [&str; 2] = ["one", "two"];

/// The worlds in which [`MAIN`] leads to the first and to the second server, and there is no other target.
struct Turns([World; 2]);

/// Goes through all of it.
pub async fn play(lane: &mut Lane, servers: &Servers) {
    changes(lane, servers).await;
    let turns = Turns(SERVERS.map(|name| World::from([(MAIN, ("a", Some(servers.address(name))))])));
    away(lane, &turns).await;
    killed(lane, &turns).await;
    killed_while_away(lane, &turns).await;
}

async fn changes(lane: &mut Lane, servers: &Servers) {
    let [one, two] = SERVERS.map(|name| Some(servers.address(name)));
    let mut world = World::from([(MAIN, ("a", one))]);
    lane.change(START, &world, MAIN, Answer("one")).await;
    world.insert(OTHER, ("b", two));
    lane.change("add", &world, OTHER, Answer("two")).await;
    // A new cluster, its endpoints, the route, and the end of the old cluster, all at once.
    for _ in 0..ROUNDS {
        world.insert(MAIN, ("c", two));
        lane.change("change", &world, MAIN, Answer("two")).await;
        world.insert(MAIN, ("a", one));
        lane.change("change", &world, MAIN, Answer("one")).await;
    }
    for _ in 0..ROUNDS {
        world.insert(MAIN, ("a", two));
        lane.change("move", &world, MAIN, Answer("two")).await;
        world.insert(MAIN, ("a", one));
        lane.change("move", &world, MAIN, Answer("one")).await;
    }
    world.remove(OTHER);
    lane.change("remove", &world, OTHER, Failure).await;
    // A cluster whose endpoints are missing holds up nobody but itself.
    world.insert(OTHER, ("d", None));
    world.insert(MAIN, ("a", two));
    lane.change("missing name", &world, MAIN, Answer("two")).await;
    world.insert(MAIN, ("a", one));
    lane.change("beside it", &world, MAIN, Answer("one")).await;
    lane.go_on(WARMING).await;
    world.remove(OTHER);
    world.insert(MAIN, ("a", two));
    lane.change("after it", &world, MAIN, Answer("two")).await;
}

/// The control plane is away for a while, and has something new when it is back.
async fn away(lane: &mut Lane, Turns([one, two]): &Turns) {
    lane.stop().await;
    lane.go_on(AWAY_FOR).await;
    lane.publish(one).await;
    lane.recover(AWAY, MAIN, Answer("one")).await;
    lane.change("back", two, MAIN, Answer("two")).await;
}

/// Weir is killed and comes back, while the control plane goes on.
async fn killed(lane: &mut Lane, Turns([one, two]): &Turns) {
    lane.restart_weir().await;
    lane.change(KILLED, one, MAIN, Answer("one")).await;
    lane.change("Weir back", two, MAIN, Answer("two")).await;
}

/// Weir is killed and comes back, while the control plane is away.
async fn killed_while_away(lane: &mut Lane, Turns([one, two]): &Turns) {
    lane.stop().await;
    lane.restart_weir().await;
    lane.go_on(BOTH_AWAY).await;
    lane.publish(one).await;
    lane.recover("Weir killed while away", MAIN, Answer("one")).await;
    lane.change("both back", two, MAIN, Answer("two")).await;
}
