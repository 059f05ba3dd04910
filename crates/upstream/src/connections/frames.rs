//! The frames of a control plane that concern all streams of a connection: how many it takes, and that it takes no more.
//!
//! Owns their place among what is read. Never keeps a byte of what else there is.

/// The length of the header of a frame.
const HEADER: usize = 9;
/// The length of a setting.
const SETTING: usize = 6;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const ACK: u8 = 1;
const MAX_CONCURRENT_STREAMS: u16 = 3;

/// What a control plane states about a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notice {
    /// Its settings: how many streams it takes at most, if they have that.
    Settings(Option<u32>),
    /// It takes no new streams.
    GoAway,
}

/// Reads what comes on a connection.
#[derive(Debug, Default)]
pub(crate) struct FrameReader {
    /// The header of a frame, or a setting, as far as it has come.
    part: [u8; HEADER],
    filled: usize,
    /// How much of the payload is missing.
    payload: usize,
    /// Whether the payload is settings.
    in_settings: bool,
    max_streams: Option<u32>,
}

impl FrameReader {
    /// Reads on, and reports what concerns all streams.
    pub(super) fn read(&mut self, mut bytes: &[u8], mut report: impl FnMut(Notice)) {
        while !bytes.is_empty() {
            if self.payload == 0 {
                if self.collect(&mut bytes, HEADER) {
                    self.begin(&mut report);
                }
            } else if self.in_settings {
                let (before, wanted) = (bytes.len(), SETTING.min(self.filled + self.payload));
                let complete = self.collect(&mut bytes, wanted);
                self.payload -= before - bytes.len();
                if complete && wanted == SETTING {
                    self.note_setting();
                }
                if self.payload == 0 {
                    self.filled = 0;
                    self.in_settings = false;
                    report(Notice::Settings(self.max_streams.take()));
                }
            } else {
                let skipped = bytes.len().min(self.payload);
                self.payload -= skipped;
                bytes = &bytes[skipped..];
            }
        }
    }

    /// Collects `wanted` bytes. True when they are there.
    fn collect(&mut self, bytes: &mut &[u8], wanted: usize) -> bool {
        let taken = bytes.len().min(wanted.saturating_sub(self.filled));
        let (part, rest) = bytes.split_at(taken);
        self.part[self.filled..self.filled + taken].copy_from_slice(part);
        self.filled += taken;
        *bytes = rest;
        if self.filled < wanted {
            return false;
        }
        self.filled = 0;
        true
    }

    /// Begins the frame whose header is there.
    fn begin(&mut self, report: &mut impl FnMut(Notice)) {
        let [a, b, c, kind, flags, ..] = self.part;
        self.payload = usize::try_from(u32::from_be_bytes([0, a, b, c])).unwrap_or(usize::MAX);
        self.in_settings = false;
        match kind {
            SETTINGS if flags & ACK == 0 && self.payload == 0 => report(Notice::Settings(None)),
            SETTINGS if flags & ACK == 0 => self.in_settings = true,
            GOAWAY => report(Notice::GoAway),
            _ => {}
        }
    }

    fn note_setting(&mut self) {
        let [id_high, id_low, a, b, c, d, ..] = self.part;
        if u16::from_be_bytes([id_high, id_low]) == MAX_CONCURRENT_STREAMS {
            self.max_streams = Some(u32::from_be_bytes([a, b, c, d]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&length[1..], &[kind, flags, 0, 0, 0, 0], payload].concat()
    }

    #[test]
    fn u16_settings_and_the_end_are_found_wherever_the_bytes_are_cut() {
        let settings = [[0, 4, 0, 1, 0, 0], [0, 3, 0, 0, 1, 2], [0, 5, 0, 0, 64, 0]].concat();
        let bytes = [
            frame(SETTINGS, 0, &settings),
            frame(SETTINGS, ACK, &[]),
            frame(0, 0, &[SETTINGS; 300]),
            frame(SETTINGS, 0, &[]),
            // No setting is as short as this: the peer is about to be refused.
            frame(SETTINGS, 0, &[0, 3, 0]),
            frame(SETTINGS, 0, &[0, 3, 0, 0, 0, 7]),
            frame(GOAWAY, 0, &[0; 8]),
        ]
        .concat();
        let wanted = [
            Notice::Settings(Some(258)),
            Notice::Settings(None),
            Notice::Settings(None),
            Notice::Settings(Some(7)),
            Notice::GoAway,
        ];
        for size in 1..=bytes.len() {
            let (mut reader, mut found) = (FrameReader::default(), Vec::new());
            bytes.chunks(size).for_each(|chunk| reader.read(chunk, |notice| found.push(notice)));
            assert_eq!(found, wanted, "in chunks of {size}");
        }
    }
}
