//! A client's HTTP/2 connection without IO: bytes in, events and bytes out.
//!
//! Keeps to flow control in both directions, answers SETTINGS and PING, and ignores what a response's headers
//! state. Opens only the streams that it was asked to open, and never retries.

use super::frames::{self, HEAD, Head};
use super::message::{HEADER, Malformed, Message, MessageReader};

/// What a server may have on its way to us: Envoy's defaults.
const STREAM_WINDOW: u32 = 16 << 20;
const CONNECTION_WINDOW: u32 = 24 << 20;
/// What both sides start with (RFC 9113, 6.9.2).
const INITIAL_WINDOW: u32 = 65_535;
/// What is kept allocated between two messages of a stream.
const KEPT: usize = 512;

/// What has happened on a stream, by its number in order of opening.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Message(usize, Message),
    Ended(usize),
}

/// Why a connection is of no use any more.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum Broken {
    #[error("the server sent GOAWAY")]
    GoAway,
    #[error("the server sent a padded frame, or one of a stream that was never opened")]
    Unexpected,
    #[error("the server sent {0}")]
    Malformed(#[from] Malformed),
}

#[derive(Debug)]
struct Stream {
    reader: MessageReader,
    /// What may be sent.
    window: i64,
    /// What was received and not given back.
    received: u32,
    /// What waits for the window.
    waiting: Vec<u8>,
    open: bool,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    head: [u8; HEAD],
    have: usize,
    frame: Head,
    left: usize,
    /// The payload of a frame that is about the connection.
    control: Vec<u8>,
    streams: Vec<Stream>,
    window: i64,
    initial_window: i64,
    max_frame: usize,
    received: u32,
    accepted: bool,
    complete: Vec<Message>,
}

impl Connection {
    /// Opens the connection.
    pub(crate) fn open(out: &mut Vec<u8>) -> Self {
        out.extend_from_slice(frames::PREFACE);
        frames::settings(out, STREAM_WINDOW);
        frames::window_update(out, 0, CONNECTION_WINDOW - INITIAL_WINDOW);
        Self {
            head: [0; HEAD],
            have: 0,
            frame: Head { length: 0, kind: 0, flags: 0, stream: 0 },
            left: 0,
            control: Vec::new(),
            streams: Vec::new(),
            window: INITIAL_WINDOW.into(),
            initial_window: INITIAL_WINDOW.into(),
            max_frame: 16_384,
            received: 0,
            accepted: false,
            complete: Vec::new(),
        }
    }

    /// Opens the next stream with these headers. `keep`: whether its messages are kept whole.
    pub(crate) fn open_stream(&mut self, block: &[u8], keep: bool, out: &mut Vec<u8>) -> usize {
        frames::headers(out, id(self.streams.len()), block);
        self.streams.push(Stream {
            reader: MessageReader::new(keep),
            window: self.initial_window,
            received: 0,
            waiting: Vec::new(),
            open: true,
        });
        self.streams.len() - 1
    }

    /// Sends a message, made of `parts`, as soon as the windows allow.
    pub(crate) fn send(&mut self, stream: usize, parts: &[&[u8]], out: &mut Vec<u8>) {
        let waiting = &mut self.streams[stream].waiting;
        let length: usize = parts.iter().map(|part| part.len()).sum();
        waiting.reserve(HEADER + length);
        waiting.push(0);
        waiting.extend_from_slice(&(length as u32).to_be_bytes());
        parts.iter().for_each(|part| waiting.extend_from_slice(part));
        self.flush(stream, out);
    }

    /// Whether the server takes part: its settings have come.
    pub(crate) fn is_accepted(&self) -> bool {
        self.accepted
    }

    /// Whether everything that was to be sent has been given to the socket.
    pub(crate) fn is_flushed(&self) -> bool {
        self.streams.iter().all(|stream| stream.waiting.is_empty())
    }

    fn flush(&mut self, number: usize, out: &mut Vec<u8>) {
        let stream = &mut self.streams[number];
        let mut sent = 0;
        while sent < stream.waiting.len() {
            let room = stream.window.min(self.window).max(0) as usize;
            let end = stream.waiting.len().min(sent + room.min(self.max_frame));
            if end == sent {
                break;
            }
            frames::data(out, id(number), &stream.waiting[sent..end]);
            let length = (end - sent) as i64;
            stream.window -= length;
            self.window -= length;
            sent = end;
        }
        stream.waiting.drain(..sent);
        if stream.waiting.is_empty() && stream.waiting.capacity() > KEPT {
            stream.waiting = Vec::new();
        }
    }

