//! Who is let in, and whom one talks to.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;
use crate::HandshakeError;

#[tokio::test]
async fn a_right_certificate_on_both_sides_is_an_identity() {
    let world = World::new();
    let (server, client) = meet(world.server(), world.client()).await;
    client.unwrap();
    let identity = server.unwrap().unwrap();
    assert_eq!(identity.spiffe(), Some("spiffe://ours/client"));
    assert_eq!(identity.dns(), ["client.example"]);
}

#[tokio::test]
async fn a_server_refuses_a_certificate_that_is_missing_expired_or_of_another_authority() {
    let world = World::new();
    world.ours.issue_expired(&["spiffe://ours/client"]).write(world.path(), "expired");
    world.theirs.issue(&["spiffe://ours/client"]).write(world.path(), "foreign");
    for (name, wanted) in [
        (None, "the TLS handshake failed: the other side showed no certificate"),
        (Some("expired"), "the TLS handshake failed: the other side's certificate has expired"),
        (
            Some("foreign"),
            "the TLS handshake failed: the other side's certificate is of no authority that is trusted here",
        ),
    ] {
        let key_pair = name.map(|name| world.key_pair(name));
        let (server, _) = meet(world.server(), ClientSettings { key_pair, ..world.client() }).await;
        let error = server.unwrap_err();
        assert!(error.starts_with(wanted), "{name:?}: {error}");
    }
}

#[tokio::test]
async fn who_does_not_use_tls_is_sent_so_by_either_side() {
    let world = World::new();
    let wanted = "does not use TLS";
    let acceptor = Acceptor::start("server", world.server()).unwrap();
    let (mut near, far) = duplex(1024);
    near.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    let refused = acceptor.accept(far, async |_| Ok(())).await.map(drop).unwrap_err().to_string();
    assert!(refused.ends_with(wanted), "{refused}");

    let client = Client::start("client", world.client()).unwrap();
    let (near, mut far) = duplex(1024);
    far.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    let refused = client.connect("host.example", near).await.map(drop).unwrap_err().to_string();
    assert!(refused.ends_with(wanted), "{refused}");
}

#[tokio::test]
async fn an_optional_certificate_may_be_missing_and_not_be_bad() {
    let world = World::new();
    world.theirs.issue(&["spiffe://ours/client"]).write(world.path(), "foreign");
    let optional = || ServerSettings { client_certificate: ClientCertificate::Optional, ..world.server() };
    let (server, client) = meet(optional(), ClientSettings { key_pair: None, ..world.client() }).await;
    assert_eq!((server, client), (Ok(None), Ok(())));
    let key_pair = Some(world.key_pair("foreign"));
    let (server, _) = meet(optional(), ClientSettings { key_pair, ..world.client() }).await;
    server.unwrap_err();
    let none =
        ServerSettings { client_certificate: ClientCertificate::None, client_ca: None, ..world.server() };
    assert_eq!(meet(none, world.client()).await, (Ok(None), Ok(())));
}

