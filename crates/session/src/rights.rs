//! What one client may have.
//!
//! A name that a client may not have stays part of its subscription, where it is refused, so that the client is sent an
//! error of that resource. Where there is no name that an error could be about, the stream ends ([`Rights::check`]).

use std::collections::HashSet;
use std::sync::Arc;

use weir_types::{
    DynamicParameters, Form, Kind, Name, Pattern, ResourceLocator, Selector, Subscription, TypeUrl, WILDCARD,
    authority,
};

use crate::error::StreamError;
use crate::stream::{Names, SubscriptionRequest};

/// Resources that some clients may have.
#[derive(Clone, Debug)]
pub struct Grant {
    /// The types; where there is none, all but secrets.
    pub types: Vec<TypeUrl>,
    /// Patterns of the names of resources; where there is none, all names.
    pub names: Vec<Pattern>,
}

impl Grant {
    fn allows(&self, type_url: &TypeUrl, name: &Name) -> bool {
        let of_type = match self.types.as_slice() {
            [] => type_url.kind_of_message() != Kind::Secret,
            types => types.iter().any(|other| other.is_alike(type_url)),
        };
        of_type && (self.names.is_empty() || self.names.iter().any(|pattern| pattern.matches(name)))
    }
}

/// What one client may have. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Rights(Option<Arc<Inner>>);

#[derive(Clone, Debug)]
struct Inner {
    /// Of all clients; where there is none, everybody may have everything.
    grants: Arc<[Grant]>,
    /// Which of them are for the client.
    fitting: Box<[usize]>,
    /// The keys that a client cannot choose.
    keys: Arc<[String]>,
    /// Its values for them.
    enforced: DynamicParameters,
    /// Authorities of whose secrets the client may have none.
    without_secrets: Arc<[Box<str>]>,
    /// The client, for people.
    holder: String,
}

/// New subscriptions of a request that the client may not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// Of which type.
    pub type_url: TypeUrl,
    /// The client, for people.
    pub holder: String,
    /// One of them.
    pub first: ResourceLocator,
    /// How many there are.
    pub count: usize,
}

impl Rights {
    /// The rights of `holder`, for whom those of `grants` are whose places are `fitting`, and whose parameters for `keys`
    /// are `enforced`.
    pub fn new(
        (grants, fitting): (&Arc<[Grant]>, Box<[usize]>),
        (keys, enforced): (&Arc<[String]>, DynamicParameters),
        holder: impl FnOnce() -> String,
    ) -> Self {
        if grants.is_empty() && keys.is_empty() {
            return Self::default();
        }
        let (grants, keys) = (Arc::clone(grants), Arc::clone(keys));
        let without_secrets = Arc::default();
        Self(Some(Arc::new(Inner { grants, fitting, keys, enforced, without_secrets, holder: holder() })))
    }

    /// These rights, but for secrets of `authorities`.
    #[must_use]
    pub fn without_secrets(self, authorities: &Arc<[Box<str>]>, holder: impl FnOnce() -> String) -> Self {
        if authorities.is_empty() {
            return self;
        }
        let (grants, fitting, keys, enforced) = Default::default();
        let all =
            || Inner { grants, fitting, keys, enforced, without_secrets: Arc::default(), holder: holder() };
        let inner = self.0.map_or_else(all, Arc::unwrap_or_clone);
        Self(Some(Arc::new(Inner { without_secrets: Arc::clone(authorities), ..inner })))
    }

    /// Whether the client may have the resources that `name` stands for.
    pub fn may_have(&self, type_url: &TypeUrl, name: &Name) -> bool {
        let Some(inner) = &self.0 else { return true };
        if inner.withholds(type_url, name) {
            return false;
        }
        let mut fitting = inner.fitting.iter().map(|i| &inner.grants[*i]);
        inner.grants.is_empty() || fitting.any(|grant| grant.allows(type_url, name))
    }

    /// The places of the rules that are for the client; none where there are no rules.
    pub fn rules(&self) -> Option<&[usize]> {
        self.0.as_ref().filter(|inner| !inner.grants.is_empty()).map(|inner| &*inner.fitting)
    }

    /// Whether the client may have what `selector` stands for, with the parameters that it has.
    pub(crate) fn allow(&self, type_url: &TypeUrl, selector: &Selector) -> bool {
        let Selector { locator: ResourceLocator { name, parameters }, form } = selector;
        self.may_have(type_url, name) && (*form == Form::Plain || !self.is_claimed(parameters))
    }

