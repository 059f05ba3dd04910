//! `weir trace-change`: follow one change to all clients.

use std::io::Write;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde::Serialize;
use serde_json::json;
use weir_admin::{DeliveryProgress, rfc3339};
use weir_telemetry::printable;
use weir_types::TypeUrl;

use super::AdminArgs;
use super::admin::{Admin, part};
use super::output::{Format, age, colour, show, table};
use crate::output::{LATE, NO, count};
use crate::progress::Progress;

/// How often it is looked at.
const EACH: Duration = Duration::from_millis(200);

/// Follow one change of a resource to all clients of a running instance
///
/// Follows the newest version that there is, or with --next waits for the next one first, until every client that is
/// subscribed to the resource has accepted it, or one has rejected it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  weir trace-change cds backend
  weir trace-change rds ingress --next --timeout 5m
  weir trace-change eds backend --output json

Exits with 0 when all have accepted it, with 1 if somebody has rejected it, with 2 if the instance cannot be asked, and
with 3 if somebody has not answered in time, or no client is subscribed to it.")]
pub(crate) struct Args {
    #[command(flatten)]
    admin: AdminArgs,
    /// The resource's type: cds, eds, lds, rds, srds, vhds, sds, rtds, ecds, leds, or a type URL
    #[arg(value_name = "TYPE")]
    type_url: TypeUrl,
    /// The resource's name
    name: String,
    /// Wait for the next change, and follow that
    #[arg(long)]
    next: bool,
    /// How long to follow it
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = weir_config::parse_duration)]
    timeout: Duration,
    /// Output format
    #[arg(long, short, value_enum, default_value_t)]
    output: Format,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let admin = Admin::new(&args.admin)?;
    let type_part = part(args.type_url.message());
    let path = format!("/resources/{type_part}/{}/delivery", part(&args.name));
    let mut follow = Follow::new(args);
    let (progress, verdict) = loop {
        let progress = admin.get(&path)?;
        if let Some(verdict) = follow.look(&progress) {
            break (progress, verdict);
        }
        pause();
    };
    let Follow { since, slowest, bar, .. } = follow;
    // It goes away before the result is written.
    drop(bar);
    let seconds = since.elapsed().as_millis() as f64 / 1000.0;
    let traced = Traced { progress, outcome: verdict.word(), seconds, slowest };
    show(args.output, &json!(traced), out, |out| write(args, &traced, out))?;
    Ok(verdict.code())
}

/// What came of it.
#[derive(Serialize)]
struct Traced {
    #[serde(flatten)]
    progress: DeliveryProgress,
    outcome: &'static str,
    seconds: f64,
    slowest: Option<Slowest>,
}

/// Who accepted last, and after how many seconds, as far as was seen.
#[derive(Serialize)]
struct Slowest {
    node: String,
    seconds: f64,
}

/// Waits until it is time to look again.
#[expect(clippy::disallowed_methods, reason = "who follows a change looks every so often")]
fn pause() {
    thread::sleep(EACH);
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Accepted,
    Rejected,
    Late,
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
            Self::Late => "timed-out",
        }
    }

    fn code(self) -> ExitCode {
        match self {
            Self::Accepted => ExitCode::SUCCESS,
            Self::Rejected => ExitCode::from(NO),
            Self::Late => ExitCode::from(LATE),
        }
    }
}

/// A change that is followed.
struct Follow {
    /// Until when.
    deadline: Instant,
    /// What there was before the change that is waited for, as soon as it is known; none once it has come.
    before: Option<Vec<String>>,
    /// Whether the next change is waited for.
    waits: bool,
    /// Since when this version is followed.
    since: Instant,
    /// Which versions that are.
    versions: Option<Vec<String>>,
    slowest: Option<Slowest>,
    bar: Progress,
}

impl Follow {
    fn new(args: &Args) -> Self {
        let now = Instant::now();
        Self {
            deadline: now + args.timeout,
            before: None,
            waits: args.next,
            since: now,
            versions: None,
            slowest: None,
            bar: Progress::new("accepted", 0),
        }
    }

    /// Looks at how far it has come, and states how it ended if it has.
    fn look(&mut self, progress: &DeliveryProgress) -> Option<Verdict> {
        let late = Instant::now() >= self.deadline;
        let versions: Vec<_> = progress.versions.keys().cloned().collect();
        if self.waits {
            let before = self.before.get_or_insert_with(|| versions.clone());
            if *before == versions {
                self.bar.wait("the next change");
                return late.then_some(Verdict::Late);
            }
            self.waits = false;
        }
        if self.versions.as_ref() != Some(&versions) {
            (self.versions, self.since, self.slowest) = (Some(versions), Instant::now(), None);
        }
        let DeliveryProgress { streams, accepted, rejected, .. } = *progress;
        match streams {
            0 => self.bar.wait("somebody to subscribe to it"),
            _ => self.bar.set(accepted, streams),
        }
        if let Some(open) = progress.open.first() {
            let seconds = self.since.elapsed().as_millis() as f64 / 1000.0;
            self.slowest = Some(Slowest { node: printable(&open.node), seconds });
        }
        match (streams > 0 && accepted == streams, accepted + rejected == streams && rejected > 0) {
            (true, _) => Some(Verdict::Accepted),
            (_, true) => Some(Verdict::Rejected),
            _ if late && rejected > 0 => Some(Verdict::Rejected),
            _ => late.then_some(Verdict::Late),
        }
    }
}

