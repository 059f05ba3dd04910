//! The connection, against a server that is played by the test.

use prost::Message as _;
use weir_wire::discovery::DeltaDiscoveryResponse;

use super::connection::Broken;
use super::frames::{self, HEAD, Head};
use super::{Connection, Event};

fn opened() -> (Connection, Vec<u8>) {
    let mut out = Vec::new();
    let mut connection = Connection::open(&mut out);
    connection.open_stream(b"block", false, &mut out);
    (connection, out)
}

/// The frames in `bytes`, with their payloads.
fn split(mut bytes: &[u8]) -> Vec<(Head, Vec<u8>)> {
    let mut all = Vec::new();
    while let Some((head, rest)) = bytes.split_first_chunk::<HEAD>() {
        let head = Head::parse(head);
        let (payload, rest) = rest.split_at(head.length);
        all.push((head, payload.to_vec()));
        bytes = rest;
    }
    all
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Head { length: payload.len(), kind, flags, stream }.write(&mut out);
    out.extend_from_slice(payload);
    out
}

fn feed(connection: &mut Connection, bytes: &[u8]) -> (Vec<(Head, Vec<u8>)>, Vec<Event>) {
    let (mut out, mut events) = (Vec::new(), Vec::new());
    connection.feed(bytes, &mut out, &mut events).unwrap();
    (split(&out), events)
}

fn setting(id: u16, value: u32) -> Vec<u8> {
    let mut payload = id.to_be_bytes().to_vec();
    payload.extend_from_slice(&value.to_be_bytes());
    frame(frames::SETTINGS, 0, 0, &payload)
}

#[test]
fn a_connection_opens_with_preface_settings_and_headers() {
    let (_, out) = opened();
    let frames = split(out.strip_prefix(frames::PREFACE).unwrap());
    let kinds: Vec<_> = frames.iter().map(|(head, _)| (head.kind, head.stream)).collect();
    assert_eq!(kinds, [(frames::SETTINGS, 0), (frames::WINDOW_UPDATE, 0), (frames::HEADERS, 1)]);
    assert_eq!(frames[2].1, b"block");
}

#[test]
fn settings_and_pings_are_answered() {
    let (mut connection, _) = opened();
    let (out, events) = feed(&mut connection, &setting(frames::MAX_FRAME_SIZE, 16_384));
    assert_eq!((out[0].0.kind, out[0].0.flags), (frames::SETTINGS, frames::ACK));
    assert_eq!(events, []);
    assert!(connection.is_accepted());
    let (out, events) = feed(&mut connection, &frame(frames::PING, 0, 0, b"12345678"));
    assert_eq!((out[0].0.kind, out[0].0.flags, &*out[0].1), (frames::PING, frames::ACK, &b"12345678"[..]));
    assert_eq!(events, []);
}

#[test]
fn a_message_is_cut_to_frames_and_waits_for_the_windows() {
    let (mut connection, _) = opened();
    let mut out = Vec::new();
    connection.send(0, &[&[1; 60_000], &[2; 10_000]], &mut out);
    let sent = split(&out);
    assert!(sent.iter().all(|(head, _)| head.length <= 16_384));
    assert_eq!(sent.iter().map(|(head, _)| head.length).sum::<usize>(), 65_535);
    assert!(!connection.is_flushed());
    assert_eq!(sent[0].1[..6], [0, 0, 1, 0x11, 0x70, 1]);

    // The stream may go on, but the connection may not.
    let (out, _) = feed(&mut connection, &setting(frames::INITIAL_WINDOW_SIZE, 100_000));
    assert_eq!(out.len(), 1);
    let (out, _) = feed(&mut connection, &frame(frames::WINDOW_UPDATE, 0, 0, &100_000u32.to_be_bytes()));
    assert_eq!(out.iter().map(|(head, _)| head.length).sum::<usize>(), 70_005 - 65_535);
    assert!(connection.is_flushed());
}

#[test]
fn responses_are_found_in_data_however_it_is_cut() {
    let response = DeltaDiscoveryResponse { nonce: "7".into(), ..DeltaDiscoveryResponse::default() };
    let message = response.encode_to_vec();
    let mut framed = vec![0, 0, 0, 0, message.len() as u8];
    framed.extend_from_slice(&message);
    let (first, second) = framed.split_at(6);
    let mut bytes = frame(frames::HEADERS, 4, 1, b"ignored");
    bytes.extend(frame(frames::DATA, 0, 1, first));
    bytes.extend(frame(frames::DATA, 0, 1, second));
    for size in [1, 4, bytes.len()] {
        let (mut connection, _) = opened();
        let events: Vec<_> = bytes.chunks(size).flat_map(|piece| feed(&mut connection, piece).1).collect();
        let [Event::Message(0, message)] = &events[..] else { panic!("{events:?}") };
        assert_eq!(message.nonce, b"7");
    }
}

#[test]
fn a_stream_ends_once() {
    let (mut connection, _) = opened();
    let end = frame(frames::HEADERS, frames::END_STREAM | 4, 1, b"trailers");
    assert_eq!(feed(&mut connection, &end).1, [Event::Ended(0)]);
    assert_eq!(feed(&mut connection, &frame(frames::RST_STREAM, 0, 1, &[0; 4])).1, []);
}

#[test]
fn what_was_received_is_given_back() {
    let (mut connection, _) = opened();
    // The head of a message that does not end while the test looks on.
    feed(&mut connection, &frame(frames::DATA, 0, 1, &[0, 0x7f, 0, 0, 0, 0x12, 0x80, 0x80, 0x80, 0x70]));
    let piece = frame(frames::DATA, 0, 1, &[0; 1 << 20]);
    let updates: Vec<_> = (0..13).flat_map(|_| feed(&mut connection, &piece).0).collect();
    let who: Vec<_> = updates.iter().map(|(head, _)| (head.kind, head.stream)).collect();
    assert_eq!(who, [(frames::WINDOW_UPDATE, 1), (frames::WINDOW_UPDATE, 0)]);
}

#[test]
fn a_goodbye_and_a_foreign_stream_break_the_connection() {
    let broken = |bytes: &[u8]| opened().0.feed(bytes, &mut Vec::new(), &mut Vec::new()).unwrap_err();
    assert_eq!(broken(&frame(frames::GOAWAY, 0, 0, &[0; 8])), Broken::GoAway);
    assert_eq!(broken(&frame(frames::DATA, 0, 3, &[0])), Broken::Unexpected);
}
