//! Errors that the server reports for resources that it cannot deliver (xRFC TP3).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use weir_types::{
    Batch, Code, Constraints, DynamicParameters, Failed, Name, ResourceError, ResourceLocator, TypeUrl,
    VariantKey, WILDCARD,
};

use super::responses::ResponseApplication;
use super::upstream_type::UpstreamType;
use super::{Settings, UpstreamSession};

/// An error, as the server sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reported {
    /// What it is about; without constraints when only a name was given.
    pub key: VariantKey,
    /// What kind of error it is.
    pub code: Code,
    /// What is wrong.
    pub message: Arc<str>,
}

impl Settings {
    /// Whether an error of this kind means that what is held is gone. Transient ones never do.
    pub(super) fn drops(&self, code: Code) -> bool {
        !code.is_transient() && self.drop_on_errors.contains(&code)
    }
}

impl UpstreamSession {
    /// The errors of subscribed locators that are unknown while no control plane is reachable. One batch for each type.
    pub fn unavailable(&self) -> Vec<Batch> {
        self.of_unknown(ResourceError::unavailable)
    }

    /// Ends the errors of [`Self::unavailable`].
    pub fn available(&self) -> Vec<Batch> {
        self.of_unknown(ResourceError::available)
    }

    fn of_unknown(&self, error: fn(Constraints) -> ResourceError) -> Vec<Batch> {
        let of_type = |(type_url, upstream_type): (&TypeUrl, &UpstreamType)| {
            let mut batch = Batch::new(type_url.clone(), upstream_type.provenance());
            let unknown = upstream_type.locators().filter(|(_, state)| !state.is_answered());
            batch.errors.extend(unknown.map(|(locator, _)| self.failed(locator, error)));
            (!batch.is_empty()).then_some(batch)
        };
        self.types.iter().filter_map(of_type).collect()
    }

    fn failed(&self, locator: ResourceLocator, error: fn(Constraints) -> ResourceError) -> Failed {
        let ResourceLocator { name, parameters } = locator;
        let naming = &self.settings.naming;
        let key = naming.stored(&VariantKey::new(name.clone(), Constraints::unconstrained()));
        Failed { name, scope: naming.scope(&parameters), error: Arc::new(error(key.constraints)) }
    }
}

impl ResponseApplication<'_> {
    /// Passes errors on to those who asked, but for what the same response brings. One that stands for a removal
    /// goes neither to those who are `undecided` about it, nor to those whom something else serves. Wildcards cannot
    /// have any (TP3, "Wildcard Subscriptions and Glob Collections").
    pub(super) fn report_errors(&mut self, reported: &[Reported], undecided: &[ResourceLocator]) {
        if reported.is_empty() {
            return;
        }
        let undecided: HashSet<&ResourceLocator> = undecided.iter().collect();
        let brought = self.brought_by_name();
        for Reported { key, code, message } in reported.iter().filter(|r| &*r.key.name != WILDCARD) {
            let constraints = self.settings.naming.stored(key).constraints;
            let error = Arc::new(ResourceError::reported(constraints, *code, Arc::clone(message)));
            let brought = brought.get(&key.name).map(Vec::as_slice).unwrap_or_default();
            for parameters in self.concerned(key, brought) {
                let locator = ResourceLocator::new(key.name.clone(), parameters.clone());
                let served = || self.upstream_type.is_served(&self.settings.naming, &key.name, &parameters);
                if self.settings.drops(*code) && (undecided.contains(&locator) || served()) {
                    continue;
                }
                let sets = self.upstream_type.wanted.get_mut(&key.name);
                let Some(state) = sets.and_then(|sets| sets.get_mut(&parameters)) else { continue };
                state.receive_error(Arc::clone(&error));
                let (name, scope) = (key.name.clone(), self.settings.naming.scope(&parameters));
                self.batch.errors.push(Failed { name, scope, error: Arc::clone(&error) });
            }
        }
    }

    /// The constraints of what the response brings, by name and alias.
    fn brought_by_name(&self) -> HashMap<Name, Vec<Constraints>> {
        let mut brought: HashMap<Name, Vec<Constraints>> = HashMap::new();
        for variant in &self.batch.upserts {
            for name in variant.content().aliases.iter().chain([variant.name()]) {
                brought.entry(name.clone()).or_default().push(variant.key().constraints.clone());
            }
        }
        brought
    }

    /// The parameters of those who asked for what an error is about, and for whom nothing was `brought`. One about a
    /// name alone may be the answer to any of its locators: those that it is meant for, if nothing matches some.
    fn concerned(&self, key: &VariantKey, brought: &[Constraints]) -> Vec<DynamicParameters> {
        let naming = &self.settings.naming;
        let brought = |parameters: &DynamicParameters| {
            brought.iter().any(|constraints| naming.matches(constraints, parameters))
        };
        let asking = self.upstream_type.wanted.get(&key.name).into_iter().flatten();
        let asking = asking.filter(|(parameters, state)| {
            state.request().is_sent() && naming.matches(&key.constraints, parameters) && !brought(parameters)
        });
        let asking: Vec<DynamicParameters> = asking.map(|(parameters, _)| parameters.clone()).collect();
        let served =
            |parameters: &DynamicParameters| self.upstream_type.is_served(naming, &key.name, parameters);
        let any_unserved = key.constraints.is_unconstrained() && !asking.iter().all(served);
        let meant = self.meant.get(&key.name).filter(|_| any_unserved);
        asking.into_iter().filter(|parameters| meant.is_none_or(|meant| meant.contains(parameters))).collect()
    }
}
