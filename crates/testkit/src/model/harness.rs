//! A server stream joined to a database, with plain values in place of bytes.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use weir_database::{Attachment, Database, Query, Refresh, Removed, Shape, Subscriber};
use weir_protocol::Dialect;
use weir_protocol::server::{Framed, Framer, Nack, Refused, Step, View, Views};
use weir_types::{
    Commit, Constraints, Cursor, Form, Head, Kind, Name, Selector, Subscription, TypeUrl, Variant, Version,
};

use super::{Change, Identity};

/// Whether a stream was woken since it was last polled.
#[derive(Debug, Default)]
pub struct Bell(AtomicBool);

impl Bell {
    /// Whether it rang; it is silent again then.
    pub fn take(&self) -> bool {
        self.0.swap(false, Ordering::AcqRel)
    }
}

impl Subscriber for Bell {
    fn wake(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// An attachment, as the server machine sees it.
pub struct Place(pub Attachment);

impl View for Place {
    fn subscription(&self) -> &Subscription {
        self.0.subscription()
    }

    fn head(&self) -> Head {
        self.0.head()
    }

    fn unsettled(&self) -> (usize, usize) {
        let unsettled = self.0.unsettled();
        (unsettled.names, unsettled.collections)
    }

    fn failing(&self) -> usize {
        self.0.unsettled().failing
    }

    fn unproved(&self) -> usize {
        self.0.unsettled().unproved
    }

    fn under_way(&self) -> usize {
        let unsettled = self.0.unsettled();
        unsettled.names.saturating_sub(unsettled.away.names)
    }

    fn settled_of(&self, names: &[Name]) -> usize {
        self.0.settled_of(names)
    }

    fn present_of(&self, selectors: Vec<Selector>) -> Vec<Selector> {
        self.0.present_of(selectors)
    }

    fn cursor(&self) -> Cursor {
        self.0.cursor()
    }

    fn advance(&mut self, cursor: Cursor) {
        self.0.advance(cursor);
    }

    fn change(&mut self, add: &[Selector], remove: &[Selector]) -> Result<(), Refused> {
        self.0.change(add, remove).map_err(|refusal| Refused::TooMuch(refusal.to_string()))
    }

    fn ask_again(&mut self, again: &[Selector]) -> Result<(), Refused> {
        self.0.ask_again(again).map_err(|refusal| Refused::TooMuch(refusal.to_string()))
    }

    fn answer(&mut self, to: Commit, rejection: Option<&Nack>) {
        self.0.answer(to, rejection.map(|nack| nack.message.as_str()));
    }
}

/// Attaches the logical streams of one stream.
#[derive(Clone)]
pub struct Places {
    /// Where to.
    pub database: Database,
    /// Whom to wake.
    pub bell: Arc<Bell>,
}

impl Views for Places {
    type View = Place;

    fn attach(&mut self, type_url: &TypeUrl, add: &[Selector]) -> Result<Place, Refused> {
        let attached = self.database.attach(type_url, add, Arc::clone(&self.bell) as Arc<dyn Subscriber>);
        attached.map(Place).map_err(|refusal| Refused::TooMuch(refusal.to_string()))
    }
}

/// A resource as a client gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The resource's name.
    pub name: Name,
    /// Its constraints; none when it is sent under its plain name.
    pub constraints: Option<Constraints>,
    /// Its version.
    pub version: String,
    /// Its content; none in a heartbeat, and in the answer that there is no such resource.
    pub body: Option<Bytes>,
    /// Its other names.
    pub aliases: Arc<[Name]>,
    /// What is left of its time to live, for a client that is sent it.
    pub ttl: Option<Duration>,
}

impl Sent {
    fn new(variant: &Variant, form: Form, at: Option<Instant>) -> Self {
        Self {
            name: variant.name().clone(),
            constraints: (form == Form::Located).then(|| variant.key().constraints.clone()),
            version: variant.version(form).to_string(),
            body: variant.content().body.clone(),
            aliases: Arc::clone(&variant.content().aliases),
            ttl: at.and_then(|at| variant.remaining(at)),
        }
    }

    /// The same without content: what the client has lives on.
    #[must_use]
    pub fn heartbeat(self) -> Self {
        Self { body: None, aliases: Arc::default(), ..self }
    }

    /// Whether it is only a heartbeat.
    pub fn is_heartbeat(&self) -> bool {
        self.body.is_none() && self.ttl.is_some()
    }

    /// Whether it answers that there is no such resource.
    pub fn is_missing(&self) -> bool {
        self.body.is_none() && self.ttl.is_none()
    }