    /// Reads what has come.
    pub(crate) fn feed(
        &mut self,
        mut bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Result<(), Broken> {
        while !bytes.is_empty() {
            if self.have < HEAD {
                let (head, rest) = bytes.split_at(bytes.len().min(HEAD - self.have));
                self.head[self.have..self.have + head.len()].copy_from_slice(head);
                self.have += head.len();
                bytes = rest;
                if self.have < HEAD {
                    return Ok(());
                }
                self.frame = Head::parse(&self.head);
                self.left = self.frame.length;
            }
            let (piece, rest) = bytes.split_at(bytes.len().min(self.left));
            self.read(piece, events)?;
            self.left -= piece.len();
            bytes = rest;
            if self.left == 0 {
                self.end_frame(out, events)?;
                self.control.clear();
                self.have = 0;
            }
        }
        Ok(())
    }

    fn read(&mut self, piece: &[u8], events: &mut Vec<Event>) -> Result<(), Broken> {
        match self.frame.kind {
            frames::DATA => {
                const PADDED: u8 = 8;
                let number = number(self.frame.stream);
                let stream = self.streams.get_mut(number).ok_or(Broken::Unexpected)?;
                if self.frame.flags & PADDED != 0 {
                    return Err(Broken::Unexpected);
                }
                stream.reader.feed(piece, &mut self.complete)?;
                events.extend(self.complete.drain(..).map(|message| Event::Message(number, message)));
            }
            frames::SETTINGS | frames::PING | frames::WINDOW_UPDATE => self.control.extend_from_slice(piece),
            _ => {}
        }
        Ok(())
    }

    fn end_frame(&mut self, out: &mut Vec<u8>, events: &mut Vec<Event>) -> Result<(), Broken> {
        let Head { length, kind, flags, stream: id } = self.frame;
        match kind {
            frames::DATA => self.give_back(length as u32, out),
            frames::SETTINGS if flags & frames::ACK == 0 => {
                self.settings();
                frames::settings_ack(out);
                self.flush_all(out);
                self.accepted = true;
            }
            frames::PING if flags & frames::ACK == 0 => frames::ping_ack(out, &self.control),
            frames::WINDOW_UPDATE => self.enlarge(out),
            frames::GOAWAY => return Err(Broken::GoAway),
            _ => {}
        }
        let ends = kind == frames::RST_STREAM
            || flags & frames::END_STREAM != 0 && matches!(kind, frames::DATA | frames::HEADERS);
        if let Some(stream) = self.streams.get_mut(number(id)).filter(|_| ends)
            && std::mem::replace(&mut stream.open, false)
        {
            events.push(Event::Ended(number(id)));
        }
        Ok(())
    }

    /// Lets the server send as much again, once that is worth a frame.
    fn give_back(&mut self, length: u32, out: &mut Vec<u8>) {
        self.received += length;
        if self.received > CONNECTION_WINDOW / 2 {
            frames::window_update(out, 0, std::mem::take(&mut self.received));
        }
        let id = self.frame.stream;
        if let Some(stream) = self.streams.get_mut(number(id)) {
            stream.received += length;
            if stream.received > STREAM_WINDOW / 2 {
                frames::window_update(out, id, std::mem::take(&mut stream.received));
            }
        }
    }

    fn settings(&mut self) {
        for setting in self.control.chunks_exact(6) {
            let value = u32::from_be_bytes([setting[2], setting[3], setting[4], setting[5]]);
            match u16::from_be_bytes([setting[0], setting[1]]) {
                frames::INITIAL_WINDOW_SIZE => {
                    let change = i64::from(value) - self.initial_window;
                    self.initial_window = value.into();
                    self.streams.iter_mut().for_each(|stream| stream.window += change);
                }
                frames::MAX_FRAME_SIZE => self.max_frame = value as usize,
                _ => {}
            }
        }
    }

    fn enlarge(&mut self, out: &mut Vec<u8>) {
        let Some(increment) = self.control.first_chunk().map(|bytes| u32::from_be_bytes(*bytes)) else {
            return;
        };
        match self.frame.stream {
            0 => {
                self.window += i64::from(increment);
                self.flush_all(out);
            }
            id => {
                if let Some(stream) = self.streams.get_mut(number(id)) {
                    stream.window += i64::from(increment);
                    self.flush(number(id), out);
                }
            }
        }
    }

    fn flush_all(&mut self, out: &mut Vec<u8>) {
        (0..self.streams.len()).for_each(|number| self.flush(number, out));
    }
}

/// A client's streams have the odd ids.
fn id(number: usize) -> u32 {
    number as u32 * 2 + 1
}

fn number(id: u32) -> usize {
    // The connection itself, 0, becomes a number that no stream has.
    (id.wrapping_sub(1) / 2) as usize
}
