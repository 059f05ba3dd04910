//! The store as a process sees it that comes after another one.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends at the first thing that is not as it should be"
)]

mod bounds;
mod past;
mod secrets;
mod sharing;
mod support;
mod torn;
