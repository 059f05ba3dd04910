//! Messages as they are: nothing of them is read.

use bytes::{Buf, BufMut, Bytes};
use tonic::Status;
use tonic::codec::{BufferSettings, Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};

/// How much room is made for a message that may come, in bytes: there are as many such rooms as streams.
const ROOM: usize = 256;

/// Has messages as bytes, and one after another.
pub(super) struct Unread;

impl Codec for Unread {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Unread {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        out.put(message);
        Ok(())
    }

    /// The next message is taken when the last one is on its way.
    fn buffer_settings(&self) -> BufferSettings {
        BufferSettings::new(ROOM, 1)
    }
}

impl Decoder for Unread {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, message: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(message.copy_to_bytes(message.remaining())))
    }

    fn buffer_settings(&self) -> BufferSettings {
        BufferSettings::new(ROOM, 1)
    }
}
