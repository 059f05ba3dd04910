//! Cuts the large DATA frames of a client into small ones, before the HTTP/2 library sees them.
//!
//! The library's read buffer grows to the largest frame that ever came and stays that large. Envoy sends the 61 kB
//! of its node in frames of 16 KiB, which thousands of idle connections would remember for ever. HTTP/2 lets
//! DATA be framed in any way (RFC 9113, section 6.1).
//!
//! Invariants: the payload of each stream is the same bytes in the same order; flow control, which counts
//! payload, does not notice; END_STREAM is on the last piece and on no other. Every other frame, and DATA with
//! padding (which flow control counts), passes byte for byte. It never judges: a bad frame is the library's to
//! refuse, a length beyond the limit included.

/// The length of a frame's header.
const HEADER: usize = 9;
/// The payload of a piece: two of them with their headers fill what the library's buffer begins with.
const PIECE: usize = 4096 - HEADER;
/// The largest frame that is cut: what the settings of the server allow. A larger one is an error.
const MAX_FRAME: usize = 16 << 10;

/// A frame's type and flags, RFC 9113, section 6.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const END_STREAM: u8 = 0x1;
const PADDED: u8 = 0x8;

/// Where in the bytes of a connection we are.
#[derive(Debug)]
pub(super) struct Cut {
    /// The header of the current frame, as far as it has arrived.
    header: [u8; HEADER],
    have: usize,
    /// How many bytes pass before something is to be decided.
    passing: usize,
    /// How much payload of the current frame is for further pieces.
    further: usize,
    begun: Begun,
}

/// How many frames have begun since they were last counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Begun {
    pub(super) headers: usize,
    pub(super) settings: usize,
}

impl Cut {
    /// Begins with the connection preface, which is `preface` bytes long.
    pub(super) fn after(preface: usize) -> Self {
        Self { header: [0; HEADER], have: 0, passing: preface, further: 0, begun: Begun::default() }
    }

    /// Appends `bytes` to `out`, cut. The part of a header is held back until the rest of it arrives.
    pub(super) fn pass(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) {
        while !bytes.is_empty() {
            if self.passing > 0 {
                let now = take(&mut bytes, self.passing);
                out.extend_from_slice(now);
                self.passing -= now.len();
            } else if self.further > 0 {
                self.begin_piece(out);
            } else {
                let now = take(&mut bytes, HEADER - self.have);
                self.header[self.have..self.have + now.len()].copy_from_slice(now);
                self.have += now.len();
                if self.have == HEADER {
                    self.have = 0;
                    self.begin_frame(out);
                }
            }
        }
    }

    /// How many frames have begun since this was last asked.
    pub(super) fn take_begun(&mut self) -> Begun {
        std::mem::take(&mut self.begun)
    }

    fn begin_frame(&mut self, out: &mut Vec<u8>) {
        let [a, b, c, kind, flags, ..] = self.header;
        self.begun.headers += usize::from(kind == HEADERS);
        self.begun.settings += usize::from(kind == SETTINGS);
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        if kind == DATA && flags & PADDED == 0 && (PIECE + 1..=MAX_FRAME).contains(&length) {
            self.further = length;
            self.begin_piece(out);
        } else {
            out.extend_from_slice(&self.header);
            self.passing = length;
        }
    }

    fn begin_piece(&mut self, out: &mut Vec<u8>) {
        let length = self.further.min(PIECE);
        self.further -= length;
        self.passing = length;
        let mut header = self.header;
        header[..3].copy_from_slice(&(length as u32).to_be_bytes()[1..]);
        if self.further > 0 {
            header[4] &= !END_STREAM;
        }
        out.extend_from_slice(&header);
    }
}

