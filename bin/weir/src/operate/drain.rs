//! `weir drain`: have the clients of a running instance move elsewhere, and then end it.

use std::io::Write;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;
use weir_admin::Draining;

use super::AdminArgs;
use super::admin::Admin;
use super::output::{Format, age, show};
use crate::output::{LATE, count};
use crate::progress::Progress;

/// How often it is looked at.
const EACH: Duration = Duration::from_millis(200);

/// How much longer than the announced time the command waits for the end of the instance.
const MARGIN: Duration = Duration::from_secs(5);

/// Drain a running instance: move its clients away, then exit
///
/// Does the same as SIGTERM: the instance becomes unready, asks its clients to reconnect one after another, and exits with 0.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  weir drain
  weir drain --wait --admin http://10.0.0.1:19000

Exits with 0 when it has begun, or with --wait when the instance has ended; with 3 if it has not in time.")]
pub(crate) struct Args {
    #[command(flatten)]
    admin: AdminArgs,
    /// Wait until the instance has ended
    #[arg(long)]
    wait: bool,
    /// Output format
    #[arg(long, short, value_enum, default_value_t)]
    output: Format,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let admin = Admin::new(&args.admin)?;
    let mut state: Draining = admin.post("/drain")?;
    let begun = Instant::now();
    let limit = Duration::try_from_secs_f64(state.limit_seconds).unwrap_or_default();
    if !args.wait {
        show(args.output, &json!(state), out, |out| {
            Ok(writeln!(
                out,
                "draining: {}, ends within {}",
                count(state.streams, "stream"),
                age(limit.as_secs_f64())
            )?)
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    let ended = wait(&admin, &mut state, begun + limit + MARGIN);
    let seconds = begun.elapsed().as_secs_f64();
    let document = json!({ "ended": ended, "streams": state.streams, "seconds": seconds });
    show(args.output, &document, out, |out| match ended {
        true => Ok(writeln!(out, "ended after {}", age(seconds))?),
        false => Ok(writeln!(out, "not ended after {}: {}", age(seconds), count(state.streams, "stream"))?),
    })?;
    Ok(if ended { ExitCode::SUCCESS } else { ExitCode::from(LATE) })
}

/// Waits until the instance does not answer any more; states whether it came to that.
fn wait(admin: &Admin, state: &mut Draining, deadline: Instant) -> bool {
    let all = state.streams;
    let mut progress = Progress::new("streams gone", all);
    while Instant::now() < deadline {
        pause();
        match admin.get("/drain") {
            Ok(now) => *state = now,
            Err(_) => return true,
        }
        progress.set(all.saturating_sub(state.streams), all);
    }
    false
}

/// Waits until it is time to look again.
#[expect(
    clippy::disallowed_methods,
    reason = "who waits for the end of another program looks every so often"
)]
fn pause() {
    thread::sleep(EACH);
}
