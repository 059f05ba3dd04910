//! Being a client of a server: what `weir get` and `weir export` have in common.

mod held;
mod literal;

use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::time::{Instant, sleep_until};
use weir_protocol::Dialect;
use weir_types::{ResourceLocator, TypeUrl, WILDCARD};
use weir_upstream::client::{Applied, Client, Event, Reported};
use weir_upstream::{Naming, Settings};

pub(crate) use self::held::{Change, Held};
use crate::inputs::{NodeArgs, Pair, parameters, resource_name};
use crate::output::note;

/// How much longer than for a single resource is waited for an answer at all.
const MARGIN: Duration = Duration::from_secs(1);

/// What to ask for, where, and as whom.
#[derive(Debug, clap::Args)]
pub(crate) struct SubscriptionArgs {
    /// The resource type: cds, eds, lds, rds, srds, vhds, sds, rtds, ecds, leds, or a type URL
    #[arg(value_name = "TYPE")]
    pub(crate) type_url: TypeUrl,
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
    /// Go on with changes
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

/// What is done with what comes.
pub(crate) trait Sink {
    /// The first answer is complete.
    fn all(&mut self, held: &Held) -> Result<()>;

    /// Something is different than it was.
    fn changes(&mut self, held: &Held, changes: &[Change]) -> Result<()>;
}

impl SubscriptionArgs {
    /// Whether the subscription is by locators.
    pub(crate) fn is_located(&self) -> bool {
        !self.parameters.is_empty()
    }

    /// Subscribes, and gives `sink` the answer and, if they are watched, all changes. Returns whether
    /// something that was named is missing.
    pub(crate) fn run(&self, sink: &mut dyn Sink) -> Result<bool> {
        let settings = self.settings()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("start the runtime")?;
        runtime.block_on(async { Subscription::start(self, settings, sink).run().await })
    }

    fn settings(&self) -> Result<Settings> {
        let server =
            if self.server.contains("://") { self.server.clone() } else { format!("http://{}", self.server) };
        let node = self.node.node()?;
        let naming = if !self.is_located() {
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
struct Subscription<'a> {
    args: &'a SubscriptionArgs,
    client: Client,
    held: Held,
    sink: &'a mut dyn Sink,
    /// Whether the first answer is complete.
    answered: bool,
    /// By when it has to be there, once there is a connection.
    deadline: Option<Instant>,
}

impl<'a> Subscription<'a> {
    fn start(args: &'a SubscriptionArgs, settings: Settings, sink: &'a mut dyn Sink) -> Self {
        let client = Client::start(settings);
        let wildcard = [WILDCARD.to_owned()];
        let names = if args.names.is_empty() { &wildcard[..] } else { &args.names };
        for name in names {
            client
                .subscribe(&args.type_url, ResourceLocator::new(name.as_str(), parameters(&args.parameters)));
        }
        Self { args, client, held: Held::new(&args.names), sink, answered: false, deadline: None }
    }

    /// Goes on until the answer is complete, or for as long as there are changes to watch.
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
            Event::Connected { .. } => self.deadline = Some(Instant::now() + self.args.timeout + MARGIN),
            Event::Disconnected { endpoint, reason } if self.args.watch => {
                note(&format!("{endpoint}: {reason}; trying again"));
            }
            Event::Disconnected { endpoint, reason } => bail!("{endpoint}: {reason}"),
            Event::Applied(Applied { batch, rejected, errors, .. }, _) => {
                rejected.iter().for_each(|rejected| note(&format!("rejected: {rejected}")));
                for Reported { key, code, message } in errors {
                    note(&format!("{}: {code}: {message}", key.name));
                }
                let changes = self.held.apply(batch);
                self.tell(&changes)?;
            }
            Event::Known(batch) | Event::Remembered(batch) => {
                let changes = self.held.apply(batch);
                self.tell(&changes)?;
            }
            Event::InSync(true) if !self.answered => {
                self.answered = true;
                self.sink.all(&self.held)?;
            }
            Event::InSync(_)
            | Event::Held
            | Event::Released(_)
            | Event::Unfit { .. }
            | Event::Shrink(_)
            | Event::Unconfirmed(..)
            | Event::Debounced(_) => {}
        }
        Ok(())
    }

    /// Whether there is a deadline for what comes next.
    fn is_pressed(&self) -> bool {
        self.deadline.is_some() && !self.answered
    }

    fn tell(&mut self, changes: &[Change]) -> Result<()> {
        if self.answered && !changes.is_empty() {
            self.sink.changes(&self.held, changes)?;
        }
        Ok(())
    }
}
