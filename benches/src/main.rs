//! `weir-load`: load for a Weir, and what it takes to bear it.

mod load;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match load::run(&load::Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