    /// Whether a value of `sent` is another than the one that the client cannot choose.
    fn is_claimed(&self, sent: &DynamicParameters) -> bool {
        self.0.as_ref().is_some_and(|inner| {
            let claims =
                |key: &String| sent.get(key).is_some_and(|value| inner.enforced.get(key) != Some(value));
            inner.keys.iter().any(claims)
        })
    }

    /// The parameters of a locator for which the client sent these: with those that it cannot choose.
    pub(crate) fn with_enforced(&self, sent: DynamicParameters) -> DynamicParameters {
        match &self.0 {
            Some(inner) if !self.is_claimed(&sent) => sent.with_defaults(&inner.enforced),
            _ => sent,
        }
    }

    /// Checks what `request` asks for beside what is subscribed already, where the type is. What of it is refused is
    /// returned.
    ///
    /// # Errors
    /// Where there is no name that an error could be about: a wildcard.
    pub(crate) fn check(
        &self,
        request: &SubscriptionRequest,
        subscribed: Option<&Subscription>,
    ) -> (Option<Denied>, Result<(), StreamError>) {
        let Some(inner) = &self.0 else { return (None, Ok(())) };
        let denied = self.denied(request, subscribed);
        let all = denied.iter().all(|locator| !locator.is_wildcard());
        let verdict = if all { Ok(()) } else { Err(inner.refusal(&request.type_url)) };
        let (type_url, holder) = (request.type_url.clone(), inner.holder.clone());
        let count = denied.len();
        let first = denied.into_iter().next();
        (first.map(|first| Denied { type_url, holder, first, count }), verdict)
    }

    /// What of a request is newly subscribed, and refused.
    fn denied(
        &self,
        request: &SubscriptionRequest,
        subscribed: Option<&Subscription>,
    ) -> Vec<ResourceLocator> {
        let type_url = &request.type_url;
        let wildcard = Name::from(WILDCARD);
        // A first request without names stands for the wildcard.
        let nameless = subscribed.is_none() && request.names.is_empty() && request.has_legacy_wildcard;
        if nameless && !self.may_have(type_url, &wildcard) {
            return vec![ResourceLocator::new(wildcard, DynamicParameters::empty())];
        }
        let unsubscribed = match &request.names {
            Names::Replace(_) => &[][..],
            Names::Patch { unsubscribe, .. } => unsubscribe,
        };
        // What is unsubscribed by the same request counts as not asked for.
        let ignored =
            |selector: &Selector| subscribed.is_some_and(|subscribed| subscribed.contains(selector));
        let mut denied: Vec<&Selector> =
            request.refused.keys().filter(|selector| !ignored(selector)).collect();
        if !denied.is_empty() && !unsubscribed.is_empty() {
            let unsubscribed: HashSet<&Selector> = unsubscribed.iter().collect();
            denied.retain(|selector| !unsubscribed.contains(selector));
        }
        denied.into_iter().map(|selector| selector.locator.clone()).collect()
    }
}

impl Inner {
    fn withholds(&self, type_url: &TypeUrl, name: &Name) -> bool {
        let mut authorities = self.without_secrets.iter();
        type_url.kind_of_message() == Kind::Secret && authorities.any(|of| **of == *authority(name))
    }

    fn refusal(&self, type_url: &TypeUrl) -> StreamError {
        StreamError::permission_denied(format!(
            "the access rules of this proxy do not give all resources of type {type_url} to this client \
             ({}), only some of them or none",
            self.holder
        ))
    }
}

#[cfg(test)]
mod tests {
    use weir_types::{RefusalReason, SubscriptionChange};

    use super::*;

    fn type_url(name: &str) -> TypeUrl {
        name.parse().unwrap()
    }

    #[test]
    fn p13_enforced_parameters_are_filled_in_and_cannot_be_chosen() {
        let keys: Arc<[String]> = Arc::from(["env".to_owned()]);
        let parameters =
            |pairs: &[(&'static str, &'static str)]| -> DynamicParameters { pairs.iter().copied().collect() };
        for (enforced, sent, wanted) in [
            (&[("env", "prod")][..], &[][..], Some("{env=prod}")),
            (&[("env", "prod")], &[("env", "prod"), ("v", "1")], Some("{env=prod, v=1}")),
            (&[("env", "prod")], &[("env", "test")], None),
            (&[], &[("env", "prod")], None),
            (&[], &[("v", "1")], Some("{v=1}")),
        ] {
            let none = (&Arc::default(), Box::default());
            let rights = Rights::new(none, (&keys, parameters(enforced)), String::new);
            let given = Selector::located("a", rights.with_enforced(parameters(sent)));
            let given = rights.allow(&type_url("cds"), &given).then(|| given.locator.parameters.to_string());
            assert_eq!(given.as_deref(), wanted, "{enforced:?} {sent:?}");
        }
    }

