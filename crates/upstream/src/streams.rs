//! The streams to one control plane.
//!
//! Owns which parameter sets have streams, and how often each thing is wanted: several locators may be one to a
//! control plane that distinguishes clients by a few keys only.

mod set;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tokio::sync::{Notify, mpsc, watch};
use tokio::task::{JoinError, JoinSet};
use weir_database::{Database, DemandChange};
use weir_protocol::client::{self, UpstreamSession};
use weir_types::{DynamicParameters, Form, ResourceLocator, TypeUrl};

use self::set::StreamSet;
use crate::assignment::{Lane, Role};
use crate::codec::Writer;
use crate::connections::Connections;
use crate::contact::Contact;
use crate::driver::{Archive, DatabaseSink, Destinations, Driver, StreamName};
use crate::metrics::Metrics;
use crate::node::introduce;
use crate::prefetch::Prefetcher;
use crate::propagation::Propagation;
use crate::refusal::refuse;
use crate::status::Status;
use crate::stream::{Command, UpstreamStream};
use crate::{Naming, Settings};

/// All streams to one control plane.
pub(crate) struct Streams {
    context: Context,
    sets: HashMap<DynamicParameters, StreamSet>,
    /// Types, by their short names, without a service that could carry them, of which that was logged.
    unserved: HashSet<&'static str>,
    /// What there is before there are streams.
    contact: Option<Contact>,
}

/// What it takes to start a stream.
struct Context {
    database: Database,
    settings: Arc<Settings>,
    status: Status,
    metrics: Metrics,
    tasks: JoinSet<()>,
    /// Notified when a stream is open, or could not be opened.
    tried: Arc<Notify>,
    /// What its streams connect by.
    connections: Arc<Connections>,
}

// === impl Streams ===

impl Streams {
    pub(crate) fn new(database: Database, settings: Arc<Settings>, status: Status) -> Self {
        let metrics = Metrics::new(&settings.authority, settings.speech());
        let (tasks, tried, connections) = Default::default();
        let context = Context { database, settings, status, metrics, tasks, tried, connections };
        Self { context, sets: HashMap::new(), unserved: HashSet::new(), contact: None }
    }

    /// Follows `demand`, by the newest `settings`, until it is closed, then closes all streams.
    pub(crate) async fn run(
        mut self,
        mut demand: mpsc::UnboundedReceiver<DemandChange>,
        mut settings: watch::Receiver<Arc<Settings>>,
    ) {
        let first = Arc::clone(&self.context.settings);
        let Settings { authority, prefetch, .. } = &*first;
        let mut prefetcher = Prefetcher::new(self.context.database.clone(), authority, prefetch);
        if prefetch.is_empty() {
            self.keep_contact();
        }
        let mut stored = std::pin::pin!(self.context.stored());
        let mut looked = false;
        loop {
            self.context.status.prefetched(authority, prefetcher.take_note());
            tokio::select! {
                stored = &mut stored, if !looked => {
                    looked = true;
                    self.context.status.stored(authority, stored);
                }
                () = prefetcher.changed() => {}
                () = self.context.tried.notified() => self.contact = None,
                change = demand.recv() => match change {
                    Some(DemandChange::Wanted(type_url, locator)) => self.want(type_url, locator).await,
                    Some(DemandChange::Renewed(type_url, locator)) => self.renew(type_url, &locator),
                    Some(DemandChange::Dropped(type_url, locator)) => self.give_up(&type_url, &locator),
                    None => break,
                },
                Ok(()) = settings.changed() => {
                    let settings = Arc::clone(&settings.borrow_and_update());
                    if settings.prefetch != self.context.settings.prefetch {
                        prefetcher.replace(&settings.prefetch);
                    }
                    self.apply_settings(settings);
                }
                Some(ended) = self.context.tasks.join_next() => self.context.note_end(ended),
            }
        }
        self.sets.clear();
        while let Some(ended) = self.context.tasks.join_next().await {
            self.context.note_end(ended);
        }
    }

