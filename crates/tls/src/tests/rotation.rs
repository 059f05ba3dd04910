//! Files that change under running connections.

use std::fs;
use std::os::unix::fs::symlink;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use weir_testkit::wait::until;

use super::*;
use crate::{Reloaded, Token};

async fn becomes<T: Send + Sync + 'static>(what: &str, value: &Reloaded<T>, wanted: impl Fn(&T) -> bool) {
    until(what, || async { wanted(&value.current()).then_some(()) }).await;
}

#[tokio::test]
async fn new_connections_see_new_files_and_running_ones_stay() {
    let world = World::new();
    let acceptor = Acceptor::start("server", world.server()).unwrap();
    let client = Client::start("client", world.client()).unwrap();
    let (near, far) = duplex(64 << 10);
    let (server, running) = tokio::join!(acceptor.accept(far, async |_| Ok(())), client.connect("x", near));
    let ((mut server, _), mut running) = (server.unwrap(), running.unwrap());

    // Neither side trusts the other any more, until both have changed.
    world.theirs.write(world.path(), "ca");
    until("the old certificates to be refused", || async {
        let (server, client) = shake(&acceptor, &client).await;
        (server.is_err() && client.is_err()).then_some(())
    })
    .await;
    world.theirs.issue(&["server.example"]).write(world.path(), "server");
    world.theirs.issue(&["spiffe://theirs/client"]).write(world.path(), "client");
    let identity = until("the new certificates to be in use", || async {
        let (server, client) = shake(&acceptor, &client).await;
        client.ok().and(server.ok())
    });
    assert_eq!(identity.await.unwrap().spiffe(), Some("spiffe://theirs/client"));

    running.write_all(b"ping").await.unwrap();
    running.flush().await.unwrap();
    let mut received = [0; 4];
    server.read_exact(&mut received).await.unwrap();
    assert_eq!(&received, b"ping");
}

#[tokio::test]
async fn a_bad_file_changes_nothing_and_a_good_one_after_it_does() {
    let world = World::new();
    let path = world.file("token");
    fs::write(&path, "one").unwrap();
    let token = Token::keep("test", &path).unwrap();
    let acceptor = Acceptor::start("server", world.server()).unwrap();
    let client = Client::start("client", world.client()).unwrap();
    // A certificate without its key, and one that has expired: each beside a good token, which shows that
    // changes were seen.
    for (round, bad) in [world.ours.issue(&["bad.example"]).chain, String::new()].into_iter().enumerate() {
        fs::write(world.file("server.pem"), bad).unwrap();
        fs::write(&path, format!("round-{round}")).unwrap();
        becomes("a new token", &token, |token| token.is(format!("round-{round}").as_bytes())).await;
        shake(&acceptor, &client).await.0.unwrap();
    }
    fs::write(&path, "").unwrap();
    world.ours.issue_expired(&["server.example"]).write(world.path(), "server");
    world.ours.issue(&["server.example", "spiffe://ours/new"]).write(world.path(), "server");
    let picky =
        ClientSettings { subject_alt_names: vec!["spiffe://ours/new".parse().unwrap()], ..world.client() };
    let picky = Client::start("client", picky).unwrap();
    until("the good certificate to be in use", || async { shake(&acceptor, &picky).await.1.ok() }).await;
    assert!(token.current().is(b"round-1"), "an empty file is no token");
}

#[tokio::test]
async fn a_link_that_is_turned_to_another_directory_is_a_change() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    for (data, token) in [("..1", "one"), ("..2", "two")] {
        fs::create_dir(at(data)).unwrap();
        fs::write(at(data).join("token"), token).unwrap();
    }
    symlink("..1", at("..data")).unwrap();
    symlink("..data/token", at("token")).unwrap();
    let token = Token::keep("test", &at("token")).unwrap();
    assert!(token.current().is(b"one"));
    symlink("..2", at("..new")).unwrap();
    fs::rename(at("..new"), at("..data")).unwrap();
    becomes("the token in the other directory", &token, |token| token.is(b"two")).await;
}

#[tokio::test]
async fn an_expired_certificate_is_better_than_none_at_the_start() {
    let world = World::new();
    world.ours.issue_expired(&["server.example"]).write(world.path(), "server");
    let acceptor = Acceptor::start("server", world.server()).unwrap();
    let client = Client::start("client", world.client()).unwrap();
    assert!(shake(&acceptor, &client).await.1.unwrap_err().contains("certificate has expired"));
    world.ours.issue(&["server.example"]).write(world.path(), "server");
    until("the new certificate to be in use", || async { shake(&acceptor, &client).await.1.ok() }).await;
}
