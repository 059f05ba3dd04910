//! One type on one stream: its subscription and its acknowledgements.

use std::collections::{BTreeSet, HashSet};
use std::hash::Hash;

use weir_database::RemovalDelivery;
use weir_types::{
    ClientParameters, Commit, Form, Name, RefusalReason, Refusals, Selector, SubscriptionChange, TypeUrl,
    Version, WILDCARD,
};

use super::initial_versions::InitialVersions;
use super::response_state::ResponseState;
use super::split::Split;
use super::{Names, Nonce, SubscriptionRequest, Verdict};
use crate::error::StreamError;
use crate::session::Env;
use crate::subscribed_view::{NameErrors, SubscribedView};

/// How many names that a client has given up, and that a collection covers, may wait for its answer when it gives up
/// more.
pub(super) const MAX_GIVEN_UP: usize = 10_000;

/// What the client decided on the newest response that it has answered, which need not be the newest that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastVerdict {
    None,
    Accepted,
    Rejected,
}

/// One type on one stream.
pub struct TypeSubscription {
    pub(super) type_url: TypeUrl,
    pub(super) view: SubscribedView,
    /// Whether the client has ever named anything: from then on, no names means nothing.
    named: bool,
    pub(super) responses: ResponseState,
    last_verdict: LastVerdict,
    /// The newest response that did not contain everything of the commit that it names.
    partial: Option<Nonce>,
    /// Further parts of the newest response, which are to come.
    pub(super) split: Option<Box<Split>>,
    /// State of the world: the version that the client has.
    pub(super) version: Option<Version>,
    /// What must be sent although it did not change: newly named, asked for again, warming.
    pub(super) resend: BTreeSet<Selector>,
    /// What could not be sent yet: an error beside the resource itself, and that nothing matches a locator while
    /// others of its name are not answered.
    pub(super) pending_errors: BTreeSet<Selector>,
    /// Whether some of that can be sent now.
    pub(super) pending_errors_are_due: bool,
    pub(super) initial_versions: InitialVersions,
}

impl TypeSubscription {
    /// Which type this is.
    pub fn type_url(&self) -> &TypeUrl {
        &self.type_url
    }

    /// Where it is attached.
    pub fn view(&self) -> &SubscribedView {
        &self.view
    }

    /// Whether the first response has been given.
    pub fn is_answered(&self) -> bool {
        !self.responses.is_awaiting_first()
    }

    /// The newest response, and whether the client has accepted or rejected it.
    pub fn outstanding(&self) -> Option<(Nonce, bool)> {
        self.responses.nonce().map(|nonce| (nonce, self.responses.is_acknowledged()))
    }

    /// Whether the client has rejected something and accepted nothing since: it may lack what it was sent.
    pub fn rejects(&self) -> bool {
        self.last_verdict == LastVerdict::Rejected
    }

    /// The type subscription that a first request opens, whatever nonce it carries.
    pub(super) fn first(
        request: SubscriptionRequest,
        parameters: &ClientParameters,
        env: &Env<'_>,
        errors: NameErrors,
    ) -> Result<Self, StreamError> {
        let named = !request.names.is_empty();
        let mut names = match request.names {
            Names::Replace(names) => names,
            Names::Patch { subscribe, unsubscribe } => without_both(subscribe, &unsubscribe),
        };
        if !named && request.has_legacy_wildcard {
            names.push(Selector::plain(WILDCARD, parameters.of(WILDCARD).clone()));
        }
        Ok(Self {
            view: SubscribedView::new(&request.type_url, &names, &request.refused, env, errors)?,
            type_url: request.type_url,
            named,
            responses: ResponseState::new(request.version.is_some()),
            last_verdict: LastVerdict::None,
            partial: None,
            split: None,
            version: request.version,
            resend: BTreeSet::new(),
            pending_errors: BTreeSet::new(),
            pending_errors_are_due: false,
            initial_versions: InitialVersions::new(request.initial_versions),
        })
    }

