//! What a service manager receives from the program, on a socket as systemd has one.

use std::collections::HashMap;

use tokio::net::UnixDatagram;
use weir_testkit::process::Weir;
use weir_testkit::wait::within;

/// The next message that is no sign of life, by its keys.
async fn next(socket: &UnixDatagram) -> HashMap<String, String> {
    let mut buffer = [0; 1024];
    loop {
        let length = within("a message", socket.recv(&mut buffer)).await.expect("a datagram");
        let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
        if text != "WATCHDOG=1" {
            let pairs = text.lines().map(|line| line.split_once('=').expect("KEY=VALUE"));
            return pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        }
    }
}

fn stated(key: &str) -> HashMap<String, String> {
    HashMap::from([(key.to_owned(), "1".to_owned())])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_service_manager_receives_of_the_start_of_reloads_and_of_the_end() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("notify");
    let socket = UnixDatagram::bind(&path).expect("a socket");
    let builder = Weir::builder().resources(&[]).variable("NOTIFY_SOCKET", &path.display().to_string());
    let mut weir = builder.variable("WATCHDOG_USEC", "200000").start().await;
    assert_eq!(next(&socket).await, stated("READY"));

    weir.signal("HUP").await;
    reloads(&socket).await;
    weir.reconfigure(|_| "nonsense".to_owned());
    reloads(&socket).await;
    weir.child().wait_for_line(&["configuration rejected"]).await;

    let mut buffer = [0; 1024];
    while within("a sign of life", socket.recv(&mut buffer)).await.expect("a datagram") != "WATCHDOG=1".len()
    {
    }
    weir.signal("TERM").await;
    assert_eq!(next(&socket).await, stated("STOPPING"));
    assert!(weir.ended().await.success());
}

/// A reload, good or not, begins and is over.
async fn reloads(socket: &UnixDatagram) {
    let begins = next(socket).await;
    assert_eq!(begins["RELOADING"], "1", "{begins:?}");
    assert!(begins["MONOTONIC_USEC"].parse::<u64>().expect("microseconds") > 0);
    assert_eq!(next(socket).await, stated("READY"));
}
