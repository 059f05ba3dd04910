//! A naive client in both dialects: it believes what it is sent, as real ones do.

mod lifetimes;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use weir_database::Removed;
use weir_protocol::Dialect;
use weir_session::{Nack, Names};
use weir_types::{
    Breadth, Constraints, DynamicParameters, Form, Name, ResourceLocator, Selector, TypeUrl, Version,
    WILDCARD,
};

use self::lifetimes::Expired;
use super::messages::{Request, Response, Sent};
use crate::names::is_part_of;

/// What a client identifies resources by: the name, and the constraints if it used locators.
pub type Identity = (Name, Option<Constraints>);

/// A resource that a client has.
#[derive(Clone, Debug)]
pub struct Held {
    /// As it came.
    pub sent: Sent,
    /// Whether it is from an earlier stream, or asked for in a way that has ended, and was not sent since:
    /// it goes when the name is sent as missing, or when another variant of it comes.
    pub doubtful: bool,
    /// Whether it may have been on its way for a name that has since been given up, and stayed since it also
    /// has a name that is asked for.
    pub stray: bool,
    /// When it is dropped, unless it is refreshed.
    pub until: Option<Instant>,
}

/// One type of a client.
#[derive(Debug, Default)]
struct Subscribed {
    wanted: BTreeSet<Selector>,
    /// Nothing was ever named: no names stand for a wildcard, or for nothing.
    unnamed: bool,
    /// Whether the first request of the stream was sent.
    opened: bool,
    nonce: String,
    version: Option<Version>,
    held: BTreeMap<Identity, Held>,
    /// The names that were answered by a resource without a body, and its version. Nothing is held of these.
    missing: BTreeMap<Name, String>,
    /// What was not refreshed in time, and not sent since.
    expired: BTreeMap<Identity, Expired>,
    /// What has to be asked for again.
    lost: BTreeSet<Selector>,
    /// Every name that was ever given up.
    left: BTreeSet<Name>,
}

/// A client with one stream.
#[derive(Debug)]
pub struct Client {
    dialect: Dialect,
    /// What the server takes for the parameters of plain names.
    parameters: DynamicParameters,
    types: BTreeMap<TypeUrl, Subscribed>,
    /// Up to when time has passed, where it does.
    now: Option<Instant>,
}

impl Client {
    /// A client that has asked for nothing yet.
    pub fn new(dialect: Dialect, parameters: DynamicParameters) -> Self {
        Self { dialect, parameters, types: BTreeMap::new(), now: None }
    }

    /// Its dialect.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The parameters of its plain names.
    pub fn parameters(&self) -> &DynamicParameters {
        &self.parameters
    }

    /// What it is subscribed to.
    pub fn wanted(&self, type_url: &TypeUrl) -> BTreeSet<Selector> {
        self.types.get(type_url).map(|t| t.wanted.clone()).unwrap_or_default()
    }

    /// What it has.
    pub fn held(&self, type_url: &TypeUrl) -> BTreeMap<Identity, Held> {
        self.types.get(type_url).map(|t| t.held.clone()).unwrap_or_default()
    }

    /// Whether the type was asked for on this stream.
    pub fn is_open(&self, type_url: &TypeUrl) -> bool {
        self.types.get(type_url).is_some_and(|t| t.opened)
    }

    /// The first request of a type without any name; none if it was asked for already.
    pub fn open(&mut self, type_url: &TypeUrl) -> Option<Request> {
        let parameters = self.parameters.clone();
        let of_type = self.types.entry(type_url.clone()).or_default();
        if of_type.opened {
            return None;
        }
        of_type.unnamed = true;
        if type_url.has_legacy_wildcard() {
            of_type.wanted.insert(Selector::plain(WILDCARD, parameters));
        }
        Some(self.first(type_url, false))
    }

