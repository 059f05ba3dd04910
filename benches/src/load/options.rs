//! What the user may ask for.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};

use super::plan::Dialect;
use super::scenario::attacks::Attack;

/// Puts load on a `weir serve` of its own and measures it from outside
///
/// Starts the server in a process of its own, feeds it from a control plane, and connects many clients that
/// accept whatever they are sent. CPU and memory of the server are what the operating system reports. Everything
/// stays on the loopback interface and ends by itself.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "weir-load",
    after_help = "\
Examples:
  weir-load fan-out --streams 1000,5000,10000 --plot fan-out.svg
  weir-load idle --streams 10000 --resources 10,10000 --node-in-every-request
  weir-load herd --streams 10000 --resources 1000 --json herd.json
  weir-load attacks --attack globs,windows --seconds 10
  weir-load targets"
)]
pub(crate) struct Options {
    /// What is to happen
    pub(crate) scenario: Scenario,
    /// How many streams; several make a series
    #[arg(long, short = 'n', value_delimiter = ',')]
    pub(crate) streams: Vec<usize>,
    /// How many of them share a connection
    #[arg(long, default_value_t = 1, value_name = "STREAMS")]
    pub(crate) per_connection: usize,
    /// The variant of the protocol
    #[arg(long, value_enum, default_value_t = Dialect::Delta)]
    pub(crate) dialect: Dialect,
    /// Clients ask by locator (TP2), each for one of so many parameter sets; 0: by plain name
    #[arg(long, default_value_t = 0, value_name = "SETS")]
    pub(crate) locators: usize,
    /// The type of what changes: cds, eds, lds or rds [default: depends on the scenario]
    #[arg(long = "type", value_name = "TYPE", value_parser = ["cds", "eds", "lds", "rds"])]
    pub(crate) kind: Option<String>,
    /// How many resources there are; several make a series
    #[arg(long, short = 'r', value_delimiter = ',')]
    pub(crate) resources: Vec<usize>,
    /// Bytes of each resource [default: depends on the scenario]
    #[arg(long, short)]
    pub(crate) size: Option<usize>,
    /// How many changes
    #[arg(long, short)]
    pub(crate) changes: Option<usize>,
    /// Changes a second, where they come at a rate
    #[arg(long)]
    pub(crate) rate: Option<usize>,
    /// For how many seconds, where it goes on for a time
    #[arg(long, default_value_t = 10)]
    pub(crate) seconds: u64,
    /// Bytes of each client's node; an Envoy's has 61,000
    #[arg(long, default_value_t = 61_000)]
    pub(crate) node_size: usize,
    /// The node is in every request, as Envoy has it by default, and not only in a stream's first
    #[arg(long)]
    pub(crate) node_in_every_request: bool,
    /// Connections that are being opened at a time; more than a server lets wait (often 128) are refused
    #[arg(long, default_value_t = 100)]
    pub(crate) at_a_time: usize,
    /// After how many seconds anything that is waited for is taken for failed
    #[arg(long, default_value_t = 120)]
    pub(crate) timeout: u64,
    /// Leave out the floor: the same bytes over plain TCP
    #[arg(long)]
    pub(crate) no_floor: bool,
    /// Keep the server to one processor, and the rest to the others
    #[arg(long)]
    pub(crate) pin: bool,
    /// How much the server keeps of encoded responses, as in its configuration
    #[arg(long, default_value = "256MiB", value_name = "SIZE")]
    pub(crate) frame_cache: String,
    /// Trace this share of the changes (0 to 1), and export the traces to a collector
    #[arg(long, value_name = "SHARE")]
    pub(crate) sample_ratio: Option<f64>,
    /// The program to measure [default: the one beside this, built by cargo if it runs this]
    #[arg(long, value_name = "FILE", env = "WEIR_BIN")]
    pub(crate) weir: Option<PathBuf>,
    /// Measure HTTP/2 alone instead: a server on the same library that passes on the control plane's bytes and knows
    /// nothing of xDS (connect, idle and fan-out)
    #[arg(long)]
    pub(crate) bare: bool,
    /// Write the figures as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Draw latency against the number of streams, as SVG
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    /// Bytes of an acknowledgement, for the floor alone
    #[arg(long, default_value_t = 110)]
    pub(crate) acknowledgement: usize,
    /// The attacks that run, one after the other [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) attack: Vec<Attack>,
    /// Where the control plane is, for the server that is HTTP/2 alone; where the server is, for an attacker
    #[arg(long, hide = true)]
    pub(crate) upstream: Option<String>,
    /// How many processors a busy process uses
    #[arg(long, hide = true)]
    pub(crate) share: Option<f64>,
}

/// What may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scenario {
    /// Everybody connects: time to the first full state, CPU and memory for a stream
    Connect,
    /// Memory of streams with four types subscribed that wait for something to happen
    Idle,
    /// One resource changes, time and again, and everybody gets it
    FanOut,
    /// Ten streams of many want the resource that changes, against ten alone
    Growth,
    /// Resources change all the time
    Churn,
    /// Everybody comes back at once and states what it has
    Herd,
    /// A tenth of the clients stop reading
    Slow,
    /// Every client has endpoints of its own
    Distinct,
    /// Every client has a parameter set of its own, and a stream to the control plane, which is away for a time
    Sets,
    /// Many variants of the same content: memory of the server
    Variants,
    /// What tracing costs: without, with 1 % and with all changes sampled
    Tracing,
    /// Memory of the server: what a resource takes, and what is left of names that clients made up
    Memory,
    /// One client attacks, and another one waits for its changes
    Attacks,
    /// Plain TCP: the physical limit
    Floor,
    /// What the project promises, one after the other
    Targets,
    /// The server of the floor
    #[value(hide = true)]
    FloorServer,
    /// The server that is HTTP/2 alone
    #[value(hide = true)]
    BareServer,
    /// The client that attacks
    #[value(hide = true)]
    Attacker,
    /// A process that uses CPU time and does nothing else
    #[value(hide = true)]
    Busy,
}

impl Options {
    pub(crate) fn patience(&self) -> Duration {
        Duration::from_secs(self.timeout)
    }

    pub(crate) fn size_or(&self, size: usize) -> usize {
        self.size.unwrap_or(size)
    }

    pub(crate) fn changes_or(&self, changes: usize) -> usize {
        self.changes.unwrap_or(changes)
    }

    pub(crate) fn rate_or(&self, rate: usize) -> usize {
        self.rate.unwrap_or(rate).max(1)
    }

    /// Numbers of streams and of resources: every pair is a run.
    pub(crate) fn runs(&self, streams: usize, resources: usize) -> Vec<(usize, usize)> {
        let or = |given: &[usize], default| if given.is_empty() { vec![default] } else { given.to_vec() };
        let (all_streams, all_resources) = (or(&self.streams, streams), or(&self.resources, resources));
        all_streams.iter().flat_map(|s| all_resources.iter().map(|r| (*s, *r))).collect()
    }
}
