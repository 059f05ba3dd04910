//! What gRPC C-core makes of resources that are missing, removed, denied or rejected, and of a Weir or a control plane that is
//! silent or away: the table of gRFC A88.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tonic::Code;
use weir_testkit::process::{GrpcServers, Weir};
use weir_testkit::resources::{grpc_path, published};
use weir_testkit::{FakeControlPlane, Published, type_url};

use crate::bootstrap::Setup::{self, Fallback, Lenient, Strict, Usual};

/// How long gRPC C-core waits for a resource. By A88, `resource_timer_is_transient_error` makes it twice as long; in 1.85 it
/// does not.
const RESOURCE_TIMER: Duration = Duration::from_secs(15);

/// What becomes of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Calls {
    GoOn,
    Fail,
}
use Calls::{Fail, GoOn};

/// Something that happens to what clients have cached.
struct Event {
    name: &'static str,
    /// What happens at the control plane.
    change: fn(&FakeControlPlane),
    /// What it happens to: its type and its name.
    concerns: (&'static str, &'static str),
    /// The state of it that clients by A88 report.
    state: &'static str,
    /// What becomes of calls of a [`Usual`] client, a [`Lenient`] one and a [`Strict`] one.
    calls: [Calls; 3],
}

const EVENTS: [Event; 6] = [
    Event {
        name: "the listener is removed",
        change: |control_plane| control_plane.remove(type_url("lds"), "svc"),
        concerns: ("lds", "svc"),
        state: "DOES_NOT_EXIST",
        calls: [Fail, GoOn, Fail],
    },
    Event {
        name: "the cluster is removed",
        change: |control_plane| control_plane.remove(type_url("cds"), "c"),
        concerns: ("cds", "c"),
        state: "DOES_NOT_EXIST",
        calls: [Fail, GoOn, Fail],
    },
    Event {
        name: "the endpoints are removed",
        change: |control_plane| control_plane.remove(type_url("eds"), "c"),
        concerns: ("eds", "c"),
        state: "RECEIVED_ERROR",
        calls: [GoOn, GoOn, Fail],
    },
    Event {
        name: "the endpoints are denied",
        change: |control_plane| {
            control_plane.set(Published::failing(type_url("eds"), "c", Code::PermissionDenied, "no"))
        },
        concerns: ("eds", "c"),
        state: "RECEIVED_ERROR",
        calls: [GoOn, GoOn, Fail],
    },
    Event {
        name: "the endpoints are unavailable",
        change: |control_plane| {
            control_plane.set(Published::failing(type_url("eds"), "c", Code::Unavailable, "later"))
        },
        concerns: ("eds", "c"),
        state: "RECEIVED_ERROR",
        calls: [GoOn, GoOn, GoOn],
    },
    Event {
        name: "the cluster is rejected",
        change: |control_plane| control_plane.set(published(&rejected())),
        concerns: ("cds", "c"),
        state: "NACKED",
        calls: [GoOn, GoOn, Fail],
    },
];

/// A cluster that gRPC rejects.
fn rejected() -> Value {
    json!({ "@type": type_url("cds"), "name": "c", "type": "ORIGINAL_DST" })
}