    fn first(&mut self, type_url: &TypeUrl, keep_nonce: bool) -> Request {
        let dialect = self.dialect;
        let of_type = self.types.entry(type_url.clone()).or_default();
        of_type.opened = true;
        if !keep_nonce {
            of_type.nonce.clear();
        }
        let known = of_type.held.values().map(|held| (held.sent.name.clone(), of_type.stated_version(held)));
        let missing = of_type.missing.iter().map(|(name, version)| (name.clone(), version.clone()));
        let known = known.chain(missing).filter(|_| dialect == Dialect::Delta).collect();
        let names = if of_type.unnamed { Vec::new() } else { of_type.wanted.iter().cloned().collect() };
        Request {
            type_url: type_url.clone(),
            nonce: if dialect == Dialect::Sotw { of_type.nonce.clone() } else { String::new() },
            nack: None,
            names: match dialect {
                Dialect::Sotw => Names::Replace(names),
                Dialect::Delta => Names::Patch { subscribe: names, unsubscribe: Vec::new() },
            },
            version: of_type.version.filter(|_| dialect == Dialect::Sotw),
            known,
        }
    }

    /// A request that is not the first: `patch` in delta, the whole list in SotW.
    fn later(&self, type_url: &TypeUrl, subscribe: Vec<Selector>, unsubscribe: Vec<Selector>) -> Request {
        let of_type = &self.types[type_url];
        let list = || of_type.wanted.iter().cloned().collect();
        Request {
            type_url: type_url.clone(),
            nonce: if self.dialect == Dialect::Sotw { of_type.nonce.clone() } else { String::new() },
            nack: None,
            names: match self.dialect {
                Dialect::Sotw => Names::Replace(if of_type.unnamed { Vec::new() } else { list() }),
                Dialect::Delta => Names::Patch { subscribe, unsubscribe },
            },
            version: of_type.version.filter(|_| self.dialect == Dialect::Sotw),
            known: Vec::new(),
        }
    }

    /// Subscribes to more, or (delta) again to what is subscribed already.
    pub fn subscribe(&mut self, type_url: &TypeUrl, selectors: &[Selector]) -> Request {
        let of_type = self.types.entry(type_url.clone()).or_default();
        let mut asked: BTreeSet<Selector> = selectors.iter().cloned().collect();
        asked.extend(of_type.doubted(selectors));
        of_type.wanted.extend(selectors.iter().cloned());
        of_type.unnamed = false;
        match of_type.opened {
            true => self.later(type_url, asked.into_iter().collect(), Vec::new()),
            false => self.first(type_url, false),
        }
    }

    /// Unsubscribes from what is subscribed of `selectors`; none if the protocol cannot state that.
    pub fn unsubscribe(&mut self, type_url: &TypeUrl, selectors: &[Selector]) -> Option<Request> {
        let of_type = self.types.get_mut(type_url).filter(|t| t.opened && !t.unnamed)?;
        let gone: Vec<Selector> = selectors.iter().filter(|s| of_type.wanted.remove(s)).cloned().collect();
        if gone.is_empty() {
            return None;
        }
        of_type.forget_expired();
        gone.iter().for_each(|selector| _ = of_type.missing.remove(&selector.locator.name));
        of_type.left.extend(gone.iter().map(|selector| selector.locator.name.clone()));
        of_type.forget_unwanted(&gone);
        // It stood for what was wanted then.
        of_type.version = None;
        Some(self.later(type_url, Vec::new(), gone))
    }

    /// SotW: sends again what was sent already ("rerequest"). Delta: subscribes again to all that it has.
    pub fn ask_again(&mut self, type_url: &TypeUrl) -> Option<Request> {
        let of_type = self.types.get(type_url).filter(|t| t.opened && !t.unnamed)?;
        let all = of_type.wanted.iter().cloned().collect();
        Some(self.later(type_url, all, Vec::new()))
    }

