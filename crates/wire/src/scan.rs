//! Reads protobuf fields without decoding messages.
//!
//! For what passes through Weir byte for byte: a scan finds the few fields that matter and leaves the rest
//! as it is. Never allocates, never panics on malformed input.

use std::str::Utf8Error;

/// Why bytes are not a protobuf message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScanError {
    /// A field ends after the message does.
    #[error("the message ends within a field")]
    Truncated,
    /// A varint of more than ten bytes, or of more than 64 bits.
    #[error("a varint is too long")]
    Varint,
    /// A field number outside of 1 to 2^29-1.
    #[error("field number {0} is out of range")]
    Number(u64),
    /// A wire type that does not exist, or a group.
    #[error("wire type {0} is not supported")]
    WireType(u8),
    /// A known field has another wire type than it should.
    #[error("field {0} has the wrong wire type")]
    Mistyped(u32),
    /// A string is not UTF-8.
    #[error("field {0} is not UTF-8")]
    Utf8(u32),
}

/// The value of a field, as the wire knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Integers, enums, booleans.
    Varint(u64),
    /// Eight bytes, little endian.
    Fixed64([u8; 8]),
    /// Strings, bytes, messages, packed lists.
    Bytes(&'a [u8]),
    /// Four bytes, little endian.
    Fixed32([u8; 4]),
}

/// One field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Its number.
    pub number: u32,
    /// Its value.
    pub value: Value<'a>,
    /// All of its bytes: tag, length and value.
    pub raw: &'a [u8],
}

impl<'a> Field<'a> {
    /// The bytes of a string, bytes or message field.
    pub fn bytes(&self) -> Result<&'a [u8], ScanError> {
        match self.value {
            Value::Bytes(bytes) => Ok(bytes),
            _ => Err(ScanError::Mistyped(self.number)),
        }
    }

    /// The text of a string field.
    pub fn text(&self) -> Result<&'a str, ScanError> {
        std::str::from_utf8(self.bytes()?).map_err(|_: Utf8Error| ScanError::Utf8(self.number))
    }

    /// The value of an integer field.
    pub fn varint(&self) -> Result<u64, ScanError> {
        match self.value {
            Value::Varint(value) => Ok(value),
            _ => Err(ScanError::Mistyped(self.number)),
        }
    }
}

/// The fields of the message in `bytes`, in order of appearance. Ends after the first error.
pub fn fields(bytes: &[u8]) -> Fields<'_> {
    Fields { rest: bytes }
}

/// See [`fields`].
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    fn read(&mut self) -> Result<Field<'a>, ScanError> {
        let start = self.rest;
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).ok().filter(|n| (1..1 << 29).contains(n));
        let number = number.ok_or(ScanError::Number(tag >> 3))?;
        let value = match (tag & 7) as u8 {
            0 => Value::Varint(self.varint()?),
            1 => Value::Fixed64(self.array()?),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| ScanError::Truncated)?;
                Value::Bytes(self.take(length)?)
            }
            5 => Value::Fixed32(self.array()?),
            other => return Err(ScanError::WireType(other)),
        };
        let raw = &start[..start.len() - self.rest.len()];
        Ok(Field { number, value, raw })
    }

    fn varint(&mut self) -> Result<u64, ScanError> {
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let [byte] = self.array()?;
            if shift == 63 && byte > 1 {
                return Err(ScanError::Varint);
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(ScanError::Varint)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], ScanError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(ScanError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ScanError> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(ScanError::Truncated)?;
        self.rest = rest;
        Ok(*taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, ScanError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.read();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scan(bytes: &[u8]) -> Result<Vec<Field<'_>>, ScanError> {
        fields(bytes).collect()
    }

    #[test]
    fn reads_every_wire_type() {
        let bytes = [0x08, 0x96, 0x01, 0x11, 1, 2, 3, 4, 5, 6, 7, 8, 0x1a, 2, b'h', b'i', 0x25, 1, 2, 3, 4];
        let found = scan(&bytes).unwrap();
        assert_eq!(found[0].varint(), Ok(150));
        assert_eq!(found[1].value, Value::Fixed64([1, 2, 3, 4, 5, 6, 7, 8]));
        assert_eq!((found[2].number, found[2].text(), found[2].raw), (3, Ok("hi"), &bytes[12..16]));
        assert_eq!(found[3].value, Value::Fixed32([1, 2, 3, 4]));
        assert_eq!(found[0].bytes(), Err(ScanError::Mistyped(1)));
        assert_eq!(found[2].varint(), Err(ScanError::Mistyped(3)));
    }

    #[test]
    fn e05_malformed_messages_say_what_is_wrong() {
        for (bytes, wanted) in [
            (&[0x08][..], ScanError::Truncated),
            (&[0x0a, 5, 1], ScanError::Truncated),
            (&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], ScanError::Truncated),
            (&[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02], ScanError::Varint),
            (&[0x00, 0x00], ScanError::Number(0)),
            (&[0x0b], ScanError::WireType(3)),
            (&[0x0f], ScanError::WireType(7)),
        ] {
            assert_eq!(scan(bytes), Err(wanted), "{bytes:?}");
        }
        assert_eq!(fields(&[0x0a, 1, 0xff]).next().unwrap().unwrap().text(), Err(ScanError::Utf8(1)));
        assert_eq!(fields(&[0x0b, 0x0b]).count(), 1, "ends after the first error");
    }

    proptest! {
        #[test]
        fn raw_fields_make_up_the_message(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(found) = scan(&bytes) {
                prop_assert_eq!(found.iter().flat_map(|f| f.raw.iter().copied()).collect::<Vec<_>>(), bytes);
            }
        }
    }
}
