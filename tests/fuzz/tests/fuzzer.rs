//! The fuzzer: libFuzzer around the target that `WEIR_FUZZ_TARGET` names.
#![no_main]
#![allow(unsafe_code, reason = "libFuzzer calls the entry point by its symbol")]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use weir_fuzz::{Target, target};

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("WEIR_FUZZ_TARGET").unwrap_or_default();
    target(&name).unwrap_or_else(|| panic!("WEIR_FUZZ_TARGET={name:?} is no target"))
});

fuzz_target!(|data: &[u8]| TARGET(data));
