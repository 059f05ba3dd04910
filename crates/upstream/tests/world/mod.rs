//! A database with its upstreams running, and views of it to look at.
#![allow(dead_code, reason = "every test binary uses a part of it")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use weir_database::{Database, Diff, Query, Refresh, RemovalDelivery, Shape, ViewHandle, ViewListener};
use weir_protocol::Dialect;
use weir_testkit::wait::{until, within};
use weir_testkit::{FakeControlPlane, Published};
use weir_types::{Cursor, DynamicParameters, Selector, SubscriptionChange, TypeUrl, Variant};
use weir_upstream::{Backoff, Change, LoadRelay, Naming, NodeTemplate, Settings, Source, Status};
use weir_wire::discovery::Node;

/// A control plane that is sent parameters by streams for each set of `keys`.
pub(crate) fn streams(upstream: &FakeControlPlane, dialect: Dialect, keys: &[&str]) -> Settings {
    let keys: Arc<[Arc<str>]> = keys.iter().map(|key| Arc::from(*key)).collect();
    let node = NodeTemplate::usual(&node(), &keys);
    settings(upstream, dialect, Naming::Streams { keys, node })
}

/// A control plane that supports TP2.
pub(crate) fn native(upstream: &FakeControlPlane, dialect: Dialect) -> Settings {
    settings(upstream, dialect, Naming::Native { node: node() })
}

fn node() -> Node {
    Node { id: "weir-1".into(), ..Node::default() }
}

fn settings(upstream: &FakeControlPlane, dialect: Dialect, naming: Naming) -> Settings {
    let backoff = Backoff { base: Duration::from_millis(20), max: Duration::from_millis(50) };
    Settings { dialect, backoff, ..Settings::new("", vec![upstream.uri()], naming) }
}

/// The text of a published resource, as far as the tests give it one.
pub(crate) fn text(resource: &Published) -> String {
    body_text(resource.body.as_deref().unwrap_or_default())
}

/// The text is the last field of the body, which is the last field of its `Any`.
fn body_text(any: &[u8]) -> String {
    let (_, value) = weir_wire::resource::open_any(any).expect("an Any");
    let last = weir_wire::scan::fields(value).last().expect("a field").expect("well formed");
    last.text().expect("a text").to_owned()
}

pub(crate) struct World {
    pub(crate) database: Database,
    pub(crate) status: Status,
    changes: mpsc::UnboundedSender<Change>,
    stop: Option<oneshot::Sender<()>>,
    running: JoinHandle<Result<(), weir_upstream::Error>>,
}

impl World {
    pub(crate) fn start(upstreams: Vec<Settings>) -> Self {
        let settings = weir_database::Settings { idle: Duration::ZERO, ..weir_database::Settings::default() };
        let (database, status) = (Database::new(settings), Status::default());
        let (stop, stopped) = oneshot::channel();
        let sources =
            upstreams.into_iter().map(|settings| Source::ControlPlane(Box::new(settings))).collect();
        let shutdown = async { drop(stopped.await) };
        let (changes, changed) = mpsc::unbounded_channel();
        let running = weir_upstream::run(
            database.clone(),
            sources,
            changed,
            status.clone(),
            LoadRelay::default(),
            shutdown,
        );
        Self { database, status, changes, stop: Some(stop), running: tokio::spawn(running) }
    }

    /// Whether every stream has answered everything.
    pub(crate) fn is_in_sync(&self) -> bool {
        self.status.streams().iter().all(|stream| stream.is_connected() && stream.in_sync)
    }

    /// Has the sources change.
    pub(crate) fn change(&self, change: Change) {
        self.changes.send(change).expect("the upstreams are served");
    }

    pub(crate) async fn stop(&mut self) -> Result<(), weir_upstream::Error> {
        drop(self.stop.take());
        within("the end", &mut self.running).await.expect("no panic")
    }