#[tokio::test]
async fn only_named_clients_are_let_in() {
    let world = World::new();
    for (pattern, good) in [("spiffe://ours/*", true), ("spiffe://other/*", false), ("client.example", true)]
    {
        let subject_alt_names = vec![pattern.parse().unwrap()];
        let (server, _) = meet(ServerSettings { subject_alt_names, ..world.server() }, world.client()).await;
        match server {
            Ok(_) => assert!(good, "{pattern}"),
            Err(error) => {
                assert!(!good, "{pattern}: {error}");
                let wanted = "the certificate is that of spiffe://ours/client,client.example, \
                              whom the configuration does not let in (subject_alt_names)";
                assert!(error.ends_with(wanted), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn a_client_refuses_a_server_that_is_expired_of_another_authority_or_somebody_else() {
    let world = World::new();
    world.ours.issue_expired(&["server.example"]).write(world.path(), "expired");
    let expired = ServerSettings { key_pair: world.key_pair("expired"), ..world.server() };
    let named = |names: &[&str]| names.iter().map(|name| name.parse().unwrap()).collect::<Vec<_>>();
    let trusting = |ca: &str| ClientSettings { ca: Some(world.file(ca)), ..world.client() };
    let by_name = |name: Option<&str>| ClientSettings { server_name: name.map(Into::into), ..world.client() };
    let by_names =
        |names| ClientSettings { server_name: None, subject_alt_names: named(names), ..world.client() };
    for (server, client, wanted) in [
        (expired, world.client(), Some("the other side's certificate has expired")),
        (world.server(), trusting("other-ca.pem"), Some("is of no authority that is trusted here")),
        (world.server(), by_name(None), Some("not valid for name \"host.example\"")),
        (world.server(), by_names(&["spiffe://ours/server"]), None),
        (world.server(), by_names(&["spiffe://x/*", "spiffe://ours/*"]), None),
        (world.server(), by_names(&["spiffe://theirs/*"]), Some("spiffe://ours/server,server.example")),
    ] {
        let (_, outcome) = meet(server, client).await;
        match (outcome, wanted) {
            (Ok(()), None) => {}
            (Err(error), Some(wanted)) => assert!(error.contains(wanted), "{error}"),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn both_have_to_use_the_same_protocol() {
    let world = World::new();
    let other = ClientSettings { alpn: "http/1.1", ..world.client() };
    let (_, client) = meet(world.server(), other).await;
    assert!(client.unwrap_err().contains("NoApplicationProtocol"));
    let silent = ServerSettings { alpn: Vec::new(), ..world.server() };
    let (_, client) = meet(silent, world.client()).await;
    assert_eq!(client.unwrap_err(), "server.example does not support h2 (ALPN)");
}

#[tokio::test(start_paused = true)]
async fn slow_handshakes_end_and_hold_up_no_others() {
    let world = World::new();
    let acceptor = Acceptor::start("server", world.server()).unwrap();
    let client = Client::start("client", world.client()).unwrap();
    // More than there are turns, of clients that send nothing: they take none.
    let silent: Vec<_> = (0..8).map(|_| duplex(1024)).collect();
    let (others, _ends): (Vec<_>, Vec<_>) = silent.into_iter().unzip();
    let waiting: Vec<_> = others
        .into_iter()
        .map(|other| {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                acceptor.accept(other, async |_| std::future::pending().await).await.map(drop)
            })
        })
        .collect();
    let (server, _) = shake(&acceptor, &client).await;
    server.unwrap();
    for other in waiting {
        let Err(HandshakeError::Timeout(after)) = other.await.unwrap() else { panic!("it was let in") };
        assert_eq!(after, Duration::from_secs(10));
    }
}

#[tokio::test]
async fn versions_before_tls_1_2_are_refused() {
    let world = World::new();
    let acceptor = Acceptor::start("server", world.server()).unwrap();
    for (version, alert) in [(1, Some(70)), (2, Some(70)), (3, None)] {
        // The beginning of a handshake by hand: ECDHE with RSA or ECDSA, and AES, the curve P-256, and what signs.
        let ciphers = [0xc0, 0x13, 0xc0, 0x09, 0xc0, 0x2f, 0xc0, 0x2b];
        let curves = [0, 10, 0, 4, 0, 2, 0, 23];
        let signatures = [0, 13, 0, 6, 0, 4, 4, 3, 8, 4];
        let mut hello =
            [&[3, version][..], &[7; 32], &[0, 0, ciphers.len() as u8], &ciphers, &[1, 0]].concat();
        hello.extend([0, (curves.len() + signatures.len()) as u8]);
        hello.extend([&curves[..], &signatures].concat());
        let handshake = [&[1, 0, 0, hello.len() as u8][..], &hello].concat();
        let record = [&[22, 3, 1, 0, handshake.len() as u8][..], &handshake].concat();

        let (mut near, far) = duplex(64 << 10);
        near.write_all(&record).await.unwrap();
        let accepting = acceptor.accept(far, async |_| Ok(()));
        let answer = async {
            let mut answer = [0; 7];
            near.read_exact(&mut answer).await.unwrap();
            drop(near);
            answer
        };
        let (accepted, [kind, _, _, _, _, _, stated]) = tokio::join!(accepting, answer);
        assert!(accepted.is_err());
        match alert {
            Some(protocol_version) => assert_eq!((kind, stated), (21, protocol_version), "3.{version}"),
            None => assert_eq!(kind, 22, "it goes on with TLS 1.2"),
        }
    }
}
