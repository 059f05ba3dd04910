//! A gRPC stream of discovery responses, read in whatever pieces it comes in.
//!
//! Walks over the fields of a message and keeps the few that an acknowledgement needs; resources are counted
//! and skipped. `DiscoveryResponse` and `DeltaDiscoveryResponse` have the same numbers for all of them.

const VERSION: u64 = 1;
const RESOURCE: u64 = 2;
const TYPE_URL: u64 = 4;
const NONCE: u64 = 5;
/// `removed_resources` in delta; `control_plane` in state of the world.
const REMOVED: u64 = 6;
/// Delta only.
const REMOVED_NAME: u64 = 8;

/// The length of a gRPC message's header: a flag, and the length of the message.
pub(crate) const HEADER: usize = 5;

/// A response, as far as it is looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) version: Vec<u8>,
    pub(crate) type_url: Vec<u8>,
    pub(crate) nonce: Vec<u8>,
    pub(crate) resources: usize,
    /// Meaningful for delta only.
    pub(crate) removed: usize,
    /// All of it, if the reader was asked to keep it.
    pub(crate) whole: Vec<u8>,
}

/// Where the walk over the fields has come to.
#[derive(Clone, Copy, Debug)]
enum Walk {
    Tag { value: u64, shift: u32 },
    Length { field: u64, value: u64, shift: u32 },
    Varint,
    Value { field: u64, left: usize },
}

const START: Walk = Walk::Tag { value: 0, shift: 0 };

/// What was not as a server sends it.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum Malformed {
    #[error("a compressed message")]
    Compressed,
    #[error("a field of wire type {0}")]
    WireType(u64),
}

/// Reads message after message.
#[derive(Debug)]
pub(crate) struct MessageReader {
    header: [u8; HEADER],
    have: usize,
    left: usize,
    walk: Walk,
    message: Message,
    keep: bool,
}

impl MessageReader {
    /// `keep`: whether messages are kept whole.
    pub(crate) fn new(keep: bool) -> Self {
        Self { header: [0; HEADER], have: 0, left: 0, walk: START, message: Message::default(), keep }
    }

    /// Reads the next piece, and pushes what is complete with it.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], complete: &mut Vec<Message>) -> Result<(), Malformed> {
        while !bytes.is_empty() {
            if self.have < HEADER {
                let (head, rest) = bytes.split_at(bytes.len().min(HEADER - self.have));
                self.header[self.have..self.have + head.len()].copy_from_slice(head);
                self.have += head.len();
                bytes = rest;
                if self.have < HEADER {
                    return Ok(());
                }
                let [compressed, length @ ..] = self.header;
                if compressed != 0 {
                    return Err(Malformed::Compressed);
                }
                self.left = u32::from_be_bytes(length) as usize;
            }
            let (piece, rest) = bytes.split_at(bytes.len().min(self.left));
            if self.keep {
                self.message.whole.extend_from_slice(piece);
            }
            self.walk_over(piece)?;
            self.left -= piece.len();
            bytes = rest;
            if self.left == 0 {
                complete.push(std::mem::take(&mut self.message));
                (self.have, self.walk) = (0, START);
            }
        }
        Ok(())
    }

    fn walk_over(&mut self, mut bytes: &[u8]) -> Result<(), Malformed> {
        while let Some((&byte, rest)) = bytes.split_first() {
            let (more, bits) = (byte & 0x80 != 0, u64::from(byte & 0x7f));
            match &mut self.walk {
                Walk::Value { field, left } => {
                    let (value, rest) = bytes.split_at(bytes.len().min(*left));
                    if let Some(kept) = self.message.kept(*field) {
                        kept.extend_from_slice(value);
                    }
                    *left -= value.len();
                    if *left == 0 {
                        self.walk = START;
                    }
                    bytes = rest;
                    continue;
                }
                Walk::Tag { value, shift } | Walk::Length { value, shift, .. } if more => {
                    *value |= bits << (*shift).min(63);
                    *shift += 7;
                }
                Walk::Tag { value, shift } => {
                    let tag = *value | bits << (*shift).min(63);
                    self.walk = match tag & 7 {
                        0 => Walk::Varint,
                        1 => Walk::Value { field: 0, left: 8 },
                        2 => Walk::Length { field: tag >> 3, value: 0, shift: 0 },
                        5 => Walk::Value { field: 0, left: 4 },
                        other => return Err(Malformed::WireType(other)),
                    };
                }
                Walk::Length { field, value, shift } => {
                    let (field, left) = (*field, (*value | bits << (*shift).min(63)) as usize);
                    self.message.count(field);
                    self.walk = if left == 0 { START } else { Walk::Value { field, left } };
                }
                Walk::Varint if more => {}
                Walk::Varint => self.walk = START,
            }
            bytes = rest;
        }
        Ok(())
    }
}

impl Message {
    fn kept(&mut self, field: u64) -> Option<&mut Vec<u8>> {
        match field {
            VERSION => Some(&mut self.version),
            TYPE_URL => Some(&mut self.type_url),
            NONCE => Some(&mut self.nonce),
            _ => None,
        }
    }

    fn count(&mut self, field: u64) {
        match field {
            RESOURCE => self.resources += 1,
            REMOVED | REMOVED_NAME => self.removed += 1,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;
    use weir_wire::discovery::DeltaDiscoveryResponse;

    use super::*;

    fn framed(response: &DeltaDiscoveryResponse) -> Vec<u8> {
        let message = response.encode_to_vec();
        let mut bytes = vec![0];
        bytes.extend_from_slice(&(message.len() as u32).to_be_bytes());
        bytes.extend_from_slice(&message);
        bytes
    }

    fn response(n: usize) -> DeltaDiscoveryResponse {
        DeltaDiscoveryResponse {
            system_version_info: format!("v{n}"),
            resources: vec![vec![7; 300 * n].into(), vec![].into(), vec![1].into()],
            type_url: "type.googleapis.com/x".into(),
            nonce: format!("nonce-{n}"),
            removed_resources: vec!["a".into()],
            ..DeltaDiscoveryResponse::default()
        }
    }

    #[test]
    fn messages_are_found_however_they_are_cut() {
        let stream: Vec<u8> = (0..3).flat_map(|n| framed(&response(n))).collect();
        for size in [1, 2, 3, 7, 100, stream.len()] {
            let (mut reader, mut complete) = (MessageReader::new(false), Vec::new());
            for piece in stream.chunks(size) {
                reader.feed(piece, &mut complete).unwrap();
            }
            let wanted = |n: usize| Message {
                version: format!("v{n}").into(),
                type_url: "type.googleapis.com/x".into(),
                nonce: format!("nonce-{n}").into(),
                resources: 3,
                removed: 1,
                whole: vec![],
            };
            assert_eq!(complete, (0..3).map(wanted).collect::<Vec<_>>(), "in pieces of {size}");
        }
    }

    #[test]
    fn a_kept_message_can_be_decoded() {
        let (mut reader, mut complete) = (MessageReader::new(true), Vec::new());
        framed(&response(2)).chunks(5).for_each(|piece| reader.feed(piece, &mut complete).unwrap());
        assert_eq!(DeltaDiscoveryResponse::decode(&*complete[0].whole).unwrap(), response(2));
    }

    #[test]
    fn what_no_server_sends_is_an_error() {
        let feed = |bytes: &[u8]| MessageReader::new(false).feed(bytes, &mut Vec::new());
        assert_eq!(feed(&[1, 0, 0, 0, 1, 0]), Err(Malformed::Compressed));
        assert_eq!(feed(&[0, 0, 0, 0, 1, 7]), Err(Malformed::WireType(7)));
    }
}
