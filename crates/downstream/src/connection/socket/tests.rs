use hyper_util::rt::TokioIo;
use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use super::*;

fn cx() -> Context<'static> {
    Context::from_waker(std::task::Waker::noop())
}

fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(test)
}

fn pair(room: usize) -> (Socket<DuplexStream>, DuplexStream) {
    let (ours, client) = duplex(room);
    (Socket::new(ours), client)
}

fn write(socket: &mut Socket<DuplexStream>, bytes: &[u8]) -> Option<usize> {
    match Pin::new(socket).poll_write(&mut cx(), bytes) {
        Poll::Ready(taken) => Some(taken.unwrap()),
        Poll::Pending => None,
    }
}

async fn read(client: &mut DuplexStream, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    client.read_exact(&mut bytes).await.unwrap();
    bytes
}

#[test]
fn what_was_gathered_leaves_at_the_end_of_the_turn() {
    run(async {
        let (mut socket, mut client) = pair(100);
        assert_eq!((write(&mut socket, b"ab"), write(&mut socket, b"cd")), (Some(2), Some(2)));
        assert_eq!(socket.0.lock().outgoing, b"abcd", "nothing has left");
        socket.end_turn(&mut cx()).unwrap();
        assert_eq!(read(&mut client, 4).await, b"abcd");
        assert_eq!(socket.0.lock().outgoing.capacity(), 0, "no buffer is held while it waits");
    });
}

#[test]
fn a_client_that_does_not_read_holds_up_what_is_written() {
    run(async {
        let (mut socket, mut client) = pair(4);
        assert_eq!(write(&mut socket, b"abcdefgh"), Some(8));
        socket.end_turn(&mut cx()).unwrap();
        assert_eq!(socket.0.lock().outgoing.capacity(), 4, "only what there was no room for is held");
        assert_eq!(write(&mut socket, b"ij"), None);
        assert_eq!(read(&mut client, 4).await, b"abcd");
        assert_eq!(write(&mut socket, b"ij"), Some(2));
        socket.end_turn(&mut cx()).unwrap();
        assert_eq!(read(&mut client, 4).await, b"efgh");
        socket.end_turn(&mut cx()).unwrap();
        assert_eq!(read(&mut client, 2).await, b"ij");
    });
}

#[test]
fn a_round_gives_no_more_than_the_streams_should_take() {
    run(async {
        let (mut socket, mut client) = pair(2 * ROUND);
        client.write_all(&[b'x'; ROUND + 1]).await.unwrap();
        socket.protocol().await.unwrap();
        let mut bytes = vec![0; 2 * ROUND];
        for expected in [ROUND, 1] {
            socket.begin_round();
            let mut buffer = hyper::rt::ReadBuf::new(&mut bytes);
            while Pin::new(&mut socket).poll_read(&mut cx(), buffer.unfilled()).is_ready() {}
            assert_eq!(buffer.filled().len(), expected);
        }
    });
}

/// A HEADERS frame without fields.
const HEADERS: [u8; 9] = [0, 0, 0, 1, 4, 0, 0, 0, 1];

#[test]
fn d14_the_streams_that_begin_in_a_round_are_few() {
    run(async {
        let (mut socket, mut client) = pair(4 * ROUND);
        client.write_all(PREFACE).await.unwrap();
        socket.protocol().await.unwrap();
        assert_eq!(read_round(&mut socket), PREFACE.len());
        let many = HEADERS.repeat(100);
        client.write_all(&many).await.unwrap();
        let mut rounds = Vec::new();
        while rounds.iter().sum::<usize>() < many.len() {
            rounds.push(read_round(&mut socket));
        }
        let most = 1 + ROUND / STREAM;
        assert!(rounds.iter().all(|round| (1..=most * HEADERS.len()).contains(round)), "{rounds:?}");
    });
}

/// A SETTINGS frame with one setting.
const SETTINGS: [u8; 15] = [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0];

/// Reads what there is, in one round.
fn read_round(socket: &mut Socket<DuplexStream>) -> usize {
    socket.begin_round();
    let mut bytes = vec![0; 2 * ROUND];
    let mut buffer = hyper::rt::ReadBuf::new(&mut bytes);
    while Pin::new(&mut *socket).poll_read(&mut cx(), buffer.unfilled()).is_ready() {}
    buffer.filled().len()
}