    /// Takes in a request that is not the first.
    pub(super) fn handle(&mut self, request: SubscriptionRequest) -> Result<Option<Verdict>, StreamError> {
        let nonce = self.responses.nonce().filter(|nonce| nonce.to_string() == request.nonce);
        if let Some(commit) = self.acknowledged_commit(nonce, &request.nonce) {
            self.view.answer(commit, request.nack.as_ref());
        }
        let acknowledges = nonce.is_some() && self.responses.acknowledge();
        let repeated = nonce.is_some() && !acknowledges && request.nack.is_none();
        let verdict = match (nonce, request.nack) {
            (_, Some(nack)) => Some(Verdict::Nack { nonce, nack }),
            (Some(nonce), None) if acknowledges => Some(Verdict::Ack(nonce)),
            _ => None,
        };
        self.last_verdict = match &verdict {
            Some(Verdict::Ack(_)) => LastVerdict::Accepted,
            Some(Verdict::Nack { .. }) => LastVerdict::Rejected,
            None => self.last_verdict,
        };
        let (is_nameless, refused) = (request.names.is_empty(), &request.refused);
        match request.names {
            Names::Replace(names) => {
                let keeps_wildcard = is_nameless && !self.named;
                self.named |= !is_nameless;
                let changed = !keeps_wildcard && self.replace(names, refused)?;
                if repeated && !changed {
                    self.resend.extend(self.view.subscription().iter().cloned());
                }
            }
            Names::Patch { subscribe, unsubscribe } => {
                self.named |= !is_nameless;
                self.patch(subscribe, unsubscribe, refused)?;
            }
        }
        Ok(verdict)
    }

    /// Returns the commit up to which the answered response brought the client. That is the `newest` response or an
    /// older one.
    fn acknowledged_commit(&self, newest: Option<Nonce>, answered: &str) -> Option<Commit> {
        match newest {
            Some(_) => self.split.is_none().then(|| self.view.cursor().removals),
            None => {
                let older = Nonce::parse(answered).filter(|older| Some(*older) < self.responses.nonce())?;
                (Some(older) > self.partial).then_some(older.commit)
            }
        }
    }

    /// Counts an empty step as accepted, unless an earlier response is outstanding.
    pub(super) fn answer_for_silence(&mut self) {
        if !self.responses.is_outstanding() {
            self.view.answer(self.view.cursor().removals, None);
        }
    }

    /// Subscribes to just `names`; newly named ones are owed. Returns whether that is a change.
    fn replace(&mut self, names: Vec<Selector>, refused: &Refusals) -> Result<bool, StreamError> {
        let wanted: HashSet<Selector> = names.into_iter().collect();
        let subscription = self.view.subscription();
        let add: Vec<_> = wanted.iter().filter(|s| !subscription.contains(s)).cloned().collect();
        let remove: Vec<_> = subscription.iter().filter(|s| !wanted.contains(s)).cloned().collect();
        if add.is_empty() && remove.is_empty() {
            return Ok(false);
        }
        let denied = self.denied_of(&remove);
        self.view.change(SubscriptionChange { add: &add, remove: &remove, refused })?;
        self.initial_versions.unsubscribe(&remove, self.view.subscription());
        if !remove.is_empty() {
            // The client keeps less than that version stood for.
            self.version = None;
        }
        self.resend.retain(|selector| wanted.contains(selector));
        self.pending_errors.retain(|pending| wanted.contains(pending));
        // Whom it waited for may have been given up.
        self.pending_errors_are_due |= !self.pending_errors.is_empty();
        self.resend.extend(add);
        self.resend_covered(remove, &denied)?;
        Ok(true)
    }

    fn patch(
        &mut self,
        subscribe: Vec<Selector>,
        unsubscribe: Vec<Selector>,
        refused: &Refusals,
    ) -> Result<(), StreamError> {
        let subscribe_wanted = without_both(subscribe.clone(), &unsubscribe);
        let unsubscribe = without_both(unsubscribe, &subscribe);
        let subscription = self.view.subscription();
        let (again, add): (Vec<_>, Vec<_>) =
            subscribe_wanted.iter().cloned().partition(|selector| subscription.contains(selector));
        let remove: Vec<_> = unsubscribe.into_iter().filter(|s| subscription.contains(s)).collect();
        let denied = self.denied_of(&remove);
        if !add.is_empty() || !remove.is_empty() {
            self.view.change(SubscriptionChange { add: &add, remove: &remove, refused })?;
            self.initial_versions.unsubscribe(&remove, self.view.subscription());
        }
        if !again.is_empty() {
            self.view.ask_again(&again)?;
        }
        for gone in &remove {
            self.resend.remove(gone);
            self.pending_errors.remove(gone);
        }
        // Whom it waited for may have been given up.
        self.pending_errors_are_due |= !remove.is_empty() && !self.pending_errors.is_empty();
        self.initial_versions.subscribe_again(&again);
        self.resend.extend(subscribe_wanted);
        self.resend_covered(remove, &denied)
    }

    /// What of `selectors` the client may not have: it was sent nothing of that, whoever else is subscribed to it.
    fn denied_of(&self, selectors: &[Selector]) -> BTreeSet<Selector> {
        let subscription = self.view.subscription();
        let is_denied = |selector: &&Selector| subscription.refusal(selector) == Some(&RefusalReason::Denied);
        selectors.iter().filter(is_denied).cloned().collect()
    }

