//! How much an idle stream holds.

use weir_session::TypeSubscription;
use weir_wire::request::DeltaRequest;

use super::*;

/// What a function with these parameters gives takes so many bytes.
fn given<A, B, C, T>(_: impl Fn(A, B, C) -> T) -> usize {
    size_of::<T>()
}

/// Each idle client holds as much.
#[test]
fn a_stream_that_waits_holds_little() {
    let found = [
        ("the stream", size_of::<Stream>(), 416),
        ("what reads", given(Stream::read::<DeltaRequest>), 448),
        ("what writes", size_of::<ResponseBody>(), 64),
        // Four of them fill what an allocator has room for.
        ("a type on it", size_of::<TypeSubscription>(), 312),
    ];
    for (what, bytes, limit) in found {
        assert!(bytes <= limit, "{what} takes {bytes} bytes");
    }
}
