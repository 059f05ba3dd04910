//! The faults of the proxy, one by one, between a client and an echo server.
#![allow(clippy::unwrap_used, reason = "a test ends at the first thing that is not as it should be")]

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use weir_testkit::wait::within;
use weir_testkit::{Fault, FaultProxy, Side};

/// An echo server, and what it has received in all on each connection.
async fn echo() -> (SocketAddr, watch::Receiver<Vec<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (received, all) = watch::channel(Vec::new());
    let received = Arc::new(received);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let index = received.borrow().len();
            received.send_modify(|received| received.push(Vec::new()));
            let received = Arc::clone(&received);
            tokio::spawn(async move {
                let mut buffer = [0; 1024];
                while let Ok(read @ 1..) = stream.read(&mut buffer).await {
                    received.send_modify(|received| received[index].extend(&buffer[..read]));
                    if stream.write_all(&buffer[..read]).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    (address, all)
}

async fn connect(proxy: &FaultProxy) -> TcpStream {
    TcpStream::connect(proxy.address()).await.unwrap()
}

/// Sends something, and returns the echo.
async fn states(stream: &mut TcpStream, what: &str) -> std::io::Result<String> {
    stream.write_all(what.as_bytes()).await?;
    let mut back = vec![0; what.len()];
    within("an answer", stream.read_exact(&mut back)).await?;
    Ok(String::from_utf8_lossy(&back).into_owned())
}

#[tokio::test]
async fn what_is_stated_passes_both_ways() {
    let proxy = FaultProxy::start(echo().await.0).await;
    let mut client = connect(&proxy).await;
    assert_eq!(states(&mut client, "hello").await.unwrap(), "hello");
    drop(client);
    proxy.wait_for("the end of it", |now| now.open == 0 && now.accepted == 1).await;
}

#[tokio::test]
async fn a_reset_ends_what_is_open_and_nothing_else() {
    let proxy = FaultProxy::start(echo().await.0).await;
    let mut client = connect(&proxy).await;
    states(&mut client, "1").await.unwrap();
    proxy.inject(Fault::Reset);
    let error = within("the reset", client.read(&mut [0])).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    assert_eq!(states(&mut connect(&proxy).await, "2").await.unwrap(), "2");
}

#[tokio::test]
async fn new_connections_are_refused_until_it_is_healed() {
    let proxy = FaultProxy::start(echo().await.0).await;
    let mut open = connect(&proxy).await;
    states(&mut open, "1").await.unwrap();
    proxy.inject(Fault::Refuse);
    let mut refused = connect(&proxy).await;
    assert!(states(&mut refused, "2").await.is_err());
    assert_eq!(states(&mut open, "3").await.unwrap(), "3");
    proxy.heal();
    assert_eq!(states(&mut connect(&proxy).await, "4").await.unwrap(), "4");
}

#[tokio::test]
async fn what_is_stalled_goes_on_when_it_is_healed() {
    let (server, mut received) = echo().await;
    let proxy = FaultProxy::start(server).await;
    let mut client = connect(&proxy).await;
    states(&mut client, "1").await.unwrap();
    proxy.inject(Fault::Stall);
    client.write_all(b"2").await.unwrap();
    let mut late = connect(&proxy).await;
    late.write_all(b"3").await.unwrap();
    proxy.wait_for("the second to be accepted", |now| now.accepted == 2).await;
    // The server has both connections, and has received nothing on them.
    within("both", received.wait_for(|received| received.len() == 2)).await.unwrap();
    assert_eq!(*received.borrow(), [b"1".to_vec(), Vec::new()]);
    proxy.heal();
    let mut back = [0];
    for (client, stated) in [(&mut client, b'2'), (&mut late, b'3')] {
        within("what was stalled", client.read_exact(&mut back)).await.unwrap();
        assert_eq!(back[0], stated);
    }
}

#[tokio::test]
async fn a_dead_peer_states_nothing_and_is_not_missed() {
    let proxy = FaultProxy::start(echo().await.0).await;
    let mut client = connect(&proxy).await;
    states(&mut client, "1").await.unwrap();
    proxy.inject(Fault::HalfOpen);
    let mut live = connect(&proxy).await;
    assert_eq!(states(&mut live, "2").await.unwrap(), "2", "new ones are well");
    client.write_all(b"3").await.unwrap();
    assert_eq!(client.try_read(&mut [0]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    assert_eq!(proxy.connections().open, 2);
    drop(client);
    proxy.wait_for("its end", |now| now.open == 1).await;
}

#[tokio::test]
async fn rubbish_comes_between() {
    for side in [Side::Client, Side::Server] {
        let (server, mut received) = echo().await;
        let proxy = FaultProxy::start(server).await;
        let mut client = connect(&proxy).await;
        states(&mut client, "1").await.unwrap();
        proxy.inject(Fault::Garbage(side));
        // Either way it comes to the client in the end.
        let mut rubbish = [0; 64];
        within("the rubbish", client.read_exact(&mut rubbish)).await.unwrap();
        assert!(rubbish.iter().all(|byte| *byte >= 0x80));
        let at_server = received.borrow_and_update()[0].len();
        assert_eq!(at_server, if side == Side::Server { 65 } else { 1 });
        assert_eq!(states(&mut client, "2").await.unwrap(), "2");
    }
}

#[tokio::test]
async fn a_slow_connection_takes_its_time() {
    let proxy = FaultProxy::start(echo().await.0).await;
    proxy.inject(Fault::Slow(4000));
    let mut client = connect(&proxy).await;
    let start = std::time::Instant::now();
    let stated = "x".repeat(500);
    assert_eq!(states(&mut client, &stated).await.unwrap(), stated);
    assert!(start.elapsed().as_millis() >= 125, "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_duplicate_is_sent_everything_and_not_listened_to() {
    let (server, mut received) = echo().await;
    let proxy = FaultProxy::start(server).await;
    proxy.inject(Fault::Duplicate);
    let mut client = connect(&proxy).await;
    assert_eq!(states(&mut client, "1").await.unwrap(), "1");
    let both = received.wait_for(|received| *received == [b"1".to_vec(), b"1".to_vec()]);
    within("both to receive it", both).await.unwrap();
    assert_eq!(states(&mut client, "2").await.unwrap(), "2", "one answer");
}

#[tokio::test]
async fn a_seed_gives_the_same_faults() {
    let faults = async |seed| {
        let proxy = FaultProxy::seeded(SocketAddr::from(([127, 0, 0, 1], 1)), seed).await;
        (0..20).map(|_| proxy.pick()).collect::<Vec<_>>()
    };
    assert_eq!(faults(7).await, faults(7).await);
    assert_ne!(faults(7).await, faults(8).await);
}
