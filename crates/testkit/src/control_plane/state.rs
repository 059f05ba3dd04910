//! What the control plane publishes, and its record of what happened.

use std::collections::HashMap;
use std::fmt::Write as _;

use hyper::HeaderMap;
use weir_wire::discovery::{DeltaDiscoveryResponse, DiscoveryResponse, Node, ResourceLocator, Status};

use super::load_stats::LoadStream;
use super::manners::Manners;
use crate::client::Dialect;
use crate::resource::Published;

/// Everything that the test may look at.
#[derive(Default)]
pub struct State {
    /// What is published, of all types, in no order.
    pub published: Vec<Published>,
    /// Whether answers are withheld.
    pub paused: bool,
    /// Every stream that there ever was, by number.
    pub streams: Vec<Stream>,
    /// Every request that ever came, in order of arrival.
    pub requests: Vec<Request>,
    /// Every response that was ever sent, in order.
    pub sent: Vec<Sent>,
    /// Every stream of load reports that there ever was, by number.
    pub loads: Vec<LoadStream>,
    /// Whether load reports are left unread.
    pub(super) loads_unread: bool,
    /// Grows with whatever makes something due.
    pub(super) revision: u64,
    pub(super) manners: Manners,
    pub(super) poll_answer: Option<(u16, String)>,
    pub(super) resets: u64,
    pub(super) injected: Vec<Injected>,
    pub(super) beats: Vec<Beat>,
}

/// A stream.
#[derive(Clone, Debug)]
pub struct Stream {
    /// The protocol version on it.
    pub dialect: Dialect,
    /// The path of the method that opened it: `/SERVICE/METHOD`.
    pub path: String,
    /// With which headers; those of polls are not kept.
    pub headers: HeaderMap,
    /// Who opened it; known from the first request on.
    pub node: Option<Node>,
    /// Whether it is still there.
    pub open: bool,
    /// Up to which revision everything that is due on it was sent; none while a request is being answered.
    pub(super) up_to: Option<u64>,
}

/// A response that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// On which stream.
    pub stream: usize,
    /// Of which type.
    pub type_url: String,
    /// With which nonce.
    pub nonce: String,
    /// After how many requests, on all streams.
    pub after: usize,
    /// How many resources it carries.
    pub resources: usize,
}

/// A response of the test's own.
pub(super) enum Injected {
    Sotw(DiscoveryResponse),
    Delta(DeltaDiscoveryResponse),
}

/// A time at which what has a time to live is refreshed.
pub(super) struct Beat {
    pub(super) type_url: String,
    /// Whether by sending it again.
    pub(super) whole: bool,
}

/// A request, in either dialect.
#[derive(Clone, Debug)]
pub struct Request {
    /// On which stream it came.
    pub stream: usize,
    /// The protocol version there.
    pub dialect: Dialect,
    /// The type that it is about.
    pub type_url: String,
    /// All names (SotW), or those that are subscribed (delta).
    pub names: Vec<String>,
    /// All locators (SotW), or those that are subscribed (delta).
    pub locators: Vec<ResourceLocator>,
    /// Delta only.
    pub unsubscribed: Vec<String>,
    /// Delta only.
    pub unsubscribed_locators: Vec<ResourceLocator>,
    /// Which response it answers; empty if none.
    pub nonce: String,
    /// SotW only: the last accepted version.
    pub version: String,
    /// Delta only: what the client states that it has.
    pub initial_versions: HashMap<String, String>,
    /// The node, if the request carries it.
    pub node: Option<Node>,
    /// The size of the encoded node.
    pub node_bytes: usize,
    /// Why a response was rejected.
    pub error: Option<Status>,
}

impl Stream {
    /// Whether it is the polls of a client, between which nothing is open.
    fn is_polls(&self) -> bool {
        self.path.starts_with(super::rest::PREFIX)
    }
}

impl Request {
    /// Whether it ACKs this response.
    pub fn acknowledges(&self, sent: &Sent) -> bool {
        self.answers(sent) && self.error.is_none()
    }

    /// Whether it NACKs this response.
    pub fn rejects(&self, sent: &Sent) -> bool {
        self.answers(sent) && self.error.is_some()
    }

    fn answers(&self, sent: &Sent) -> bool {
        (self.stream, &self.type_url, &self.nonce) == (sent.stream, &sent.type_url, &sent.nonce)
    }

    /// Whether it names `name`, plainly or by locator.
    pub fn asks_for(&self, name: &str) -> bool {
        self.names.iter().any(|n| n == name) || self.locators.iter().any(|l| l.name == name)
    }
}

impl State {
    /// The streams that are open, with their numbers.
    pub fn open_streams(&self) -> impl Iterator<Item = (usize, &Stream)> {
        self.streams.iter().enumerate().filter(|(_, stream)| stream.open)
    }

    /// Whether nothing is left to be sent on any open stream.
    pub(super) fn has_sent_everything(&self) -> bool {
        self.open_streams().all(|(_, stream)| stream.up_to == Some(self.revision))
    }

    /// Whether the newest response of a type is acknowledged on each stream that it was sent on and that is there.
    pub(super) fn is_acknowledged(&self, type_url: &str) -> bool {
        let newest = |stream: usize| {
            let mut sent = self.sent.iter().rev();
            sent.find(|sent| (sent.stream, &*sent.type_url) == (stream, type_url))
        };
        let there = self.streams.iter().enumerate().filter(|(_, stream)| stream.open || stream.is_polls());
        let mut newest = there.filter_map(|(stream, _)| newest(stream)).peekable();
        let acknowledged = |sent: &Sent| self.requests.iter().any(|request| request.acknowledges(sent));
        newest.peek().is_some() && newest.all(acknowledged)
    }

    /// The requests about a type, in order of arrival.
    pub fn requests_for<'a>(&'a self, type_url: &'a str) -> impl Iterator<Item = &'a Request> {
        self.requests.iter().filter(move |request| request.type_url == type_url)
    }

    /// The last requests and responses, a line each.
    pub fn describe(&self) -> String {
        let mut text = format!("{} streams, {} open\n", self.streams.len(), self.open_streams().count());
        let first = self.requests.len().saturating_sub(60);
        for (i, request) in self.requests.iter().enumerate().skip(first) {
            for sent in self.sent.iter().filter(|sent| sent.after == i) {
                let Sent { stream, nonce, resources, .. } = sent;
                let _ =
                    writeln!(text, "< {stream} {} n={nonce} resources={resources}", short(&sent.type_url));
            }
            request.describe(&mut text);
        }
        for sent in self.sent.iter().filter(|sent| sent.after >= self.requests.len()) {
            let _ = writeln!(text, "< {} {} n={}", sent.stream, short(&sent.type_url), sent.nonce);
        }
        text
    }
}

impl Request {
    fn describe(&self, text: &mut String) {
        let Self { stream, type_url, names, locators, nonce, version, .. } = self;
        let _ = write!(text, "> {stream} {} n={nonce} v={version} names={names:?}", short(type_url));
        let _ = write!(text, " locators={locators:?} unsub={:?}", self.unsubscribed);
        let _ = write!(text, " unlocate={:?} has={:?}", self.unsubscribed_locators, self.initial_versions);
        let nack = self.error.as_ref().map(|error| format!(" NACK {:?}", error.message));
        let _ = writeln!(text, "{}", nack.unwrap_or_default());
    }
}

fn short(type_url: &str) -> &str {
    type_url.rsplit('.').next().unwrap_or_default()
}
