use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use tokio::net::TcpSocket;

use crate::server::Server;
use crate::{directory, weir};

const CONFIG: &str = "
[downstream]
listen = ['127.0.0.1:0', '[::1]:0']
[admin]
listen = '127.0.0.1:0'
[[upstream]]
files = 'resources'
";

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_startup_line_has_every_address() {
    let directory = directory(&[("weir.toml", CONFIG), ("resources/none.yaml", "resources: []")]);
    let mut server = Server::start(&directory.path().join("weir.toml"));
    let clients: Vec<_> = server.address().split(',').collect();
    assert_eq!(clients.len(), 2);
    for address in clients {
        assert!(!address.ends_with(":0"), "{address}");
        TcpStream::connect(address).unwrap();
    }
    server.wait_for("resource files read");
    let admin = server.admin();
    assert!(get(admin, "/live").starts_with("HTTP/1.1 200"));
    // What was read is committed right after the line.
    let deadline = Instant::now() + Duration::from_secs(60);
    while !get(admin, "/ready").contains("{\"ready\":true}") {
        assert!(Instant::now() < deadline, "{}", get(admin, "/ready"));
    }
    assert!(get(admin, "/metrics").contains("weir_database_ambiguous_matches_total 0"));
}

#[test]
fn who_shares_an_address_with_another_process_states_so() {
    let directory = directory(&[("weir.toml", CONFIG), ("resources/none.yaml", "resources: []")]);
    let first = Server::start(&directory.path().join("weir.toml"));
    let (one, _) = first.address().split_once(',').unwrap();
    let shared = CONFIG.replacen("127.0.0.1:0", one, 1);
    std::fs::write(directory.path().join("second.toml"), shared).unwrap();
    let mut second = Server::start(&directory.path().join("second.toml"));
    let warning = second.wait_for("address shared with another process: it gets a part of the connections");
    assert_eq!((&warning["level"], &warning["addresses"]), (&"WARN".into(), &one.into()));
}

#[test]
fn it_is_not_ready_without_its_control_plane() {
    // Who holds a port without listening keeps others from it.
    let held = TcpSocket::new_v4().unwrap();
    held.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let nobody = held.local_addr().unwrap();
    let config = format!(
        "[downstream]\nlisten = ['127.0.0.1:0']\n[admin]\nlisten = '127.0.0.1:0'\n\
         [[upstream]]\nendpoints = ['http://{nobody}']\n"
    );
    let directory = directory(&[("weir.toml", &config)]);
    let server = Server::start(&directory.path().join("weir.toml"));
    let answer = get(server.admin(), "/ready");
    assert!(answer.starts_with("HTTP/1.1 503"), "no client has come: {answer}");
    let outcome = weir(&["get", "cds", "--server", server.address(), "--timeout", "60s"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("no control plane can be reached"), "{}", outcome.stderr);
    let answer = get(server.admin(), "/ready");
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(answer.contains(r#"the upstream of authority \"\" is not connected"#), "{answer}");
}

#[test]
fn signals_end_it_with_0() {
    let directory = directory(&[("weir.toml", CONFIG), ("resources/none.yaml", "resources: []")]);
    for signal in ["TERM", "INT"] {
        let server = Server::start(&directory.path().join("weir.toml"));
        assert_eq!(server.end(signal).code(), Some(0), "{signal}");
    }
}

#[test]
fn what_keeps_it_from_starting_is_one_line() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let config = CONFIG.replace("127.0.0.1:0', '[::1]:0", &address.to_string());
    let directory = directory(&[("weir.toml", &config), ("resources/none.yaml", "resources: []")]);
    let path = directory.path().join("weir.toml");
    let outcome = weir(&["serve", "--config", path.to_str().unwrap()]);
    assert_eq!(outcome.code, 2);
    let wanted = format!("weir: listen on {address} for clients: Address already in use (os error 98)\n");
    assert_eq!(outcome.stderr, wanted);
}

#[test]
fn f01_it_does_not_start_without_its_files() {
    let directory = directory(&[("weir.toml", CONFIG)]);
    let path = directory.path().join("weir.toml");
    let outcome = weir(&["serve", "--config", path.to_str().unwrap()]);
    assert_eq!(outcome.code, 2);
    let last = outcome.stderr.lines().last().unwrap_or_default();
    let files = directory.path().join("resources");
    let wanted = format!(
        "weir: cannot read resource files from {}: No such file or directory (os error 2)",
        files.display()
    );
    assert_eq!(last, wanted);
}

/// A server that logs something of each connection, after so many of them. A pipe that is not read takes 64 KiB.
fn logged(connections: usize) -> (tempfile::TempDir, Server) {
    let directory = directory(&[("weir.toml", CONFIG), ("resources/none.yaml", "resources: []")]);
    let server = Server::start(&directory.path().join("weir.toml"));
    let mut stream = TcpStream::connect(server.admin()).unwrap();
    let body = r#"{"level":"trace"}"#;
    let put = "PUT /log-level HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n";
    write!(stream, "{put}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    for _ in 0..connections {
        let mut stream = TcpStream::connect(server.admin()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.write_all(b"GET /live HTTP/1.0\r\n\r\n").unwrap();
        stream.read_to_string(&mut String::new()).unwrap();
    }
    (directory, server)
}

#[test]
fn a_log_that_nobody_reads_stops_nothing() {
    let (_directory, mut server) = logged(10_000);
    let metrics = get(server.admin(), "/metrics");
    let dropped = metrics.lines().find_map(|line| line.strip_prefix("weir_log_dropped_total "));
    assert!(dropped.is_some_and(|lines| lines != "0"), "{dropped:?}");
    let resumed = server.wait_for("log lines dropped: standard error was not read");
    assert!(resumed["lines"].as_u64().is_some_and(|lines| lines > 0), "{resumed}");
}

#[test]
fn a_log_that_nobody_reads_does_not_hold_up_the_end() {
    let (_directory, server) = logged(1000);
    assert_eq!(server.end("TERM").code(), Some(0));
}
