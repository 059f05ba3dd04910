//! A client that sends anything, on streams that it opens and drops, while the world goes on; others must not notice.

mod client;
mod world;

use std::sync::LazyLock;

use prost::Message;
use tokio::runtime::{Builder, Runtime};
use weir_session::Request;
use weir_testkit::constraints::locator;
use weir_wire::discovery::{DeltaDiscoveryRequest, DiscoveryRequest, ResourceLocator, Status};
use weir_wire::request::DeltaRequest;

use self::client::Hostile;
use self::world::World;
use crate::script::{LONGEST, Script};

/// For the timers of requests that are on their way.
static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_time().build().expect("a runtime"));

pub(crate) fn run(data: &[u8]) {
    let _within = RUNTIME.enter();
    let mut script = Script::new(data);
    match script.byte() % 2 {
        0 => play::<DiscoveryRequest>(script, sotw),
        _ => play::<DeltaRequest>(script, delta),
    }
}

fn play<R: Request>(mut script: Script<'_>, compose: fn(&mut Script<'_>, &str) -> Vec<u8>) {
    let mut world = World::new();
    let mut client = Hostile::<R>::new();
    for _ in 0..LONGEST {
        if script.is_over() {
            break;
        }
        match script.byte() % 12 {
            0 => client.send(script.block(), 256),
            1 => client.send(&framed(script.block()), 256),
            2..6 => {
                let (nonce, piece) = (client.nonce(script.byte()), script.byte());
                client.send(&framed(&compose(&mut script, &nonce)), piece.max(1).into());
            }
            6..8 => world.commit(&mut script),
            8 => world.answer(),
            9 => client.read(&world, script.byte().into()),
            10 => world.pass(script.byte()),
            _ => client = Hostile::new(),
        }
        client.settle(&world);
        world.settle();
        client.check(&world);
    }
    world.answer();
    client.read(&world, usize::MAX);
    drop(client);
    world.end();
}

/// In the frame that gRPC puts around a message.
fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).expect("an input is short");
    [&[0], &length.to_be_bytes()[..], message].concat()
}

/// A request that can be decoded, whatever it means.
fn sotw(script: &mut Script<'_>, nonce: &str) -> Vec<u8> {
    let request = DiscoveryRequest {
        type_url: script.type_url().to_owned(),
        version_info: script.pick(&["", "1", "0000000000000001"]).to_owned(),
        response_nonce: nonce.to_owned(),
        error_detail: rejection(script),
        resource_names: script.names(),
        resource_locators: locators(script),
        ..Default::default()
    };
    request.encode_to_vec()
}

/// A request that can be decoded, whatever it means.
fn delta(script: &mut Script<'_>, nonce: &str) -> Vec<u8> {
    let version = |name| (name, "0000000000000001".to_owned());
    let request = DeltaDiscoveryRequest {
        type_url: script.type_url().to_owned(),
        response_nonce: nonce.to_owned(),
        error_detail: rejection(script),
        resource_names_subscribe: script.names(),
        resource_names_unsubscribe: script.names(),
        resource_locators_subscribe: locators(script),
        resource_locators_unsubscribe: locators(script),
        initial_resource_versions: script.names().into_iter().map(version).collect(),
        ..Default::default()
    };
    request.encode_to_vec()
}

fn rejection(script: &mut Script<'_>) -> Option<Status> {
    (script.byte() % 8 == 7).then(|| Status { code: 3, message: "no".to_owned() })
}

fn locators(script: &mut Script<'_>) -> Vec<ResourceLocator> {
    let choice = script.byte();
    let parameters: &[(&str, &str)] = match choice % 4 {
        0 => &[],
        1 => &[("env", "prod")],
        2 => &[("env", "prod"), ("version", "v1")],
        _ => &[("env", "test"), ("pod", "7")],
    };
    let names = if choice & 0x80 == 0 { Vec::new() } else { script.names() };
    names.iter().map(|name| locator(name, parameters)).collect()
}
