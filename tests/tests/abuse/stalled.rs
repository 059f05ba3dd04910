//! Clients that do not read what they are sent.

use prost::Message as _;
use tokio::io::AsyncWriteExt as _;
use weir_testkit::node;
use weir_testkit::process::Weir;
use weir_testkit::wait::until;
use weir_wire::discovery::DeltaDiscoveryRequest;

use crate::memory::Memory;
use crate::raw::{DATA, END_HEADERS, HEADERS, connect_with, frame, request};
use crate::{closed, serves};

/// A type that Weir does not know, of large resources.
const LARGE: &str = "type.googleapis.com/acme.Large";
/// The size of one, in bytes.
const SIZE: usize = 1 << 20;
/// How many streams there are on one connection.
const STREAMS: u32 = 100;

/// How many bytes may be sent on each stream: none, very few, and what it is where nothing is stated about it
/// (`SETTINGS_INITIAL_WINDOW_SIZE`; RFC 9113, section 6.5.2). On none it is enough.
const WINDOWS: [u16; 3] = [0, 1, 65_535];

fn window(bytes: u16) -> [u8; 6] {
    let [high, low] = bytes.to_be_bytes();
    [0, 4, 0, 0, high, low]
}

fn subscription() -> Vec<u8> {
    let request = DeltaDiscoveryRequest {
        node: Some(node("stalled").encode()),
        type_url: LARGE.to_owned(),
        resource_names_subscribe: vec!["large".to_owned()],
        ..DeltaDiscoveryRequest::default()
    };
    let request = request.encode_to_vec();
    let mut message = vec![0];
    message.extend((request.len() as u32).to_be_bytes());
    message.extend(request);
    message
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_does_not_read_costs_one_response_and_is_cut_off() {
    let large = weir_testkit::resources::text(LARGE, "large", &"x".repeat(SIZE));
    let cluster = weir_testkit::resources::eds_cluster("c");
    let weir = Weir::builder().downstream("stall_timeout = \"3s\"").log_level("info");
    let weir = weir.resources(&[cluster, large]).start().await;
    let memory = Memory::of(&weir).await;
    for (before, bytes) in WINDOWS.into_iter().enumerate() {
        let mut attacker = connect_with(&weir, &window(bytes)).await;
        for stream in (1..2 * STREAMS).step_by(2) {
            let open = frame(HEADERS, END_HEADERS, stream, &request());
            let message = frame(DATA, 0, stream, &subscription());
            attacker.write_all(&[open, message].concat()).await.expect("write");
        }
        until(&format!("a client with a window of {bytes} bytes to be cut off"), async || {
            let metrics = weir.admin("/metrics").await.body;
            let stalled = format!("weir_downstream_stalled_total {}", before + 1);
            metrics.lines().any(|line| line == stalled).then_some(())
        })
        .await;
        // A stream for itself would have a response of its own: a hundred megabytes.
        memory.assert_flat().await;
        closed(attacker).await;
        serves(&weir).await;
    }
    weir.child().wait_for_line(&["the client does not read", "downstream.stall_timeout"]).await;
}
