//! What a client asks for beyond the limits, and is sent by name as refused.
//!
//! In the database a placeholder takes its place, which has nothing but the error. The stream's machine never sees
//! it: to it, the client is subscribed to what it asked for.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weir_database::{MOST_REFUSED, Refused};
use weir_types::{ResourceLocator, Selector, Subscription, Withheld};

use crate::error::StreamError;

/// What was refused. Takes no memory where nothing is, as on almost all streams.
#[derive(Debug, Default)]
pub(crate) struct RefusedNames(Option<Box<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    /// By what was asked for.
    stand_ins: BTreeMap<Selector, Selector>,
    /// As the client knows it.
    subscription: Subscription,
}

impl RefusedNames {
    /// How many names there are.
    pub(crate) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |inner| inner.stand_ins.len())
    }

    /// The subscription as the client knows it, where it is not that of the database.
    pub(crate) fn subscription(&self) -> Option<&Subscription> {
        self.0.as_ref().map(|inner| &inner.subscription)
    }

    /// What was asked for and refused, and why.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Selector, Arc<str>)> {
        let stand_ins = self.0.iter().flat_map(|inner| &inner.stand_ins);
        stand_ins.map(|(asked, stand_in)| match stand_in.locator.parameters.why_withheld() {
            Some(Withheld::Exhausted(why)) => (asked, Arc::clone(why)),
            _ => (asked, Arc::default()),
        })
    }

    /// What was asked for and refused.
    pub(crate) fn refused(&self) -> Vec<Selector> {
        self.0.iter().flat_map(|inner| inner.stand_ins.keys()).cloned().collect()
    }

    fn stand_in(&self, selector: &Selector) -> Option<&Selector> {
        self.0.as_ref()?.stand_ins.get(selector)
    }

    pub(crate) fn contains(&self, selector: &Selector) -> bool {
        self.stand_in(selector).is_some()
    }

    /// Notes what is refused.
    ///
    /// # Errors
    /// Where there is no error of a name for it: there is too much of it, or a wildcard.
    pub(crate) fn add(&mut self, refused: &Refused) -> Result<(), StreamError> {
        let wildcard = refused.0.iter().any(|(selector, _)| selector.locator.is_wildcard());
        if wildcard || self.len() + refused.0.len() > MOST_REFUSED {
            return Err(StreamError::resource_exhausted(refused.to_string()));
        }
        let stand_ins = &mut self.0.get_or_insert_default().stand_ins;
        for (selector, refusal) in &refused.0 {
            let ResourceLocator { name, parameters } = &selector.locator;
            let parameters = parameters.exhausted(&refusal.to_string());
            let stand_in =
                Selector { locator: ResourceLocator::new(name.clone(), parameters), form: selector.form };
            stand_ins.insert(selector.clone(), stand_in);
        }
        Ok(())
    }

    /// Forgets what is not refused any more, or not asked for. `placed` is now the subscription of the database.
    pub(crate) fn settle(&mut self, gone: &[Selector], placed: &Subscription) {
        let Some(mut inner) = self.0.take() else { return };
        gone.iter().for_each(|selector| drop(inner.stand_ins.remove(selector)));
        if inner.stand_ins.is_empty() {
            return;
        }
        let (asked, stand_ins): (Vec<_>, Vec<_>) = inner.stand_ins.clone().into_iter().unzip();
        inner.subscription = placed.patched(&asked, &stand_ins);
        self.0 = Some(inner);
    }

    /// `selectors`, as the database knows them.
    pub(crate) fn placed(&self, selectors: &[Selector]) -> Vec<Selector> {
        selectors.iter().map(|selector| self.stand_in(selector).unwrap_or(selector).clone()).collect()
    }

    /// As [`Self::placed`].
    pub(crate) fn placed_set<'a>(&self, selectors: &'a BTreeSet<Selector>) -> Cow<'a, BTreeSet<Selector>> {
        if self.0.is_none() {
            return Cow::Borrowed(selectors);
        }
        let placed = |selector| self.stand_in(selector).unwrap_or(selector).clone();
        Cow::Owned(selectors.iter().map(placed).collect())
    }
}
