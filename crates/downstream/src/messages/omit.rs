//! Leaves one field out of a message while it arrives.
//!
//! Owns the key and the length of the field that is arriving, and nothing of its content. Never judges: from what
//! is no field on, everything passes, and is the decoder's to refuse.

/// The longest varint of a key or a length that is understood, in bytes: 63 bits.
const VARINT: usize = 9;
/// The longest varint of a value.
const VALUE: usize = 10;
/// What there is of a field before its content: a key, and a length or a varint.
pub(super) const HEAD: usize = VARINT + VALUE;

/// Wire types of fields.
const IS_VARINT: u64 = 0;
const IS_FIXED_64: u64 = 1;
const IS_BYTES: u64 = 2;
const IS_FIXED_32: u64 = 5;

/// A message without one of its fields.
pub(super) struct Omit {
    field: u64,
    head: [u8; HEAD],
    have: usize,
    state: State,
}

/// Where in the message we are.
#[derive(Clone, Copy)]
enum State {
    /// Before the content of a field.
    Head,
    /// So many bytes pass.
    Pass(u64),
    /// So many bytes are left out.
    Omit(u64),
    /// Everything passes.
    Foreign,
}

impl Omit {
    /// Leaves out the fields with this number.
    pub(super) fn new(field: u64) -> Self {
        Self { field, head: [0; HEAD], have: 0, state: State::Head }
    }

    /// Appends to `out` what is kept of `bytes`.
    pub(super) fn pass(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) {
        while let [first, rest @ ..] = bytes {
            match self.state {
                State::Head => {
                    bytes = rest;
                    self.head[self.have] = *first;
                    self.have += 1;
                    self.state = self.read_head();
                    if let State::Pass(_) | State::Foreign = self.state {
                        self.pass_head(out);
                    }
                }
                State::Pass(left) => {
                    let now = take(&mut bytes, left);
                    out.extend_from_slice(now);
                    self.state = State::Pass(left - now.len() as u64);
                }
                State::Omit(left) => {
                    let now = take(&mut bytes, left);
                    self.state = State::Omit(left - now.len() as u64);
                }
                State::Foreign => {
                    out.extend_from_slice(bytes);
                    return;
                }
            }
            if let State::Pass(0) | State::Omit(0) = self.state {
                (self.have, self.state) = (0, State::Head);
            }
        }
    }

    /// Ends the message. A field that is not complete shows in `out`, whichever it is.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        self.pass_head(out);
    }

    fn pass_head(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head[..self.have]);
        self.have = 0;
    }

    /// What comes after what there is of the head.
    fn read_head(&self) -> State {
        let head = &self.head[..self.have];
        let Some((key, after)) = varint(head) else {
            return if head.len() < VARINT { State::Head } else { State::Foreign };
        };
        match key & 7 {
            IS_VARINT if after.last().is_some_and(|byte| byte & 0x80 == 0) => State::Pass(0),
            IS_VARINT if after.len() < VALUE => State::Head,
            IS_FIXED_64 => State::Pass(8),
            IS_FIXED_32 => State::Pass(4),
            IS_BYTES => match varint(after) {
                Some((length, _)) if key >> 3 == self.field => State::Omit(length),
                Some((length, _)) => State::Pass(length),
                None if after.len() < VARINT => State::Head,
                None => State::Foreign,
            },
            _ => State::Foreign,
        }
    }
}

/// The varint at the front, and what comes after it.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let end = bytes.iter().take(VARINT).position(|byte| byte & 0x80 == 0)?;
    let value = bytes[..=end].iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f));
    Some((value, &bytes[end + 1..]))
}

/// Takes at most `length` bytes off the front.
fn take<'a>(bytes: &mut &'a [u8], length: u64) -> &'a [u8] {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let (taken, rest) = bytes.split_at(bytes.len().min(length));
    *bytes = rest;
    taken
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use prost::Message;
    use weir_wire::discovery::{DiscoveryRequest, Status};

    use super::*;

    const NODE: u64 = 2;

    fn omit(bytes: &[u8], chunk: usize) -> Vec<u8> {
        let (mut omit, mut out) = (Omit::new(NODE), Vec::new());
        bytes.chunks(chunk).for_each(|chunk| omit.pass(chunk, &mut out));
        omit.finish(&mut out);
        out
    }

    fn request() -> impl Strategy<Value = DiscoveryRequest> {
        let node = prop::option::of(prop::collection::vec(any::<u8>(), 0..300));
        let names = prop::collection::vec("[a-z]{0,200}", 0..4);
        let status = prop::option::of((any::<i32>(), "[a-z]{0,9}"));
        (node, names, "[0-9]{0,3}", status).prop_map(|(node, resource_names, version_info, status)| {
            DiscoveryRequest {
                node: node.map(Into::into),
                resource_names,
                version_info,
                error_detail: status.map(|(code, message)| Status { code, message }),
                ..DiscoveryRequest::default()
            }
        })
    }

    proptest! {
        #[test]
        fn everything_but_the_field_is_kept(
            requests in prop::collection::vec(request(), 1..3),
            chunk in 1usize..200,
        ) {
            // Several after one another are one message, with several nodes.
            let bytes: Vec<u8> = requests.iter().flat_map(Message::encode_to_vec).collect();
            let without = requests.into_iter().map(|request| DiscoveryRequest { node: None, ..request });
            let wanted: Vec<u8> = without.flat_map(|request| request.encode_to_vec()).collect();
            prop_assert_eq!(omit(&bytes, chunk), wanted);
        }

        #[test]
        fn e05_what_a_decoder_refuses_is_refused(
            request in request(),
            length in any::<prop::sample::Index>(),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
            chunk in 1usize..200,
        ) {
            let mut bytes = [request.encode_to_vec(), vec![0x28, 1]].concat();
            bytes.truncate(1 + length.index(bytes.len()));
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let without = |bytes: &[u8]| {
                let request = DiscoveryRequest::decode(bytes).ok()?;
                Some(DiscoveryRequest { node: None, ..request })
            };
            prop_assert_eq!(without(&omit(&bytes, chunk)), without(&bytes));
        }

        #[test]
        fn any_bytes_pass(bytes in prop::collection::vec(any::<u8>(), 0..300), chunk in 1usize..50) {
            let whole = omit(&bytes, bytes.len().max(1));
            prop_assert_eq!(omit(&bytes, chunk), whole);
        }
    }

    #[test]
    fn nothing_is_held_of_what_is_left_out() {
        let (mut omit, mut out) = (Omit::new(NODE), Vec::new());
        omit.pass(&[0x12, 0xc8, 0xdc, 0x03], &mut out);
        omit.pass(&[7; 60_999], &mut out);
        assert_eq!(out.capacity(), 0);
        omit.finish(&mut out);
        assert!(!out.is_empty(), "the field is not complete");
    }
}