    /// What the client identifies it by.
    pub fn identity(&self) -> Identity {
        (self.name.clone(), self.constraints.clone())
    }
}

/// A response, decoded.
#[derive(Clone, Debug)]
pub struct Response {
    /// The type it is about.
    pub type_url: TypeUrl,
    /// What its verdict refers to.
    pub nonce: String,
    /// The version of the whole.
    pub version: Version,
    /// What there is.
    pub resources: Vec<Sent>,
    /// When it was made, for a client that is sent times to live.
    pub at: Option<Instant>,
    /// What is gone: in delta `removed_resources` and `removed_resource_names`, in SotW `resource_errors`.
    pub removed: Vec<Removed>,
    /// Names that are answered by an error as missing. The machine sends none; a simulated origin may.
    pub missing: Vec<Name>,
    /// Whether it carries the whole state.
    pub everything: bool,
    /// Which part of a split one it is, from zero.
    pub part: usize,
}

/// Makes responses of steps. In the middle of one, it may commit a change.
#[derive(Default)]
pub struct Frames<'a> {
    /// To be committed in the middle: before (or else after) the difference is taken.
    pub midway: Option<(&'a Database, &'a Change, bool)>,
    /// Whether that was done.
    pub interrupted: bool,
    /// How many things may be sent in one response, unless they are about one name; none for any number.
    pub limit: Option<usize>,
    /// What time it is, for a client that is sent times to live.
    pub at: Option<Instant>,
}

impl Frames<'_> {
    /// How this client is sent heartbeats.
    fn refresh(&self, step: &Step<'_, Place>) -> Refresh {
        match step.dialect {
            _ if self.at.is_none() => Refresh::Unsaid,
            Dialect::Delta if !step.logical.rejects() => Refresh::Heartbeat,
            _ => Refresh::Whole,
        }
    }

    fn interrupt(&mut self, before: bool) {
        if let Some((database, change, _)) = self.midway.take_if(|(_, _, when)| *when == before) {
            database.commit(change.batch());
            self.interrupted = true;
        }
    }
}

impl Framer<Place> for Frames<'_> {
    type Frame = Response;

    fn frame(&mut self, step: &Step<'_, Place>) -> Framed<Response> {
        let shape = if step.everything { Shape::Everything } else { Shape::Changes };
        self.interrupt(true);
        let diff = step.logical.view().0.diff(&Query {
            hold_removals: step.hold_removals,
            owed: step.owed(),
            unsaid: step.unsaid(),
            known: step.known().map(Arc::as_ref),
            refresh: self.refresh(step),
            at: self.at,
            marks_missing: step.dialect == Dialect::Delta,
            ..Query::new(step.after, shape)
        });
        self.interrupt(false);
        let type_url = step.logical.type_url();
        let goes = !diff.removed.is_empty();
        let something = match shape {
            Shape::Everything => diff.changed,
            Shape::Changes => !diff.resources.is_empty() || !diff.heartbeats.is_empty() || goes,
        };
        let clusters = || diff.resources.iter().filter_map(|(v, _)| v.content().eds_name.clone());
        let warming = (type_url.kind() == Kind::Cluster).then(|| clusters().collect::<HashSet<_>>());
        let new_clusters = (!diff.new_endpoints.is_empty()).then(|| diff.new_endpoints.clone().into());
        let limit = self.limit.filter(|_| !step.everything).unwrap_or(usize::MAX);
        let parts = if something || step.forced { diff.split(limit, |_| 1) } else { Vec::new() };
        let first = step.nonce(diff.to);
        let nonces = std::iter::successors(Some(first), |nonce| Some(nonce.following()));
        let sent = |(variant, form): &(Arc<Variant>, Form)| Sent::new(variant, *form, self.at);
        let mut frames = parts.into_iter().zip(nonces).enumerate().map(|(index, (part, nonce))| Response {
            type_url: type_url.clone(),
            nonce: nonce.to_string(),
            version: diff.version,
            resources: {
                let heartbeats = part.heartbeats.iter().map(sent).map(Sent::heartbeat);
                part.resources.iter().map(sent).chain(heartbeats).collect()
            },
            at: self.at,
            removed: part.removed,
            missing: Vec::new(),
            everything: step.everything,
            part: index,
        });
        let frame = frames.next();
        let rest: Arc<[Response]> = frames.collect();
        let rest = (!rest.is_empty()).then_some(rest);
        let warming = warming.filter(|names| !names.is_empty()).map(Arc::new);
        Framed {
            to: diff.to,
            frame,
            rest,
            version: diff.version,
            refreshes: diff.refreshed || !diff.heartbeats.is_empty(),
            disputed: diff.disputed,
            errs: step.dialect == Dialect::Sotw && goes || !diff.errors.told.is_empty(),
            postponed: diff.errors.postponed.into(),
            waiting: diff.waiting.into(),
            warming,
            new_clusters,
        }
    }
}
