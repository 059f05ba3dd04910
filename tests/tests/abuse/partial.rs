//! Clients that send the half of a request.

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use weir_testkit::process::Weir;
use weir_testkit::resources::eds_cluster;
use weir_testkit::wait::until;

use crate::memory::Memory;
use crate::raw::{DATA, END_HEADERS, HEADERS, connect_http2, frame, request};
use crate::serves;

/// What may have arrived of requests that are not complete, in bytes.
const BUDGET: usize = 8 << 20;
/// A request, in bytes.
const WHOLE: usize = 4 << 20;
/// How many clients send the half of one: together 25 times the budget.
const CLIENTS: usize = 100;

async fn weir(receive_timeout: &str) -> Weir {
    Weir::builder()
        .downstream(&format!("receive_timeout = \"{receive_timeout}\"\nmax_request_size = \"4MiB\""))
        .section("[limits]\nmax_partial_requests = \"8MiB\"")
        .log_level("info")
        .resources(&[eds_cluster("c")])
        .start()
        .await
}

/// A client that has sent so much of a request, as far as it was let.
async fn half(weir: &Weir, bytes: usize) -> TcpStream {
    let mut client = connect_http2(weir).await;
    let mut header = vec![0];
    header.extend((WHOLE as u32).to_be_bytes());
    let begin = [frame(HEADERS, END_HEADERS, 1, &request()), frame(DATA, 0, 1, &header)].concat();
    client.write_all(&begin).await.expect("write");
    let piece = frame(DATA, 0, 1, &[0x0a; 16 << 10]);
    for _ in 0..bytes / (16 << 10) {
        // Who is refused, or has used up the window, is not read to the end.
        let written = tokio::time::timeout(std::time::Duration::from_secs(1), client.write_all(&piece)).await;
        if !matches!(written, Ok(Ok(()))) {
            break;
        }
    }
    client
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_halves_of_many_requests_take_no_more_than_their_budget() {
    let weir = weir("60s").await;
    let memory = Memory::of(&weir).await;
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(half(&weir, WHOLE / 2).await);
        assert!(memory.growth() < 4 * BUDGET, "{} bytes after {} clients", memory.growth(), clients.len());
    }
    weir.child().wait_for_line(&["clients rejected: limit reached", "limits.max_partial_requests"]).await;
    memory.assert_within(BUDGET).await;
    serves(&weir).await;
    let turned_away = "weir_downstream_admission_rejections_total{reason=\"partial_requests\"}";
    until("refusals to be counted", async || {
        weir.admin("/metrics").await.body.contains(turned_away).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_half_of_a_request_is_given_up_when_the_rest_does_not_come() {
    let weir = weir("2s").await;
    let client = half(&weir, 128 << 10).await;
    weir.child().wait_for_line(&["stream rejected", "downstream.receive_timeout"]).await;
    drop(client);
    // The header of a message by itself is the beginning of one too.
    let client = half(&weir, 0).await;
    until("both to be given up", async || {
        (weir.child().output().matches("stream rejected").count() >= 2).then_some(())
    })
    .await;
    drop(client);
    serves(&weir).await;
}