    /// Goes by other settings of the same control plane: every stream is opened anew, and what it holds stays.
    fn apply_settings(&mut self, settings: Arc<Settings>) {
        let streams = || self.sets.values().flat_map(|set| set.streams.values());
        tracing::info!(
            authority = settings.authority,
            streams = streams().count(),
            "upstream settings changed"
        );
        for stream in streams() {
            _ = stream.send(Command::Adjust(Arc::clone(&settings)));
        }
        self.context.settings = settings;
        if self.contact.take().is_some() {
            self.keep_contact();
        }
    }

    /// Stays in touch with the control plane though nothing is wanted of it.
    fn keep_contact(&mut self) {
        let Context { settings, status, .. } = &self.context;
        self.contact =
            Some(Contact::start(Arc::clone(settings), status.register_contact(&settings.authority)));
    }

    async fn want(&mut self, type_url: TypeUrl, locator: ResourceLocator) {
        let settings = &self.context.settings;
        if settings.method(&settings.lane(Role::Primary, &type_url)).is_none() {
            return self.refuse(type_url, &locator);
        }
        if settings.forwards() && locator.parameters.node().is_none() {
            let message =
                "the control plane goes by the node or the certificate of a client, and nobody who asks is one"
                    .to_owned();
            return refuse(&self.context.database, type_url, &locator, message);
        }
        let (set, addressed) = self.addressed(&locator);
        let context = &mut self.context;
        let set = self.sets.entry(set).or_insert_with_key(|parameters| StreamSet::new(parameters.clone()));
        set.want(type_url, addressed, locator.parameters, context).await;
    }

    fn renew(&mut self, type_url: TypeUrl, locator: &ResourceLocator) {
        let (key, locator) = self.addressed(locator);
        if let Some(set) = self.sets.get(&key) {
            set.renew(type_url, locator, &self.context.settings);
        }
    }

    fn give_up(&mut self, type_url: &TypeUrl, locator: &ResourceLocator) {
        let (key, locator) = self.addressed(locator);
        if let Some(set) = self.sets.get_mut(&key) {
            set.give_up(type_url, locator, &self.context.settings);
            if set.wanted.is_empty() {
                if self.sets.len() == 1 {
                    self.keep_contact();
                }
                self.sets.remove(&key);
            }
        }
    }

    /// The control plane cannot be asked for this type, so nobody has to wait for it.
    fn refuse(&mut self, type_url: TypeUrl, locator: &ResourceLocator) {
        let Settings { authority, dialect, transport, .. } = &*self.context.settings;
        if self.unserved.insert(type_url.short_name()) {
            let transport = transport.as_str();
            tracing::warn!(authority, %type_url, %dialect, transport, "no service of its own carries this type");
        }
        let message = format!("the control plane has no service that carries {}", type_url.short_name());
        refuse(&self.context.database, type_url, locator, message);
    }

    /// The set of streams that a locator belongs to, and what it is called there.
    fn addressed(&self, locator: &ResourceLocator) -> (DynamicParameters, ResourceLocator) {
        match &self.context.settings.naming {
            Naming::Native { .. } => (DynamicParameters::empty(), locator.clone()),
            Naming::Streams { keys, .. } => {
                let parameters = locator.parameters.projected(keys);
                (parameters.clone(), ResourceLocator::new(locator.name.clone(), parameters))
            }
        }
    }
}

// === impl Context ===

impl Context {
    /// Whether an earlier process has left any resource in the store.
    fn stored(&self) -> impl Future<Output = bool> + use<> {
        let settings = Arc::clone(&self.settings);
        let looking = tokio::task::spawn_blocking(move || {
            settings.store.as_ref().is_some_and(|store| store.holds(&settings.authority))
        });
        async { looking.await.unwrap_or_default() }
    }

