//! What has to be sent of one type on one stream, in either dialect.

use std::collections::BTreeSet;
use std::mem::take;
use std::sync::Arc;

use weir_types::{Breadth, ResourceLocator};

use super::Request;
use super::locator_state::RequestState;
use super::verdicts::Verdicts;
use crate::Dialect;

/// What has to be sent of one type on one stream.
#[derive(Debug)]
pub(super) enum Outgoing {
    /// The whole list, with each request.
    Sotw(SotwOutgoing),
    /// Changes to what the server has.
    Delta(DeltaOutgoing),
}

/// What has to be sent in state of the world, and what the server has.
#[derive(Debug, Default)]
pub(super) struct SotwOutgoing {
    list: ListState,
    /// The nonce of the last response that was answered.
    nonce: Arc<str>,
    /// The version of the last response that was accepted.
    version: Arc<str>,
    /// Locators that are left out of the next list. They were unsubscribed from, and if they are subscribed to again by
    /// then, the server sees a change only by a list without them.
    omit_once: BTreeSet<ResourceLocator>,
    /// Locators that are left out once no answer is held back: to an answer that waits, a server that minds the nonce
    /// takes such a list for a late one.
    deferred: BTreeSet<ResourceLocator>,
}

/// Whether the server takes the empty list for a wildcard, as it does until there was a name in it.
///
/// ```text
///   Unsent ─┬─ the wildcard, as an empty list ► ImplicitWildcard ─┬─ unsubscribe ► RetractedWildcard
///           └─ a list with names ► Explicit                      └─ a list with names ► Explicit
///
///   RetractedWildcard ─ a list with names ► Explicit
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ListState {
    /// No list was sent.
    #[default]
    Unsent,
    /// The empty list was sent as the wildcard.
    ImplicitWildcard,
    /// The wildcard was unsubscribed from, which an empty list does not mean: the server goes on to send everything.
    RetractedWildcard,
    /// A list with names was sent, so that an empty one is empty.
    Explicit,
}

/// What has to be sent in delta.
#[derive(Debug, Default)]
pub(super) struct DeltaOutgoing {
    subscribe: BTreeSet<ResourceLocator>,
    unsubscribe: BTreeSet<ResourceLocator>,
}

impl ListState {
    /// Records a list that is sent. Empties it where it is the wildcard alone, and that `may_be_implicit`.
    fn send(&mut self, list: &mut Vec<ResourceLocator>, may_be_implicit: bool) {
        let only_wildcard = matches!(&list[..], [only] if only.is_wildcard());
        match self {
            Self::Unsent | Self::ImplicitWildcard if only_wildcard && may_be_implicit => {
                list.clear();
                *self = Self::ImplicitWildcard;
            }
            Self::RetractedWildcard if only_wildcard && may_be_implicit => list.clear(),
            _ if list.is_empty() => {}
            _ => *self = Self::Explicit,
        }
    }

    /// Records that the wildcard is unsubscribed from.
    fn retract_wildcard(&mut self) {
        if *self == Self::ImplicitWildcard {
            *self = Self::RetractedWildcard;
        }
    }
}

impl Outgoing {
    pub(super) fn new(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Sotw => Self::Sotw(SotwOutgoing::default()),
            Dialect::Delta => Self::Delta(DeltaOutgoing::default()),
        }
    }

    pub(super) fn dialect(&self) -> Dialect {
        match self {
            Self::Sotw(_) => Dialect::Sotw,
            Self::Delta(_) => Dialect::Delta,
        }
    }

    /// Whether no locator has to be sent, or left out of a list, for its own sake.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Sotw(sotw) => sotw.omit_once.is_empty(),
            Self::Delta(delta) => delta.subscribe.is_empty() && delta.unsubscribe.is_empty(),
        }
    }

    /// Whether nothing was sent, and nothing was changed since.
    pub(super) fn is_new(&self) -> bool {
        let unsent = match self {
            Self::Sotw(sotw) => {
                sotw.list == ListState::Unsent && sotw.version.is_empty() && sotw.nonce.is_empty()
            }
            Self::Delta(_) => true,
        };
        unsent && self.is_empty() && !self.defers()
    }

    /// Whether locators wait to be left out.
    pub(super) fn defers(&self) -> bool {
        matches!(self, Self::Sotw(sotw) if !sotw.deferred.is_empty())
    }

    /// Takes the version of the first request, in state of the world.
    pub(super) fn start(&mut self, first: &Request) {
        if let Self::Sotw(sotw) = self {
            sotw.version = Arc::clone(&first.version);
        }
    }
}