    /// The first requests on a new stream.
    pub fn reconnect(&mut self, keep_nonce: bool) -> Vec<Request> {
        let mut requests = Vec::new();
        for of_type in self.types.values_mut() {
            of_type.opened = false;
            of_type.expired.clear();
            of_type.lost.clear();
            let names: BTreeSet<Name> = of_type.held.keys().map(|(name, _)| name.clone()).collect();
            for held in of_type.held.values_mut() {
                held.doubtful = true;
                // Nothing in `initial_resource_versions` shows that it was asked for by a name that is taken.
                held.stray |= held.sent.aliases.iter().any(|alias| names.contains(alias));
            }
        }
        let types: Vec<TypeUrl> = self.types.keys().cloned().collect();
        for type_url in types {
            if self.types[&type_url].unnamed || !self.types[&type_url].wanted.is_empty() {
                requests.push(self.first(&type_url, keep_nonce));
            } else {
                self.types.remove(&type_url);
            }
        }
        requests
    }

    /// Takes in a response and gives its verdict. A rejected response counts as taken in: what Envoy does
    /// with the good part of it.
    pub fn receive(&mut self, response: &Response, nack: Option<Nack>) -> Request {
        let (type_url, now) = (response.type_url.clone(), self.now);
        let of_type = self.types.entry(type_url.clone()).or_default();
        of_type.nonce.clone_from(&response.nonce);
        let wanted = |sent| of_type.wanted.iter().any(|selector| asks_for(selector, sent));
        // What was given up meanwhile is left out, though the version stands for it.
        let all = response.resources.iter().filter(|sent| !sent.is_heartbeat()).all(wanted);
        of_type.version = all.then_some(response.version);
        if response.everything {
            of_type.held.clear();
        }
        let answered = response.resources.iter().map(|sent| &sent.name);
        answered.chain(response.removed.iter().map(Removed::name)).for_each(|name| {
            of_type.missing.remove(name);
        });
        for removed in &response.removed {
            of_type.take_out(removed, self.dialect);
        }
        of_type.settle_doubts(response);
        for sent in &response.resources {
            if sent.is_heartbeat() {
                of_type.refresh(sent, response, now);
            } else if sent.is_missing() {
                of_type.missing.insert(sent.name.clone(), sent.version.clone());
            } else if of_type.wanted.iter().any(|selector| asks_for(selector, sent)) {
                let mut names = sent.aliases.iter().chain([&sent.name]);
                let collected = of_type.left.iter().any(|left| is_part_of(&sent.name, left));
                let stray = collected || names.any(|name| of_type.left.contains(name));
                let until = now.zip(sent.ttl).map(|(now, ttl)| now + ttl);
                of_type.expired.remove(&sent.identity());
                of_type
                    .held
                    .insert(sent.identity(), Held { sent: sent.clone(), doubtful: false, stray, until });
            }
        }
        let mut verdict = self.later(&type_url, Vec::new(), Vec::new());
        verdict.nonce.clone_from(&response.nonce);
        verdict.nack = nack;
        verdict
    }
}

/// Whether `selector` asks for a resource that was sent in its form.
fn asks_for(selector: &Selector, sent: &Sent) -> bool {
    let locator = &selector.locator;
    let by_name = || sent.name == locator.name || sent.aliases.contains(&locator.name);
    let for_us = match (&sent.constraints, selector.form) {
        (None, Form::Plain) => true,
        (Some(constraints), Form::Located) => constraints.matches(&locator.parameters),
        _ => false,
    };
    for_us && (is_part_of(&sent.name, &locator.name) || by_name())
}

/// Whether what `narrow` asks for may be part of the collection `wide`: the server decides of which variants.
fn covers(wide: &ResourceLocator, narrow: &ResourceLocator) -> bool {
    wide.breadth() < narrow.breadth() && is_part_of(&narrow.name, &wide.name)
}

impl Subscribed {
    /// What is stated of a held resource on a new stream. Versions are stated by name: a name of which there
    /// may be more than one variant is stated with a version that cannot be.
    fn stated_version(&self, held: &Held) -> String {
        let names = [&held.sent.name].into_iter().chain(&*held.sent.aliases);
        let names: Vec<_> = names.collect();
        let may_ask =
            |s: &&Selector| is_part_of(&held.sent.name, &s.locator.name) || names.contains(&&s.locator.name);
        let asked = self.wanted.iter().filter(may_ask).count();
        match held.sent.constraints.is_some() && asked > 1 {
            true => String::from("several"),
            false => held.sent.version.clone(),
        }
    }