fn write(args: &Args, traced: &Traced, out: &mut dyn Write) -> Result<()> {
    let what = format!("{} {}", args.type_url.short_name(), args.name);
    let Traced { progress, outcome, seconds, slowest } = traced;
    let versions: Vec<_> = progress.versions.keys().map(String::as_str).collect();
    let versions = match versions.is_empty() {
        true => "of which there is nothing here".to_owned(),
        false => format!("version {}", versions.join(", ")),
    };
    writeln!(out, "{what}, {versions}: {outcome} after {}", age(*seconds))?;
    let DeliveryProgress { streams, accepted, unanswered, waiting, rejected, open, .. } = progress;
    if *streams == 0 {
        return Ok(writeln!(out, "nobody is subscribed to it")?);
    }
    let clients = count(*streams, "client");
    writeln!(
        out,
        "{clients}: {accepted} accepted, {unanswered} unanswered, {waiting} waiting, {rejected} rejected"
    )?;
    if let Some(Slowest { node, seconds }) = slowest {
        writeln!(out, "slowest: {node}, {}", age(*seconds))?;
    }
    if open.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let mut rows = table(["CLIENT", "NODE", "STATE", "SENT", "MESSAGE"], colour());
    for client in open {
        rows.row([
            client.client.to_string(),
            client.node.clone(),
            client.state.as_str().to_owned(),
            client.sent.map(rfc3339).unwrap_or_default(),
            client.message.clone().unwrap_or_default(),
        ]);
    }
    Ok(rows.write(out, "")?)
}

#[cfg(test)]
mod tests {
    use weir_admin::{Delivery, Standing};

    use super::*;

    fn follow(next: bool, timeout: Duration) -> Follow {
        let now = Instant::now();
        Follow {
            deadline: now + timeout,
            before: None,
            waits: next,
            since: now,
            versions: None,
            slowest: None,
            bar: Progress::new("accepted", 0),
        }
    }

    fn progress(version: &str, accepted: usize, rejected: usize) -> DeliveryProgress {
        let open = Delivery {
            client: 2,
            node: "web-2".to_owned(),
            state: Standing::Waiting,
            sent: None,
            message: None,
        };
        DeliveryProgress {
            versions: [(version.to_owned(), 1)].into(),
            streams: 2,
            accepted,
            unanswered: 0,
            waiting: 0,
            rejected,
            open: if accepted < 2 { vec![open] } else { Vec::new() },
        }
    }

    #[test]
    fn it_ends_when_all_have_answered() {
        let mut change = follow(false, Duration::from_secs(3600));
        assert_eq!(change.look(&progress("a", 1, 0)), None);
        assert_eq!(change.slowest.as_ref().map(|slowest| slowest.node.as_str()), Some("web-2"));
        assert_eq!(change.look(&progress("a", 2, 0)), Some(Verdict::Accepted));
        assert_eq!(change.look(&progress("a", 1, 1)), Some(Verdict::Rejected));
        assert_eq!(change.look(&progress("a", 0, 1)), None, "another one has yet to answer");
        let nobody = DeliveryProgress { streams: 0, ..progress("a", 0, 0) };
        assert_eq!(change.look(&nobody), None);
    }

    #[test]
    fn the_next_change_is_waited_for() {
        let mut change = follow(true, Duration::from_secs(3600));
        assert_eq!(change.look(&progress("a", 2, 0)), None);
        assert_eq!(change.look(&progress("a", 2, 0)), None);
        assert_eq!(change.look(&progress("b", 1, 0)), None);
        assert_eq!(change.look(&progress("b", 2, 0)), Some(Verdict::Accepted));
    }

    #[test]
    fn time_runs_out() {
        assert_eq!(follow(false, Duration::ZERO).look(&progress("a", 1, 0)), Some(Verdict::Late));
        assert_eq!(follow(false, Duration::ZERO).look(&progress("a", 0, 1)), Some(Verdict::Rejected));
        assert_eq!(follow(true, Duration::ZERO).look(&progress("a", 2, 0)), Some(Verdict::Late));
    }
}
