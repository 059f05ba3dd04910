//! HTTP/2 frames as bytes (RFC 9113), as few as an xDS client needs.

/// What a client sends before its first frame.
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The length of a frame's header.
pub(crate) const HEAD: usize = 9;

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;

/// On DATA and HEADERS.
pub(crate) const END_STREAM: u8 = 1;
/// On SETTINGS and PING.
pub(crate) const ACK: u8 = 1;
const END_HEADERS: u8 = 4;

pub(crate) const INITIAL_WINDOW_SIZE: u16 = 4;
pub(crate) const MAX_FRAME_SIZE: u16 = 5;

/// A frame's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) length: usize,
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
}

impl Head {
    pub(crate) fn parse(bytes: &[u8; HEAD]) -> Self {
        let [a, b, c, kind, flags, id @ ..] = *bytes;
        Self {
            length: u32::from_be_bytes([0, a, b, c]) as usize,
            kind,
            flags,
            stream: u32::from_be_bytes(id) & 0x7fff_ffff,
        }
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.length as u32).to_be_bytes()[1..]);
        out.extend_from_slice(&[self.kind, self.flags]);
        out.extend_from_slice(&self.stream.to_be_bytes());
    }
}

fn frame(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    Head { length: payload.len(), kind, flags, stream }.write(out);
    out.extend_from_slice(payload);
}

/// The client's settings: how much each stream may be sent before the client opens its window.
pub(crate) fn settings(out: &mut Vec<u8>, window: u32) {
    let mut payload = INITIAL_WINDOW_SIZE.to_be_bytes().to_vec();
    payload.extend_from_slice(&window.to_be_bytes());
    frame(out, SETTINGS, 0, 0, &payload);
}

pub(crate) fn settings_ack(out: &mut Vec<u8>) {
    frame(out, SETTINGS, ACK, 0, &[]);
}

pub(crate) fn ping_ack(out: &mut Vec<u8>, payload: &[u8]) {
    frame(out, PING, ACK, 0, payload);
}

/// For the whole connection, where `stream` is 0.
pub(crate) fn window_update(out: &mut Vec<u8>, stream: u32, increment: u32) {
    frame(out, WINDOW_UPDATE, 0, stream, &increment.to_be_bytes());
}

pub(crate) fn headers(out: &mut Vec<u8>, stream: u32, block: &[u8]) {
    frame(out, HEADERS, END_HEADERS, stream, block);
}

pub(crate) fn data(out: &mut Vec<u8>, stream: u32, payload: &[u8]) {
    frame(out, DATA, 0, stream, payload);
}

/// The header block of a gRPC call, in literals that need no table on either side (RFC 7541, 6.2.2).
///
/// `path` and `authority` have to be shorter than 127 bytes each.
pub(crate) fn grpc_call(path: &str, authority: &str) -> Vec<u8> {
    // Indexed fields of the static table: ":method: POST" and ":scheme: http".
    let mut block = vec![0x83, 0x86];
    // Names of the static table: ":path" is 4, ":authority" is 1, "content-type" is 31 in two bytes.
    literal(&mut block, &[0x04], path);
    literal(&mut block, &[0x01], authority);
    literal(&mut block, &[0x0f, 0x10], "application/grpc");
    literal(&mut block, b"\x00\x02te", "trailers");
    block
}

fn literal(block: &mut Vec<u8>, name: &[u8], value: &str) {
    debug_assert!(value.len() < 127);
    block.extend_from_slice(name);
    block.push(value.len() as u8);
    block.extend_from_slice(value.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_survives_the_wire() {
        let head = Head { length: 0x01_02_03, kind: DATA, flags: END_STREAM, stream: 7 };
        let mut out = Vec::new();
        head.write(&mut out);
        assert_eq!(out, [1, 2, 3, 0, 1, 0, 0, 0, 7]);
        assert_eq!(Head::parse(&out.try_into().unwrap()), head);
    }

    #[test]
    fn the_reserved_bit_of_a_stream_id_is_ignored() {
        assert_eq!(Head::parse(&[0, 0, 0, 0, 0, 0x80, 0, 0, 3]).stream, 3);
    }

    #[test]
    fn settings_state_the_window() {
        let mut out = Vec::new();
        settings(&mut out, 0x0100_0000);
        assert_eq!(out, [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0]);
    }

    #[test]
    fn a_call_is_made_of_literals() {
        let block = grpc_call("/a", "b");
        let wanted = b"\x83\x86\x04\x02/a\x01\x01b\x0f\x10\x10application/grpc\x00\x02te\x08trailers";
        assert_eq!(block, wanted);
    }
}