    /// What has to be asked for again before `selectors` are: an answer to those would look like the end of what
    /// is held of the same names from an earlier stream.
    fn doubted(&self, selectors: &[Selector]) -> Vec<Selector> {
        let touched = |held: &&Held| {
            let names = |s: &Selector| {
                is_part_of(&held.sent.name, &s.locator.name) || s.locator.name == held.sent.name
            };
            held.doubtful && held.sent.constraints.is_some() && selectors.iter().any(names)
        };
        let doubted = self.held.values().filter(touched);
        doubted.flat_map(|held| self.wanted.iter().filter(|s| asks_for(s, &held.sent))).cloned().collect()
    }

    fn forget_unwanted(&mut self, gone: &[Selector]) {
        let wanted = &self.wanted;
        let all: Vec<Identity> = self.held.keys().cloned().collect();
        self.held.retain(|identity, held| {
            let mut given_up = gone.iter().filter(|selector| asks_for(selector, &held.sent)).peekable();
            if given_up.peek().is_none() {
                return true;
            }
            let mut asking = wanted.iter().filter(|selector| asks_for(selector, &held.sent)).peekable();
            let kept = asking.peek().is_some();
            let mut asking = asking.map(|selector| &selector.locator);
            let mut still = asking.clone();
            let narrowest = asking.clone().map(ResourceLocator::breadth).max();
            // The server is to state whether the wider collection has it, too.
            let covered = |gone: &Selector| wanted.iter().any(|s| covers(&s.locator, &gone.locator));
            let answered = |gone: &Selector| narrowest < Some(gone.locator.breadth()) && covered(gone);
            held.doubtful |= given_up.any(answered);
            held.stray |= asking.all(|locator| locator.name != held.sent.name && !locator.is_collection());
            // Where variants overlap, another one may be the answer to those who still ask.
            let rivals = |locator: &ResourceLocator| {
                let rival = |(name, constraints): &&Identity| {
                    let matches = constraints.as_ref().is_some_and(|c| c.matches(&locator.parameters));
                    *name == identity.0 && *constraints != identity.1 && matches
                };
                all.iter().any(|other| rival(&other))
            };
            held.stray |= identity.1.is_some() && narrowest.is_some() && still.all(rivals);
            // It may be the collection's answer rather than the name's.
            let collection_gone = gone.iter().any(|s| s.locator.is_collection() && asks_for(s, &held.sent));
            held.stray |= held.sent.constraints.is_some() && collection_gone;
            // Nor is it stated which of what a wildcard brought is not part of a glob that goes on.
            let wildcard_gone = gone.iter().any(|s| s.locator.is_wildcard() && asks_for(s, &held.sent));
            held.stray |= wildcard_gone && narrowest == Some(Breadth::Glob);
            kept
        });
    }

    fn take_out(&mut self, removed: &Removed, dialect: Dialect) {
        match removed {
            // A variant for everybody goes by its name, and state of the world has no other word for a locator.
            Removed::Name(name) => {
                self.held.remove(&(name.clone(), None));
                self.held.remove(&(name.clone(), Some(Constraints::unconstrained())));
                if dialect == Dialect::Sotw {
                    self.forget_doubtful(name);
                }
            }
            Removed::Variant(key) => {
                self.held.remove(&(key.name.clone(), Some(key.constraints.clone())));
            }
            Removed::Locator(name) => self.forget_doubtful(name),
        }
    }

    fn forget_doubtful(&mut self, name: &Name) {
        self.held.retain(|(held, constraints), h| held != name || constraints.is_none() || !h.doubtful);
    }

    /// Of a name of which a variant came, doubtful variants that did not come are no more.
    fn settle_doubts(&mut self, response: &Response) {
        let named: BTreeSet<&Name> = response.resources.iter().map(|sent| &sent.name).collect();
        let came: BTreeSet<Identity> = response.resources.iter().map(Sent::identity).collect();
        self.held.retain(|identity, held| {
            let (name, constraints) = identity;
            constraints.is_none() || !held.doubtful || !named.contains(name) || came.contains(identity)
        });
    }
}