    /// A client that unsubscribes from what a wider collection covers too cannot know whether to keep it, whatever the
    /// collection's form and parameters.
    fn resend_covered(
        &mut self,
        unsubscribed: Vec<Selector>,
        denied: &BTreeSet<Selector>,
    ) -> Result<(), StreamError> {
        let subscription = self.view.subscription();
        let covered = |gone: &Selector| {
            !gone.locator.is_wildcard()
                && subscription.may_collect(&gone.locator.name)
                && !denied.contains(gone)
        };
        let covered: Vec<_> = unsubscribed.into_iter().filter(covered).collect();
        if !covered.is_empty() && self.resend.len() > self.view.subscription().len() + MAX_GIVEN_UP {
            let why = format!("more than {MAX_GIVEN_UP} names were given up, and the answers are not read");
            return Err(StreamError::resource_exhausted(why));
        }
        self.resend.extend(covered);
        Ok(())
    }

    /// How many names are remembered beside the subscription.
    pub(super) fn remembered(&self) -> usize {
        let subscription = self.view.subscription();
        let beside = self
            .resend
            .iter()
            .chain(&self.pending_errors)
            .filter(|selector| !subscription.contains(selector));
        beside.count()
    }

    /// Owes those of `names` that the client is subscribed to, and that there are. That there is nothing is sent once: a
    /// client that asks for other locators of the name meanwhile would take it for their answer.
    pub(super) fn resend_names(&mut self, names: &HashSet<Name>, parameters: &ClientParameters) {
        let subscription = self.view.subscription();
        let plain = names.iter().map(|name| Selector::plain(name.clone(), parameters.of(name).clone()));
        let mut asked: Vec<_> = plain.filter(|selector| subscription.contains(selector)).collect();
        if asked.len() < names.len() {
            let located = subscription.iter().filter(|s| s.form == Form::Located);
            asked.extend(located.filter(|s| names.contains(&s.locator.name)).cloned());
        }
        self.resend.extend(self.view.present_of(asked));
    }

    /// Owes those of `names` that the client holds from an earlier stream: what it does not hold is sent
    /// anyway.
    pub(super) fn resend_held(&mut self, names: impl Fn(&Name) -> bool) {
        if let Some(known) = self.initial_versions.get() {
            let held = |s: &&Selector| names(&s.locator.name) && known.contains(&s.locator.name);
            self.resend.extend(self.view.subscription().iter().filter(held).cloned());
        }
    }

    /// Notes that a response has left, and what follows of it.
    pub(super) fn sent(
        &mut self,
        nonce: Nonce,
        version: Version,
        removals: RemovalDelivery,
        split: Option<Box<Split>>,
    ) {
        self.responses.send(nonce);
        if split.is_some() || removals == RemovalDelivery::Deferred {
            self.partial = Some(nonce);
        }
        self.version = Some(version);
        self.split = split;
    }
}

/// `names` without those that are also in `others`: some clients subscribe to and unsubscribe from a name in
/// one request, and mean nothing by it.
///
/// Both lists may have as many names as a request, so each name is looked up once.
fn without_both<T: Eq + Hash>(mut names: Vec<T>, others: &[T]) -> Vec<T> {
    if !others.is_empty() {
        let others: HashSet<&T> = others.iter().collect();
        names.retain(|name| !others.contains(name));
    }
    names
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::hash::Hasher;

    use super::*;

    thread_local! {
        static COMPARISONS: Cell<usize> = const { Cell::new(0) };
    }

    /// A name that counts how often it is compared.
    #[derive(Debug)]
    struct Counted(usize);

    impl PartialEq for Counted {
        fn eq(&self, other: &Self) -> bool {
            COMPARISONS.set(COMPARISONS.get() + 1);
            self.0 == other.0
        }
    }

    impl Eq for Counted {}

    impl Hash for Counted {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.0.hash(state);
        }
    }

    #[test]
    fn d14_names_in_both_lists_of_a_request_cost_a_lookup_each() {
        let names = |from: usize| (from..from + 10_000).map(Counted).collect::<Vec<_>>();
        let left = without_both(names(0), &names(5_000));
        assert_eq!(left.iter().map(|name| name.0).collect::<Vec<_>>(), (0..5_000).collect::<Vec<_>>());
        assert!(COMPARISONS.get() < 40_000, "{} comparisons of 10,000 names", COMPARISONS.get());
    }
}