impl SotwOutgoing {
    /// Whether the server takes the empty list for a wildcard that was unsubscribed from.
    pub(super) fn has_retracted_wildcard(&self) -> bool {
        self.list == ListState::RetractedWildcard
    }

    /// Has a locator left out of the next list.
    pub(super) fn omit_once(&mut self, locator: &ResourceLocator) {
        self.omit_once.insert(locator.clone());
    }

    /// Has those locators left out of the next list that could not be.
    pub(super) fn omit_deferred(&mut self) {
        self.omit_once.append(&mut self.deferred);
    }

    pub(super) fn unsubscribe(&mut self, locator: &ResourceLocator, before: RequestState) {
        if locator.is_wildcard() {
            self.list.retract_wildcard();
        }
        if before.is_subscribed() {
            self.omit_once(locator);
        }
    }

    /// Completes a request whose list is everything that is wanted: with the answer to the next response that may be
    /// answered, and without what has to be omitted. Whether anything is.
    pub(super) fn send(
        &mut self,
        request: &mut Request,
        verdicts: &mut Verdicts,
        may_be_implicit: bool,
    ) -> bool {
        let mut omitted = take(&mut self.omit_once);
        if verdicts.is_held() {
            self.deferred.append(&mut omitted);
        }
        self.list.send(&mut request.subscribe, may_be_implicit);
        let whole = request.subscribe.len();
        request.subscribe.retain(|locator| !omitted.contains(locator));
        if let Some(verdict) = verdicts.pop() {
            self.nonce = verdict.nonce.unwrap_or_default();
            if verdict.nack.is_none() {
                self.version = verdict.version;
            }
            request.nack = verdict.nack;
        }
        request.version = Arc::clone(&self.version);
        request.nonce = Arc::clone(&self.nonce);
        request.subscribe.len() < whole
    }
}

impl DeltaOutgoing {
    /// Has a locator sent, and others `again`. Whether the server has it already: that it was unsubscribed from was not
    /// sent yet.
    pub(super) fn subscribe(&mut self, locator: &ResourceLocator, again: Vec<ResourceLocator>) -> bool {
        self.subscribe.extend(again);
        self.subscribe.insert(locator.clone());
        self.unsubscribe.remove(locator)
    }

    pub(super) fn unsubscribe(&mut self, locator: &ResourceLocator, before: RequestState) {
        self.subscribe.remove(locator);
        if before.is_subscribed() {
            self.unsubscribe.insert(locator.clone());
        }
    }

    /// Completes a request: with all that has to be sent, and the answer to the next response that may be answered.
    pub(super) fn send(&mut self, request: &mut Request, verdicts: &mut Verdicts) {
        request.subscribe.extend(take(&mut self.subscribe));
        // A server may forget what only the glob, or only the name, covered, before it reads what is subscribed
        // in its place; so that goes first, by itself.
        let is_glob = |locator: &ResourceLocator| locator.breadth() == Breadth::Glob;
        let apart = !request.subscribe.is_empty()
            && !self.unsubscribe.is_empty()
            && request.subscribe.iter().chain(&self.unsubscribe).any(is_glob);
        if !apart {
            request.unsubscribe.extend(take(&mut self.unsubscribe));
        }
        if let Some(verdict) = verdicts.pop() {
            request.nonce = verdict.nonce.unwrap_or_default();
            request.nack = verdict.nack;
        }
    }
}
