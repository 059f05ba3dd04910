//! `weir get`: what a server sends to a client.

mod held;
mod literal;
mod show;

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::time::{Instant, sleep_until};
use weir_protocol::Dialect;
use weir_types::{ResourceLocator, TypeUrl, WILDCARD};
use weir_upstream::client::{Applied, Client, Event};
use weir_upstream::{Naming, Settings};

use self::held::{Change, Held};
use self::show::{Format, Show};
use crate::inputs::{NodeArgs, Pair, parameters, resource_name, resource_type};
use crate::output::{MISSING, note};

/// How much longer than for a single resource is waited for an answer at all.
const MARGIN: Duration = Duration::from_secs(1);

/// Subscribe like a client and show what comes
///
/// With --param the subscription is by resource locators, else by plain names, as Envoy's is. Without a name it
/// is to everything that the server sends for the wildcard.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  weir get cds --server 127.0.0.1:18000
  weir get eds backend --server 127.0.0.1:18000 --param env=test --output yaml
  weir get lds --server 127.0.0.1:18000 --node-metadata env=test --watch

YAML and JSON have the form of a resource file, so that what a server sends can be served from files.
Exits with 2 if the server does not have a resource that was named.")]
pub(crate) struct Args {
    /// The resource type: cds, eds, lds, rds, srds, vhds, sds, rtds, ecds, leds, or a type URL
    #[arg(value_name = "TYPE", value_parser = resource_type)]
    type_url: TypeUrl,
    /// The names of the resources, or of glob collections (xdstp://…/*); none is the wildcard
    #[arg(value_name = "NAME", value_parser = resource_name)]
    names: Vec<String>,
    /// The server: HOST:PORT or http://HOST:PORT
    #[arg(long, short, value_name = "ADDR", env = "WEIR_SERVER")]
    server: String,
    /// A dynamic parameter to send; may be repeated
    #[arg(long = "param", short, value_name = "KEY=VALUE")]
    parameters: Vec<Pair>,
    /// How to speak
    #[arg(long, value_enum, default_value_t = Protocol::Delta)]
    protocol: Protocol,
    /// How to show what comes
    #[arg(long, short, value_enum, default_value_t = Format::Table)]
    output: Format,
    /// Keep on showing changes
    #[arg(long, short)]
    watch: bool,
    /// How long to wait for the answer
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = weir_config::parse_duration)]
    timeout: Duration,
    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Protocol {
    /// Incremental
    Delta,
    /// State of the world
    Sotw,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let settings = args.settings()?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("start the runtime")?;
    let missing = runtime.block_on(async { Get::start(args, settings).run().await })?;
    Ok(if missing { ExitCode::from(MISSING) } else { ExitCode::SUCCESS })
}

impl Args {
    fn settings(&self) -> Result<Settings> {
        let server =
            if self.server.contains("://") { self.server.clone() } else { format!("http://{}", self.server) };
        let node = self.node.node()?;
        let naming = if self.parameters.is_empty() {
            Naming::Streams { keys: [].into(), node: literal::template(node) }
        } else {
            Naming::Native { node }
        };
        let dialect = match self.protocol {
            Protocol::Delta => Dialect::Delta,
            Protocol::Sotw => Dialect::Sotw,
        };
        let defaults = Settings::new("", vec![server], naming);
        Ok(Settings { dialect, does_not_exist: self.timeout, connect_timeout: self.timeout, ..defaults })
    }
}

/// A subscription under way.
struct Get<'a> {
    args: &'a Args,
    client: Client,
    held: Held,
    show: Show,
    /// Whether the first answer was shown.
    answered: bool,
    /// By when it has to be there, once there is a connection.
    deadline: Option<Instant>,
}

impl<'a> Get<'a> {
    fn start(args: &'a Args, settings: Settings) -> Self {
        let client = Client::start(settings);
        let wildcard = [WILDCARD.to_owned()];
        let names = if args.names.is_empty() { &wildcard[..] } else { &args.names };
        for name in names {
            client
                .subscribe(&args.type_url, ResourceLocator::new(name.as_str(), parameters(&args.parameters)));
        }
        let show = Show {
            format: args.output,
            type_url: args.type_url.clone(),
            located: !args.parameters.is_empty(),
        };
        Self { args, client, held: Held::new(&args.names), show, answered: false, deadline: None }
    }

    /// Shows the answer and, if they are watched, all changes. Returns whether something named is missing.
    async fn run(mut self) -> Result<bool> {
        loop {
            let event = tokio::select! {
                event = self.client.next() => event,
                () = sleep_until(self.deadline.unwrap_or_else(Instant::now)), if self.is_pressed() => {
                    bail!("{}: no answer within {:?}", self.args.server, self.args.timeout);
                }
            };
            let Some(event) = event else { bail!("{}: the connection has ended", self.args.server) };
            self.handle(event)?;
            if self.answered && !self.args.watch {
                return Ok(self.held.is_missing_some());
            }
        }
    }

    fn handle(&mut self, event: Event) -> Result<()> {
        match event {
            // Resources that do not come are given up after the timeout, counted from the request.
            Event::Connected(_) => self.deadline = Some(Instant::now() + self.args.timeout + MARGIN),
            Event::Disconnected { endpoint, reason } if self.args.watch => {
                note(&format!("{endpoint}: {reason}; trying again"));
            }
            Event::Disconnected { endpoint, reason } => bail!("{endpoint}: {reason}"),
            Event::Applied(Applied { batch, rejected, .. }) => {
                rejected.iter().for_each(|rejected| note(&format!("rejected: {rejected}")));
                let changes = self.held.apply(batch);
                self.show_changes(&changes)?;
            }
            Event::Known(batch) => {
                let changes = self.held.apply(batch);
                self.show_changes(&changes)?;
            }
            Event::InSync(true) if !self.answered => {
                self.answered = true;
                self.show.all(&self.held, &mut io::stdout().lock())?;
            }
            Event::InSync(_) | Event::Held | Event::Released(_) => {}
        }
        Ok(())
    }

    /// Whether there is a deadline for what comes next.
    fn is_pressed(&self) -> bool {
        self.deadline.is_some() && !self.answered
    }

    fn show_changes(&self, changes: &[Change]) -> Result<()> {
        if self.answered {
            self.show.changes(changes, &mut io::stdout().lock())?;
        }
        Ok(())
    }
}
