//! Clients that mean harm, over raw sockets: each is cut off or held up, and others are served meanwhile.

mod introduced;
mod memory;
mod partial;
mod raw;
mod stalled;

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{interval, timeout};
use weir_testkit::process::Weir;
use weir_testkit::resources::eds_cluster;
use weir_testkit::wait::within;
use weir_testkit::{XdsClient, node, type_url};

use crate::memory::Memory;
use crate::raw::{
    CONTINUATION, END_HEADERS, HEADERS, PING, RST_STREAM, SETTINGS, block, connect, connect_http2, frame,
    request,
};

/// How much a client may send that reads nothing, before it is held up or cut off: what sockets hold, and some.
const UNREAD: usize = 64 << 20;

/// Others are served.
async fn serves(weir: &Weir) {
    let mut client = XdsClient::delta(weir.address(), &node("well-behaved")).await;
    client.subscribe(type_url("cds"), &[]);
    assert_eq!(client.accept(type_url("cds")).await.names(), ["c"]);
}

/// Everything that comes until the connection is closed. Panics if it stays open.
async fn closed(mut attacker: TcpStream) -> Vec<u8> {
    let mut stated = Vec::new();
    // A reset is an end too.
    _ = within("the connection to be closed", attacker.read_to_end(&mut stated)).await;
    stated
}

/// Sends `chunk` again and again without reading, until that is not taken any more. Panics if it always is.
async fn flood(attacker: &mut TcpStream, chunk: &[u8]) {
    for _ in 0..UNREAD / chunk.len() {
        match timeout(Duration::from_secs(2), attacker.write_all(chunk)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return,
        }
    }
    panic!("{UNREAD} bytes were taken from a client that reads no answer");
}

/// Panics if an attack costs a Weir memory, or keeps it from serving others. What it gives back is held until then.
async fn assert_withstands<T>(attack: impl AsyncFnOnce(&Weir) -> T) {
    let weir = Weir::builder().downstream("receive_timeout = \"2s\"").resources(&[eds_cluster("c")]);
    let weir = weir.start().await;
    let memory = Memory::of(&weir).await;
    let _held = attack(&weir).await;
    memory.assert_flat().await;
    serves(&weir).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slowloris_is_cut_off_wherever_it_stops() {
    assert_withstands(async |weir| {
        let mut attackers = Vec::new();
        for begun in ["", "P", "PRI * HTTP", "POST /v3/discovery:clusters HTTP/1.1\r\nhost: x\r\n"] {
            let mut attacker = connect(weir).await;
            attacker.write_all(begun.as_bytes()).await.expect("write");
            attackers.push(attacker);
        }
        for attacker in attackers {
            closed(attacker).await;
        }
        let mut attacker = connect(weir).await;
        let body = "POST /v3/discovery:clusters HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{";
        attacker.write_all(body.as_bytes()).await.expect("write");
        let answer = closed(attacker).await;
        assert!(answer.starts_with(b"HTTP/1.1 408 "), "{}", String::from_utf8_lossy(&answer));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slowloris_that_never_stops_is_cut_off_too() {
    assert_withstands(async |weir| {
        let mut attacker = connect(weir).await;
        attacker.write_all(b"POST / HTTP/1.1\r\n").await.expect("write");
        let mut pace = interval(Duration::from_millis(20));
        within("the connection to be closed", async {
            loop {
                pace.tick().await;
                if attacker.write_all(b"a: b\r\n").await.is_err() {
                    return;
                }
            }
        })
        .await;
        attacker
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_huge_header_is_refused() {
    assert_withstands(async |weir| {
        let mut first = connect(weir).await;
        first.write_all(b"POST / HTTP/1.1\r\nhost: x\r\na: ").await.expect("write");
        flood(&mut first, &[b'a'; 16 << 10]).await;

        let mut second = connect_http2(weir).await;
        second.write_all(&frame(HEADERS, 0, 1, &request())).await.expect("write");
        let field = block(&[("a", &"a".repeat(120))]);
        flood(&mut second, &frame(CONTINUATION, 0, 1, &field.repeat(100))).await;
        (first, second)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_pings_holds_up_who_sends_it() {
    assert_withstands(async |weir| {
        let mut attacker = connect_http2(weir).await;
        flood(&mut attacker, &frame(PING, 0, 0, &[7; 8]).repeat(1000)).await;
        attacker
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_settings_holds_up_who_sends_it() {
    assert_withstands(async |weir| {
        let mut attacker = connect_http2(weir).await;
        flood(&mut attacker, &frame(SETTINGS, 0, 0, &[0, 4, 0, 1, 0, 0]).repeat(1000)).await;
        attacker
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_resets_stream_after_stream_is_cut_off() {
    assert_withstands(async |weir| {
        let (mut answers, mut attacker) = connect_http2(weir).await.into_split();
        let reading = tokio::spawn(async move { answers.read_to_end(&mut Vec::new()).await });
        let open = request();
        // Far more than it takes, and few enough to have ids.
        for stream in (1..200_000).step_by(2) {
            let pair =
                [frame(HEADERS, END_HEADERS, stream, &open), frame(RST_STREAM, 0, stream, &[0, 0, 0, 8])];
            if attacker.write_all(&pair.concat()).await.is_err() {
                break;
            }
        }
        _ = within("the connection to be closed", reading).await.expect("it is read until it is closed");
        weir.child().wait_for_line(&["the client resets too many streams"]).await;
        attacker
    })
    .await;
}