/// A control plane with all that calls need.
async fn control_plane(servers: &GrpcServers) -> FakeControlPlane {
    let control_plane = FakeControlPlane::start().await;
    control_plane.set_all(grpc_path("c", servers.address("one")).iter().map(published));
    control_plane
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e02_what_is_cached_ends_as_a88_has_it() {
    let servers = GrpcServers::start(&["one"]).await;
    for event in EVENTS {
        println!("--- {}", event.name);
        let control_plane = control_plane(&servers).await;
        let weir = Weir::builder().upstream(&control_plane, "ads-delta", "streams").start().await;
        let clients = [Usual, Lenient, Strict].map(|setup| (setup, setup.client(&[weir.address()])));
        for (_, client) in &clients {
            client.wait_for("one").await;
        }
        (event.change)(&control_plane);
        let (short, name) = event.concerns;
        for ((setup, client), calls) in clients.into_iter().zip(event.calls) {
            if setup != Usual {
                client.wait_for_state(type_url(short), name, event.state).await;
            }
            match calls {
                GoOn => client.wait_for_more(30).await,
                Fail => client.wait_for_failure("UNAVAILABLE").await,
            }
            let failures = client.answers().failures;
            println!("{setup:?}: {:?}", failures.first());
            assert_eq!(failures.is_empty(), calls == GoOn, "{}, {setup:?}: {failures:?}", event.name);
        }
    }
}

/// Has a client begin, and panics unless its first call fails with these words, before its own timer is over.
async fn fails(weir: &Weir, setup: Setup, words: &str) {
    let started = Instant::now();
    let client = setup.client(&[weir.address()]);
    client.wait_for_failure(words).await;
    let (took, answers) = (started.elapsed(), client.answers());
    println!("{setup:?} after {took:?}: {}", answers.failures[0]);
    assert!(answers.failures[0].contains(words), "{setup:?}: {}", answers.failures[0]);
    assert_eq!(answers.succeeded(), 0, "{setup:?}");
    assert!(took < RESOURCE_TIMER, "{setup:?} waited for {took:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e02_what_never_came_fails_at_once() {
    let servers = GrpcServers::start(&["one"]).await;
    let control_plane = control_plane(&servers).await;
    let builder = || Weir::builder().upstream(&control_plane, "ads-delta", "streams");

    let denies = builder().section("[[access]]\ntypes = [\"lds\", \"rds\", \"cds\"]").start().await;
    for setup in [Lenient, Strict] {
        fails(&denies, setup, "EDS resource c: the access rules of this proxy do not give it").await;
    }

    let weir = builder().start().await;
    control_plane.remove(type_url("eds"), "c");
    for setup in [Lenient, Strict] {
        fails(&weir, setup, "EDS resource c: the resource does not exist").await;
    }
    control_plane.set(published(&rejected()));
    for setup in [Usual, Lenient, Strict] {
        fails(&weir, setup, "unknown discovery type").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u14_where_nobody_can_be_asked_calls_fail_at_once_unless_everything_is_cached() {
    let servers = GrpcServers::start(&["one"]).await;
    let mut control_plane = control_plane(&servers).await;
    let mut weir = Weir::builder().upstream(&control_plane, "ads-delta", "streams").start().await;
    let clients = [Usual, Lenient, Strict].map(|setup| setup.client(&[weir.address()]));
    for client in &clients {
        client.wait_for("one").await;
    }
    control_plane.stop().await;
    weir.kill().await;
    for client in &clients {
        client.wait_for_more(30).await;
    }
    weir.restart().await;
    for setup in [Usual, Lenient, Strict] {
        fails(
            &weir,
            setup,
            "no responses received; status: UNAVAILABLE: nothing of what is asked for is cached",
        )
        .await;
    }
    for client in clients {
        client.wait_for_more(30).await;
        client.finish();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e02_what_does_not_come_is_waited_for_by_timers() {
    let servers = GrpcServers::start(&["one"]).await;
    let (control_plane, second) = (control_plane(&servers).await, FakeControlPlane::start().await);
    control_plane.pause();
    let after = |timeout: &str| {
        Weir::builder().section(&format!(
            "[[upstream]]\nendpoints = [\"{}\"]\ndoes_not_exist_timeout = \"{timeout}\"",
            control_plane.uri()
        ))
    };
    let (patient, hasty) = (after("1m").start().await, after("1s").start().await);
    let denies = Weir::builder().resources(&[]).section("[[access]]\ntypes = [\"cds\"]").start().await;

    let started = Instant::now();
    let waits = [Usual, Lenient, Strict].map(|setup| setup.client(&[patient.address()]));
    let falls_back = Fallback.client(&[patient.address(), second.address()]);
    // Without A88 they do not know what an error of a resource is.
    let ignores = [&hasty, &denies].map(|weir| Usual.client(&[weir.address()]));
    for setup in [Lenient, Strict] {
        fails(&hasty, setup, "LDS resource svc: the resource does not exist").await;
        fails(&denies, setup, "LDS resource svc: the access rules of this proxy do not give it").await;
    }
    let [usual, lenient, strict] = &waits;
    for client in [usual, lenient, &falls_back].into_iter().chain(&ignores) {
        client.wait_for_failure("LDS resource svc: does not exist").await;
    }
    strict.wait_for_failure("LDS resource svc: timeout obtaining resource").await;
    assert!(started.elapsed() > RESOURCE_TIMER, "after {:?}", started.elapsed());
    assert_eq!(second.look(|state| state.streams.len()), 0, "silence is no reason to fall back");
    control_plane.resume();
    for client in &waits {
        client.wait_for("one").await;
    }
}