    fn start(&mut self, parameters: &DynamicParameters, lane: &Lane) -> mpsc::UnboundedSender<Command> {
        let settings = &self.settings;
        let (commands, receiver) = mpsc::unbounded_channel();
        // Nothing is asked of a lane without a method: what it would carry was refused.
        let Some(mut method) = settings.method(lane) else { return commands };
        if let Some(client) = parameters.node() {
            method.header_values = client.header_values().clone();
        }
        let (naming, form, node, set) = match &settings.naming {
            Naming::Native { node } => (client::Naming::Locators, Form::Located, node.clone(), None),
            Naming::Streams { keys, node } => {
                let naming = client::Naming::names(Arc::clone(keys), parameters);
                (naming, Form::Plain, node.fill(parameters), Some(parameters.clone()))
            }
        };
        let machine = settings.machine(naming);
        let archive =
            settings.store.clone().map(|store| Archive { store, origin: settings.origin(parameters) });
        let status = self.status.register(&settings.authority, set.clone(), lane.clone());
        status.obeys(&commands);
        let name = StreamName { authority: settings.authority.clone(), parameters: set, lane: lane.clone() };
        let propagation =
            Propagation::new(&settings.authority, settings.propagation_deadline, self.status.recent());
        let to = Destinations {
            database: self.database.clone(),
            status,
            tried: Arc::clone(&self.tried),
            archive: archive.clone(),
        };
        let sink = DatabaseSink::new(name, settings, to, self.metrics.clone(), propagation);
        let subscribers_done = sink.subscribers_done();
        let session = UpstreamSession::new(machine);
        let stream = UpstreamStream::new(session, Arc::clone(settings), archive.is_some(), sink);
        let writer = Writer { form, node: introduce(node), node_always: false };
        let connections = Arc::clone(&self.connections);
        let driver =
            Driver { stream, method, writer, commands: receiver, subscribers_done, connections, archive };
        self.tasks.spawn(driver.run());
        commands
    }

    /// A stream ends when there will be no more commands; before that, by a fault of its own alone.
    fn note_end(&self, ended: Result<(), JoinError>) {
        if let Err(error) = ended {
            let authority = &self.settings.authority;
            tracing::error!(authority, %error, "upstream stream task failed; its resources stay");
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_testkit::wait::within;

    use super::*;
    use crate::NodeTemplate;

    fn streams() -> Streams {
        let keys: Arc<[Arc<str>]> = Arc::default();
        let node = NodeTemplate::usual(&weir_wire::discovery::Node::default(), &keys);
        let naming = Naming::Streams { keys, node };
        let settings = Settings::new("shop.example", vec!["http://127.0.0.1:1".to_owned()], naming);
        let database = Database::new(weir_database::Settings::default());
        Streams::new(database, Arc::new(settings), Status::default())
    }

    #[tokio::test]
    async fn names_are_not_waited_for_from_a_stream_that_has_ended() {
        let mut streams = streams();
        let mut set = StreamSet::new(DynamicParameters::empty());
        let (commands, mut stream) = mpsc::unbounded_channel();
        set.streams.insert(Lane::default(), commands);
        let cds = TypeUrl::from_short_name("cds").unwrap();
        // What it is sent while it ends stays unread, and is not dropped before the sender is.
        let ends = async {
            while stream.is_empty() {
                tokio::task::yield_now().await;
            }
            stream.close();
        };
        let displaced = async { tokio::join!(set.displace(&cds, &mut streams.context), ends) };
        within("the names, or that they do not come", displaced).await;
    }

    #[tokio::test]
    async fn a_stream_that_ends_by_a_fault_of_its_own_is_logged() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let subscriber = tracing_subscriber::fmt().with_writer(Arc::new(log.reopen().unwrap())).finish();
        let _subscriber = tracing::subscriber::set_default(subscriber);
        let mut streams = streams();
        let (_settings, settings) = watch::channel(Arc::clone(&streams.context.settings));
        let (demand, changes) = mpsc::unbounded_channel();
        streams.context.tasks.spawn(async { panic!("it cannot be so") });
        let is_logged = async {
            loop {
                let text = std::fs::read_to_string(log.path()).unwrap();
                if text.contains("ERROR") {
                    break text;
                }
                tokio::task::yield_now().await;
            }
        };
        let running = tokio::spawn(streams.run(changes, settings));
        let text = within("an error", is_logged).await;
        assert!(text.contains("shop.example") && text.contains("it cannot be so"), "{text}");
        drop(demand);
        within("the end", running).await.unwrap();
    }
}
