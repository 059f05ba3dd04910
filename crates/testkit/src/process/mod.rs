//! Real processes: Weir itself, and the real clients that run behind it.