    /// Of a client that may have the cluster `a` and nothing else.
    fn narrow() -> Rights {
        let grants = Arc::from([Grant { types: vec![type_url("cds")], names: vec!["a".parse().unwrap()] }]);
        let none = (&Arc::default(), DynamicParameters::empty());
        Rights::new((&grants, Box::new([0])), none, || "somebody".to_owned())
    }

    /// A request for these names, as it is read.
    fn asking(rights: &Rights, of: &str, names: &[&str], unsubscribe: Option<&str>) -> SubscriptionRequest {
        let type_url = type_url(of);
        let selector = |name: &str| Selector::plain(name, DynamicParameters::empty());
        let names: Vec<_> = names.iter().map(|name| selector(name)).collect();
        let denied = names.iter().filter(|selector| !rights.allow(&type_url, selector));
        let refused = denied.map(|selector| (selector.clone(), RefusalReason::Denied)).collect();
        let names = match unsubscribe {
            None => Names::Replace(names),
            Some(gone) => Names::Patch { subscribe: names, unsubscribe: vec![selector(gone)] },
        };
        SubscriptionRequest {
            has_legacy_wildcard: type_url.has_legacy_wildcard(),
            type_url,
            nonce: String::new(),
            nack: None,
            names,
            refused,
            version: None,
            initial_versions: None,
        }
    }

    #[test]
    fn only_what_is_allowed_or_refused_by_name_passes() {
        let rights = narrow();
        for (of, names, unsubscribe, denied, passes) in [
            ("cds", &["a"][..], None, 0, true),
            ("cds", &["a", "b", "c"], None, 2, true),
            ("cds", &["a", "b"], Some("b"), 0, true),
            ("cds", &["*"], Some("b"), 1, false),
            ("cds", &["*"], None, 1, false),
            ("cds", &["b", "*"], None, 2, false),
            ("cds", &[], None, 1, false),
            ("rds", &["a"], None, 1, true),
            ("rds", &[], None, 0, true),
        ] {
            let (found, verdict) = rights.check(&asking(&rights, of, names, unsubscribe), None);
            assert_eq!(found.map_or(0, |denied| denied.count), denied, "{of} {names:?}");
            assert_eq!(verdict.is_ok(), passes, "{of} {names:?}: {verdict:?}");
        }
        let everything = Rights::default();
        assert_eq!(everything.check(&asking(&rights, "cds", &["b"], None), None), (None, Ok(())));
    }

    #[test]
    fn p20_secrets_of_an_authority_are_withheld() {
        let unverified: Arc<[Box<str>]> = Arc::from(["".into()]);
        let everything = Rights::default().without_secrets(&unverified, String::new);
        for (rights, of, name, wanted) in [
            (&everything, "sds", "a", false),
            (&everything, "sds", "*", false),
            (&everything, "sds", "xdstp://other/envoy.extensions.transport_sockets.tls.v3.Secret/a", true),
            (&everything, "cds", "a", true),
            (&narrow().without_secrets(&unverified, String::new), "cds", "b", false),
            (&narrow().without_secrets(&unverified, String::new), "cds", "a", true),
        ] {
            assert_eq!(rights.may_have(&type_url(of), &name.into()), wanted, "{of} {name}");
        }
        assert_eq!(everything.rules(), None);
        let (denied, _) = everything.check(&asking(&everything, "sds", &["a"], None), None);
        assert_eq!(denied.map(|denied| denied.count), Some(1));
    }

    #[test]
    fn what_is_subscribed_already_is_denied_once() {
        let rights = narrow();
        let request = asking(&rights, "cds", &["a", "b"], None);
        let Names::Replace(names) = &request.names else { panic!("{request:?}") };
        let subscribed = Subscription::default().patched(SubscriptionChange::adding(names));
        assert_eq!(rights.check(&request, Some(&subscribed)), (None, Ok(())));
        let nameless = asking(&rights, "cds", &[], None);
        assert_eq!(rights.check(&nameless, Some(&subscribed)), (None, Ok(())), "it is not the first");
    }
}
