//! Clients that do not read what they are sent.

use prost::Message as _;
use tokio::io::AsyncWriteExt as _;
use weir_testkit::node;
use weir_testkit::process::Weir;
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

/// Says that nothing is to be sent: `SETTINGS_INITIAL_WINDOW_SIZE` is 0.
const NO_WINDOW: [u8; 6] = [0, 4, 0, 0, 0, 0];

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
    let mut attacker = connect_with(&weir, &NO_WINDOW).await;
    for stream in (1..2 * STREAMS).step_by(2) {
        let open = frame(HEADERS, END_HEADERS, stream, &request());
        attacker.write_all(&[open, frame(DATA, 0, stream, &subscription())].concat()).await.expect("write");
    }
    weir.child().wait_for_line(&["a client that does not read is cut off", "downstream.stall_timeout"]).await;
    // A stream for itself would have a response of its own: a hundred megabytes.
    memory.is_flat().await;
    closed(attacker).await;
    serves(&weir).await;
    let metrics = weir.admin("/metrics").await.body;
    assert!(metrics.contains("weir_downstream_stalled_total 1"), "{metrics}");
}