#[tokio::test(start_paused = true)]
async fn d14_a_client_that_sends_settings_without_end_is_read_slowly() {
    let (mut socket, mut client) = pair(4 * ROUND);
    client.write_all(PREFACE).await.unwrap();
    socket.protocol().await.unwrap();
    let few = SETTINGS.repeat(SETTINGS_AT_ONCE);
    client.write_all(&few).await.unwrap();
    assert_eq!(read_round(&mut socket), PREFACE.len() + few.len());
    let many = SETTINGS.repeat(SETTINGS_AT_ONCE + 1);
    client.write_all(&many).await.unwrap();
    assert_eq!(read_round(&mut socket), many.len());
    client.write_all(&few).await.unwrap();
    assert_eq!(read_round(&mut socket), 0, "nothing is read for a while");
    tokio::time::advance(SETTINGS_PAUSE).await;
    assert_eq!(read_round(&mut socket), few.len());
}

#[test]
fn no_more_is_gathered_than_may_be_held() {
    let (mut socket, _client) = pair(1);
    assert_eq!(write(&mut socket, &[0; GATHERED + 1]), Some(GATHERED));
    assert_eq!(write(&mut socket, &[0; 2]), None, "there is no room for the first");
    assert_eq!(socket.0.lock().outgoing.len(), GATHERED - 1);
}

#[test]
fn a_client_that_is_gone_is_an_error() {
    let (mut socket, client) = pair(1);
    drop(client);
    write(&mut socket, b"ab");
    assert!(socket.end_turn(&mut cx()).is_err());
}

#[test]
fn the_end_waits_for_what_was_gathered() {
    run(async {
        let (mut socket, mut client) = pair(2);
        write(&mut socket, b"abc");
        assert!(Pin::new(&mut socket).poll_shutdown(&mut cx()).is_pending());
        assert_eq!(read(&mut client, 2).await, b"ab");
        assert!(Pin::new(&mut socket).poll_shutdown(&mut cx()).is_ready());
        assert_eq!(read(&mut client, 1).await, b"c");
        assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
    });
}

#[test]
fn the_protocol_is_known_by_the_first_bytes() {
    for (first, protocol) in [(PREFACE, Protocol::Http2), (b"PRI /x HTTP/1.1\r\n", Protocol::Http1)] {
        run(async {
            let (socket, mut client) = pair(100);
            let sending = async {
                for byte in first {
                    client.write_all(&[*byte]).await.unwrap();
                    tokio::task::yield_now().await;
                }
                drop(client);
            };
            let protocol_of = async {
                let protocol_of = socket.protocol().await.unwrap();
                socket.begin_round();
                let mut bytes = Vec::new();
                TokioIo::new(socket).read_to_end(&mut bytes).await.unwrap();
                (protocol_of, bytes)
            };
            assert_eq!(tokio::join!(protocol_of, sending).0, (protocol, first.to_vec()));
        });
    }
}

#[test]
fn a_client_that_sends_nothing_is_an_error() {
    let (socket, client) = pair(1);
    drop(client);
    assert_eq!(run(socket.protocol()).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
}

proptest! {
    #[test]
    fn what_is_read_is_what_was_sent(
        bytes in prop::collection::vec(any::<u8>(), 0..2000),
        room in 1usize..300,
        part in 1usize..300,
    ) {
        let wire = [b"GET ", &bytes[..]].concat();
        let (mut socket, mut client) = pair(room);
        let read = run(async {
            let sending = async {
                client.write_all(&wire).await.unwrap();
                client.shutdown().await.unwrap();
            };
            let reading = async {
                socket.protocol().await.unwrap();
                let (mut read, mut part) = (Vec::new(), vec![0; part]);
                loop {
                    socket.begin_round();
                    match TokioIo::new(&mut socket).read(&mut part).await.unwrap() {
                        0 => break read,
                        some => read.extend_from_slice(&part[..some]),
                    }
                }
            };
            tokio::join!(reading, sending).0
        });
        prop_assert_eq!(read, wire);
        prop_assert_eq!(socket.0.lock().incoming.capacity(), 0, "no buffer is held while it waits");
    }
}
