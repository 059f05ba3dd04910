//! `weir-load`: generates load for a Weir, and measures what it costs.

mod load;

use std::process::ExitCode;

use clap::Parser;

/// The servers to compare with have what Weir has.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    match load::run(&load::Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
