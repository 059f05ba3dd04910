//! Watches what one client sees of the origin's history: never an older state after a newer one (o02), and no
//! removal that did not happen (u03).

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use weir_types::{DynamicParameters, Form, Name, Selector, TypeUrl};

use super::NAMES;
use super::excuse::Excuse;
use super::history::History;
use super::play::Tally;
use crate::model::{Client, Held, Identity, Response};

/// Something that a client follows: a name, for its own parameters or those that it stated.
type Thread = (TypeUrl, Name, Form, DynamicParameters);

/// What a client has of each type.
type Holding = BTreeMap<Identity, Held>;

/// Follows one client.
#[derive(Debug, Default)]
pub(super) struct Witness {
    /// The earliest revision at which the client may be.
    at: BTreeMap<Thread, u64>,
    /// What came since it was asked for: what is there for another reason may go for that.
    live: BTreeSet<Thread>,
    /// What may be sent as removed though it is not.
    excused: BTreeSet<(TypeUrl, Name)>,
    /// Of what something older may be sent, since what was newer has expired.
    relapsed: BTreeSet<(TypeUrl, Name)>,
    pub(super) tally: Tally,
}

impl Witness {
    /// Notes that the client no longer asks for what it does not want now.
    pub(super) fn forget_unwanted(&mut self, client: &Client) {
        self.live.retain(|(type_url, name, form, parameters)| {
            client.wanted(type_url).iter().any(|selector| {
                let asks = selector.locator.is_wildcard() || selector.locator.name == *name;
                asks && selector.form == *form && selector.locator.parameters == *parameters
            })
        });
    }

    pub(super) fn excuse(&mut self, (type_url, name): &Excuse) {
        let names = NAMES.into_iter().filter(|known| name.as_ref().is_none_or(|name| **name == **known));
        self.excused.extend(names.map(|name| (type_url.clone(), name.into())));
    }

    pub(super) fn allow_relapses(&mut self, relapses: &[Excuse]) {
        let names = relapses.iter().filter_map(|(type_url, name)| Some((type_url.clone(), name.clone()?)));
        self.relapsed.extend(names);
    }

    /// Holds what a response made of what the client had `before` against the history.
    pub(super) fn observe(
        &mut self,
        response: &Response,
        before: &Holding,
        client: &Client,
        history: &History,
    ) {
        let type_url = &response.type_url;
        let after = client.held(type_url);
        let came: BTreeSet<&Name> = response.resources.iter().map(|sent| &sent.name).collect();
        for selector in client.wanted(type_url) {
            let names = NAMES.map(Name::from).into_iter();
            let names = names.filter(|name| selector.locator.is_wildcard() || *name == selector.locator.name);
            for name in names {
                let has = content(&after, &name, &selector);
                if came.contains(&name)
                    && let One(body, _) = &has
                {
                    self.follow(type_url, &name, &selector, Some(body), history, client, response);
                    if may_be_for_another(&after, &name, &selector, client, type_url) {
                        self.live.remove(&thread(type_url, &name, &selector));
                    }
                }
                let had = content(before, &name, &selector);
                if matches!((&had, &has), (One(_, certain), Nothing) if *certain) {
                    self.follow(type_url, &name, &selector, None, history, client, response);
                }
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "what is printed when it is wrong")]
    fn follow(
        &mut self,
        type_url: &TypeUrl,
        name: &Name,
        selector: &Selector,
        body: Option<&Bytes>,
        history: &History,
        client: &Client,
        response: &Response,
    ) {
        self.tally.checked += 1;
        let parameters = &selector.locator.parameters;
        let thread = thread(type_url, name, selector);
        match body {
            Some(_) => drop(self.live.insert(thread.clone())),
            None if !self.live.remove(&thread) => return,
            // It may be there all the while.
            None if self.excused.contains(&(type_url.clone(), name.clone())) => {
                self.tally.excused += 1;
                return;
            }
            None => {}
        }
        let at = self.at.entry(thread).or_default();
        match history.find(type_url, name, parameters, *at, body) {
            Some(revision) => *at = revision,
            None if self.relapsed.contains(&(type_url.clone(), name.clone())) => self.tally.excused += 1,
            None => panic!(
                "{}: a client ({}) that was at revision {at} of {name} of {type_url} for {selector:?} is sent \
                 {body:?} by {response:?}",
                if body.is_none() { "u03" } else { "o02" },
                client.dialect(),
            ),
        }
    }
}

fn thread(type_url: &TypeUrl, name: &Name, selector: &Selector) -> Thread {
    (type_url.clone(), name.clone(), selector.form, selector.locator.parameters.clone())
}

/// Whether what the client has of a name may have come for another of its locators, and go for that: the server may not
/// have read the request for this one.
fn may_be_for_another(
    held: &Holding,
    name: &Name,
    selector: &Selector,
    client: &Client,
    type_url: &TypeUrl,
) -> bool {
    let wanted = client.wanted(type_url);
    let matching = |selector: &Selector| {
        let parameters = selector.locator.parameters.clone();
        let mut constraints = held.keys().filter(|(other, _)| other == name).filter_map(|(_, c)| c.as_ref());
        constraints.any(|constraints| constraints.matches(&parameters))
    };
    let same = |other: &&Selector| other.locator.is_wildcard() || other.locator.name == *name;
    wanted
        .iter()
        .filter(same)
        .any(|other| other != selector && other.form == Form::Located && matching(other))
}

/// What a client has of a name, as seen by one of its selectors.
enum Content {
    Nothing,
    /// The content, and whether the client is sure of it.
    One(Bytes, bool),
    /// On the way from one variant to another, or only what others are to have of it.
    Several,
}

use Content::{Nothing, One, Several};

fn content(held: &Holding, name: &Name, selector: &Selector) -> Content {
    let fits = |(identity, _): &(&Identity, &Held)| match (&identity.1, selector.form) {
        (None, Form::Plain) => identity.0 == *name,
        (Some(constraints), Form::Located) => {
            identity.0 == *name && constraints.matches(&selector.locator.parameters)
        }
        _ => false,
    };
    let others = held.keys().any(|(other, constraints)| other == name && constraints.is_some());
    let mut fitting = held.iter().filter(fits).map(|(_, held)| held);
    match (fitting.next(), fitting.next()) {
        (None, _) if selector.form == Form::Located && others => Several,
        (None, _) => Nothing,
        (Some(one), None) => {
            let doubtful = one.doubtful && selector.form == Form::Located;
            let certain = !one.stray && !doubtful;
            One(one.sent.body.clone().unwrap_or_default(), certain)
        }
        _ => Several,
    }
}