    /// A subscriber to these `name{key=value,…}`.
    pub(crate) fn view(&self, short: &str, locators: &[&str]) -> View {
        self.view_of(&TypeUrl::from_short_name(short).expect("a known type"), locators)
    }

    /// As [`Self::view`], of any type.
    pub(crate) fn view_of(&self, type_url: &TypeUrl, locators: &[&str]) -> View {
        let selectors: Vec<_> = locators.iter().map(|text| selector(text)).collect();
        let (changes, seen) = watch::channel(());
        let subscriber = Arc::new(Waker(changes));
        let attachment = self
            .database
            .attach(type_url, SubscriptionChange::adding(&selectors), subscriber)
            .expect("not refused");
        View { attachment, changes: seen }
    }

    pub(crate) async fn until(&self, what: &str, mut is: impl FnMut(&Self) -> bool) {
        until(what, || std::future::ready(is(self).then_some(()))).await;
    }
}

fn selector(text: &str) -> Selector {
    let (name, parameters) = text.split_once('{').unwrap_or((text, ""));
    let pairs = parameters.trim_end_matches('}').split(',').filter_map(|pair| pair.split_once('='));
    Selector::located(name, pairs.collect::<DynamicParameters>())
}

struct Waker(watch::Sender<()>);

impl ViewListener for Waker {
    fn wake(&self) {
        self.0.send_replace(());
    }
}

pub(crate) struct View {
    attachment: ViewHandle,
    changes: watch::Receiver<()>,
}

impl View {
    fn diff(&self, after: Cursor, shape: Shape) -> Diff {
        let owed = BTreeSet::new();
        let refresh = Refresh::None;
        let query = Query {
            after,
            shape,
            removals: RemovalDelivery::Now,
            resend: &owed,
            pending_errors: &owed,
            known: None,
            refresh,
            at: None,
            sends_unavailable: true,
            marks_missing: false,
        };
        self.attachment.diff(&query)
    }

    fn variants(&self) -> Vec<Arc<Variant>> {
        let shown = self.diff(Cursor::default(), Shape::Everything).resources;
        shown.into_iter().map(|(variant, _)| variant).collect()
    }

    pub(crate) fn shown(&self) -> Vec<(String, String)> {
        let shown = self.variants().into_iter().map(|variant| {
            (variant.name().to_string(), body_text(variant.content().body.as_deref().unwrap_or_default()))
        });
        shown.collect()
    }

    /// What it shows now.
    #[track_caller]
    pub(crate) fn shows(&self, wanted: &[(&str, &str)]) {
        assert_eq!(self.shown(), owned(wanted));
    }

    pub(crate) async fn until_shows(&self, wanted: &[(&str, &str)]) {
        let mut changes = self.changes.clone();
        let reached = async {
            while self.shown() != owned(wanted) {
                changes.changed().await.expect("the view is attached");
            }
        };
        within(format!("a view of {wanted:?}, not {:?}", self.shown()), reached).await;
    }

    /// Up to where it goes now.
    pub(crate) fn head(&self) -> Cursor {
        let to = self.diff(Cursor::default(), Shape::Everything).to;
        Cursor { additions: to, removals: to }
    }

    /// The names of what is sent to those who have been sent changes up to there.
    pub(crate) fn changed_since(&self, after: Cursor) -> Vec<String> {
        let changed = self.diff(after, Shape::Changes).resources;
        changed.into_iter().map(|(variant, _)| variant.name().to_string()).collect()
    }

    /// Whether everything is answered.
    pub(crate) fn is_settled(&self) -> bool {
        self.attachment.unsettled() == weir_database::Unsettled::default()
    }

    /// Whether anything is unavailable.
    pub(crate) fn is_away(&self) -> bool {
        self.attachment.unsettled().unavailable != weir_database::UnavailableCounts::default()
    }

    pub(crate) fn constraints_of(&self, name: &str) -> String {
        let variants = self.variants();
        let variant = variants.iter().find(|variant| &**variant.name() == name).expect("it is shown");
        variant.key().constraints.to_string()
    }
}

fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}
