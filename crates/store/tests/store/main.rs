//! The store as a process sees it that comes after another one.

mod bounds;
mod past;
mod secrets;
mod sharing;
mod support;
mod torn;