/// Takes at most `length` bytes off the front.
fn take<'a>(bytes: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(bytes.len().min(length));
    *bytes = rest;
    taken
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

    #[derive(Clone, Debug, PartialEq)]
    struct Frame {
        kind: u8,
        flags: u8,
        stream: u32,
        payload: Vec<u8>,
    }

    impl Frame {
        fn data(flags: u8, stream: u32, payload: Vec<u8>) -> Self {
            Self { kind: DATA, flags, stream, payload }
        }

        fn write(&self, out: &mut Vec<u8>) {
            out.extend_from_slice(&(self.payload.len() as u32).to_be_bytes()[1..]);
            out.extend_from_slice(&[self.kind, self.flags]);
            out.extend_from_slice(&self.stream.to_be_bytes());
            out.extend_from_slice(&self.payload);
        }
    }

    fn wire(frames: &[Frame]) -> Vec<u8> {
        let mut wire = PREFACE.to_vec();
        frames.iter().for_each(|frame| frame.write(&mut wire));
        wire
    }

    fn read(wire: &[u8]) -> Vec<Frame> {
        let mut rest = wire.strip_prefix(PREFACE).unwrap();
        let mut frames = Vec::new();
        while let [a, b, c, kind, flags, s0, s1, s2, s3, after @ ..] = rest {
            let (payload, after) = after.split_at(u32::from_be_bytes([0, *a, *b, *c]) as usize);
            let stream = u32::from_be_bytes([*s0, *s1, *s2, *s3]);
            frames.push(Frame { kind: *kind, flags: *flags, stream, payload: payload.to_vec() });
            rest = after;
        }
        assert!(rest.is_empty(), "whole frames");
        frames
    }

    fn cut(wire: &[u8], chunks: impl IntoIterator<Item = usize>) -> Vec<u8> {
        let (mut cut, mut rest, mut out) = (Cut::after(PREFACE.len()), wire, Vec::new());
        for chunk in chunks {
            cut.pass(take(&mut rest, chunk), &mut out);
        }
        cut.pass(rest, &mut out);
        out
    }

    /// What a peer makes of the frames: DATA of a stream that follow each other are one.
    fn meaning(frames: &[Frame]) -> Vec<Frame> {
        let mut meaning: Vec<Frame> = Vec::new();
        for frame in frames {
            match meaning.last_mut() {
                Some(last)
                    if (last.kind, last.stream, last.flags) == (DATA, frame.stream, 0)
                        && frame.kind == DATA
                        && frame.flags & PADDED == 0 =>
                {
                    last.payload.extend_from_slice(&frame.payload);
                    last.flags = frame.flags;
                }
                _ => meaning.push(frame.clone()),
            }
        }
        meaning
    }

    fn frame() -> impl Strategy<Value = Frame> {
        let flags = prop_oneof![Just(0), Just(END_STREAM), Just(PADDED), Just(PADDED | END_STREAM)];
        let length =
            prop_oneof![0usize..100, PIECE - 2..PIECE + 3, 2 * PIECE - 1..2 * PIECE + 2, 0..=MAX_FRAME];
        (prop_oneof![3 => Just(DATA), 1 => 1u8..12], flags, 1u32..4, length, any::<u8>()).prop_map(
            |(kind, flags, stream, length, seed)| {
                let payload = (0..length).map(|i| seed.wrapping_add((i % 251) as u8)).collect();
                Frame { kind, flags, stream, payload }
            },
        )
    }

    proptest! {
        #[test]
        fn frames_mean_the_same_however_they_arrive(
            frames in prop::collection::vec(frame(), 0..8),
            chunks in prop::collection::vec(prop_oneof![1usize..12, 1usize..6000], 0..60),
        ) {
            let wire = wire(&frames);
            let out = cut(&wire, chunks);
            let pieces = read(&out);
            prop_assert_eq!(&out, &cut(&wire, []), "how it arrives does not matter");
            prop_assert_eq!(meaning(&pieces), meaning(&frames));
            for piece in pieces.iter().filter(|piece| piece.kind == DATA && piece.flags & PADDED == 0) {
                prop_assert!(piece.payload.len() <= PIECE);
            }
            let untouched = |frames: &[Frame]| {
                let untouched = frames.iter().filter(|f| f.kind != DATA || f.flags & PADDED != 0);
                untouched.cloned().collect::<Vec<_>>()
            };
            prop_assert_eq!(untouched(&pieces), untouched(&frames));
        }

        #[test]
        fn any_bytes_pass(bytes in prop::collection::vec(any::<u8>(), 0..3000), chunk in 1usize..50) {
            let mut out = Vec::new();
            let mut cut = Cut::after(0);
            bytes.chunks(chunk).for_each(|chunk| cut.pass(chunk, &mut out));
        }
    }

    #[test]
    fn the_end_of_a_stream_is_on_the_last_piece() {
        let frame = Frame::data(END_STREAM, 7, vec![1; PIECE * 2 + 5]);
        let pieces = read(&cut(&wire(&[frame]), []));
        let seen: Vec<_> = pieces.iter().map(|f| (f.payload.len(), f.flags, f.stream)).collect();
        assert_eq!(seen, [(PIECE, 0, 7), (PIECE, 0, 7), (5, END_STREAM, 7)]);
    }

    #[test]
    fn a_frame_that_is_too_large_is_left_for_the_library_to_refuse() {
        let wire = wire(&[Frame::data(0, 1, vec![0; MAX_FRAME + 1])]);
        assert_eq!(cut(&wire, []), wire);
    }
}
