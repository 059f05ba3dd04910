//! Being a client of a server: what `weir get` and `weir export` have in common.

mod held;
pub(crate) mod literal;

use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::time::{Instant, sleep_until};
use weir_protocol::Dialect;
use weir_types::{Absence, Batch, DynamicParameters, Name, ResourceLocator, TypeUrl};
use weir_upstream::client::{Applied, Client, Event, Reported};
use weir_upstream::{Naming, Settings};

pub(crate) use self::held::{Change, Held};
use crate::inputs::{NodeArgs, Pair, parameters, resource_name};
use crate::output::note;
use crate::progress::Progress;
use crate::trust::{Hint, TrustArgs};

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
    names: Vec<Name>,
    /// The server: HOST:PORT, http://HOST:PORT or https://HOST:PORT
    #[arg(long, short, value_name = "ADDR", env = "WEIR_SERVER")]
    server: String,
    /// A dynamic parameter to send; may be repeated
    #[arg(long = "param", short, value_name = "KEY=VALUE")]
    parameters: Vec<Pair>,
    /// Protocol to use
    #[arg(long, value_enum, default_value_t = Protocol::Delta)]
    protocol: Protocol,
    /// Keep watching for changes
    #[arg(long, short)]
    watch: bool,
    /// How long to wait for the answer
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = weir_config::parse_duration)]
    timeout: Duration,
    #[command(flatten)]
    node: NodeArgs,
    #[command(flatten)]
    trust: TrustArgs,
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
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("start the runtime")?;
        let wanted = Wanted {
            type_url: &self.type_url,
            names: &self.names,
            parameters: parameters(&self.parameters),
            server: &self.server,
            timeout: self.timeout,
            watch: self.watch,
            hint: self.trust.hint(self.address().starts_with("https://")),
        };
        let held = runtime.block_on(async { follow(wanted, Client::start(self.settings()?), sink).await })?;
        Ok(held.is_missing_some())
    }

    /// As a URL.
    fn address(&self) -> String {
        let scheme = if self.trust.uses_tls() { "https" } else { "http" };
        let server = &self.server;
        if server.contains("://") { server.clone() } else { format!("{scheme}://{server}") }
    }

    /// To be called in a tokio runtime.
    fn settings(&self) -> Result<Settings> {
        let server = self.address();
        let tls = self.trust.tls(server.starts_with("https://"), "h2")?;
        let credentials = self.trust.credentials()?;
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
        let (does_not_exist, connect_timeout) = (self.timeout, self.timeout);
        Ok(Settings { dialect, does_not_exist, connect_timeout, tls, credentials, ..defaults })
    }
}

/// What a client subscribes to.
pub(crate) struct Wanted<'a> {
    pub(crate) type_url: &'a TypeUrl,
    /// None are the wildcard.
    pub(crate) names: &'a [Name],
    pub(crate) parameters: DynamicParameters,
    /// Who is asked, to people.
    pub(crate) server: &'a str,
    /// How long to wait for the answer.
    pub(crate) timeout: Duration,
    /// Whether to go on with changes.
    pub(crate) watch: bool,
    /// What may be behind a connection that ends.
    pub(crate) hint: Hint<'a>,
}

/// Subscribes, and gives `sink` the answer and, if they are watched, all changes. Returns what is held at the end.
///
/// # Errors
/// When there is no answer, or the sink fails.
pub(crate) async fn follow(wanted: Wanted<'_>, client: Client, sink: &mut dyn Sink) -> Result<Held> {
    Subscription::start(wanted, client, sink).run().await
}

/// A subscription under way.
struct Subscription<'a> {
    wanted: Wanted<'a>,
    client: Client,
    held: Held,
    sink: &'a mut dyn Sink,
    /// Whether the first answer is complete.
    answered: bool,
    /// By when it has to be there, once there is a connection.
    deadline: Option<Instant>,
    /// How much of the first answer is there.
    progress: Option<Progress>,
}

impl<'a> Subscription<'a> {
    fn start(wanted: Wanted<'a>, client: Client, sink: &'a mut dyn Sink) -> Self {
        let names =
            if wanted.names.is_empty() { std::slice::from_ref(Name::wildcard()) } else { wanted.names };
        for name in names {
            let locator = ResourceLocator::new(name, wanted.parameters.clone());
            client.subscribe(wanted.type_url, locator);
        }
        let held = Held::new(wanted.names);
        let progress = Some(Progress::new("resources", wanted.names.len()));
        Self { wanted, client, held, sink, answered: false, deadline: None, progress }
    }

    /// Goes on until the answer is complete, or for as long as there are changes to watch.
    async fn run(mut self) -> Result<Held> {
        loop {
            let event = tokio::select! {
                event = self.client.next() => event,
                () = sleep_until(self.deadline.unwrap_or_else(Instant::now)), if self.is_pressed() => {
                    bail!("{}: no answer within {:?}", self.wanted.server, self.wanted.timeout);
                }
            };
            let Some(event) = event else { bail!("{}: the connection has ended", self.wanted.server) };
            if let Event::Disconnected { endpoint, .. } = &event
                && self.wanted.hint.is_admin(endpoint).await
            {
                bail!(
                    "{endpoint}: this is the admin interface of a Weir; --server is the address where clients connect, \
                     [downstream] listen in the configuration"
                );
            }
            self.handle(event)?;
            if self.answered && !self.wanted.watch {
                return Ok(self.held);
            }
        }
    }

    fn handle(&mut self, event: Event) -> Result<()> {
        match event {
            // Resources that do not come are given up after the timeout, counted from the request.
            Event::Connected => self.deadline = Some(Instant::now() + self.wanted.timeout + MARGIN),
            Event::Disconnected { endpoint, reason } if self.wanted.watch => {
                note(&format!("{endpoint}: {reason}; trying again"));
            }
            Event::Disconnected { endpoint, reason } => {
                bail!("{endpoint}: {reason}{}", self.wanted.hint.of(&reason))
            }
            Event::Applied(Applied { batch, rejected, errors, .. }) => {
                rejected.iter().for_each(|rejected| note(&format!("rejected: {rejected}")));
                for Reported { key, code, message } in errors {
                    note(&format!("{}: {code}: {message}", key.name));
                }
                let changes = self.held.apply(batch);
                if let Some(progress) = &mut self.progress {
                    progress.set(self.held.variants().len(), self.wanted.names.len());
                }
                self.send(&changes)?;
            }
            Event::Known(batch) if !self.answered && is_silence(&batch) => {
                bail!("{}: no answer within {:?}", self.wanted.server, self.wanted.timeout);
            }
            Event::Known(batch) => {
                let changes = self.held.apply(batch);
                self.send(&changes)?;
            }
            Event::InSync(true) if !self.answered => {
                self.answered = true;
                self.progress = None;
                self.sink.all(&self.held)?;
            }
            Event::InSync(_) => {}
        }
        Ok(())
    }

    /// Whether there is a deadline for what comes next.
    fn is_pressed(&self) -> bool {
        self.deadline.is_some() && !self.answered
    }

    fn send(&mut self, changes: &[Change]) -> Result<()> {
        if self.answered && !changes.is_empty() {
            self.sink.changes(&self.held, changes)?;
        }
        Ok(())
    }
}

/// Whether the server has not answered the wildcard in time.
fn is_silence(batch: &Batch) -> bool {
    let timed_out = batch.answered.iter().filter(|answered| answered.absence == Absence::TimedOut);
    timed_out.into_iter().any(|answered| answered.collection.as_ref() == Some(Name::wildcard()))
}
