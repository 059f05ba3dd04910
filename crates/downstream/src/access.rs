//! Who may have what, by certificate.
//!
//! Owns the rules, what of them is for a client, and the record of what was denied. A name that a client may not have
//! stays part of its subscription, withheld ([`DynamicParameters::withheld`]), so that the client is sent that as for
//! any error of a resource; every subscription passes [`Rights::admit`] on its way to the database, which lets nothing
//! through that is neither allowed nor withheld.

use std::sync::Arc;

use opentelemetry::KeyValue;
use opentelemetry::metrics::Counter;
use weir_protocol::server::Refused;
use weir_tls::Identity;
use weir_types::{DynamicParameters, Kind, Name, Pattern, ResourceLocator, Selector, TypeUrl};

/// What some clients may have.
#[derive(Clone, Debug)]
pub struct AccessRule {
    /// Patterns of which one has to match a name in the client's certificate; without them it is for every client,
    /// with or without a certificate.
    pub identities: Option<Vec<Pattern>>,
    /// The types; where there is none, all but secrets.
    pub types: Vec<TypeUrl>,
    /// Patterns of the names of resources; where there is none, all names.
    pub names: Vec<Pattern>,
}

impl AccessRule {
    fn is_for(&self, identity: Option<&Identity>) -> bool {
        self.identities.as_ref().is_none_or(|patterns| {
            identity.is_some_and(|identity| patterns.iter().any(|pattern| identity.matches(pattern)))
        })
    }

    fn allows(&self, type_url: &TypeUrl, name: &Name) -> bool {
        let of_type = match self.types.as_slice() {
            [] => type_url.kind_of_message() != Kind::Secret,
            types => types.iter().any(|other| other.is_alike(type_url)),
        };
        of_type && (self.names.is_empty() || self.names.iter().any(|pattern| pattern.matches(name)))
    }
}

/// The configured rules. Where there is none, everybody may have everything.
#[derive(Clone, Debug, Default)]
pub struct AccessRules(Arc<[AccessRule]>);

impl AccessRules {
    /// These rules: a client may have what one of them grants, and nothing else.
    pub fn new(rules: Vec<AccessRule>) -> Self {
        Self(rules.into())
    }

    /// What a client may have whose parameters for `keys` are `enforced`.
    pub(crate) fn rights(
        &self,
        identity: Option<&Identity>,
        keys: &Arc<[String]>,
        enforced: DynamicParameters,
    ) -> Rights {
        if self.0.is_empty() && keys.is_empty() {
            return Rights::default();
        }
        let fitting = self.0.iter().enumerate().filter(|(_, rule)| rule.is_for(identity)).map(|(i, _)| i);
        Rights(Some(Arc::new(Held {
            fitting: fitting.collect(),
            rules: self.clone(),
            keys: Arc::clone(keys),
            enforced,
            who: identity.map_or_else(|| "no certificate".to_owned(), Identity::to_string),
            denied: weir_metrics::DOWNSTREAM_DENIED.counter(),
        })))
    }
}

/// What one client may have. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Rights(Option<Arc<Held>>);

#[derive(Debug)]
struct Held {
    rules: AccessRules,
    /// Which of them are for the client.
    fitting: Box<[usize]>,
    /// The keys that a client cannot choose.
    keys: Arc<[String]>,
    /// Its values for them.
    enforced: DynamicParameters,
    /// Who it is.
    who: String,
    denied: Counter<u64>,
}

impl Rights {
    /// Whether the client may have the resources that `name` stands for.
    pub fn may_have(&self, type_url: &TypeUrl, name: &Name) -> bool {
        let Some(held) = &self.0 else { return true };
        let mut fitting = held.fitting.iter().map(|i| &held.rules.0[*i]);
        held.rules.0.is_empty() || fitting.any(|rule| rule.allows(type_url, name))
    }

    /// The places of the rules that are for the client; none where there are no rules.
    pub fn rules(&self) -> Option<&[usize]> {
        self.0.as_ref().filter(|held| !held.rules.0.is_empty()).map(|held| &*held.fitting)
    }

    /// The parameters of a plain name, for which they were derived.
    pub(crate) fn plain(
        &self,
        type_url: &TypeUrl,
        name: &Name,
        derived: &DynamicParameters,
    ) -> DynamicParameters {
        if self.may_have(type_url, name) { derived.clone() } else { derived.withheld() }
    }

    /// The parameters of a locator for which the client sent these: with those that it cannot choose; withheld where it
    /// chose others.
    pub(crate) fn located(
        &self,
        type_url: &TypeUrl,
        name: &Name,
        sent: DynamicParameters,
    ) -> DynamicParameters {
        let Some(held) = &self.0 else { return sent };
        let claims = |key: &String| sent.get(key).is_some_and(|value| held.enforced.get(key) != Some(value));
        if held.keys.iter().any(claims) || !self.may_have(type_url, name) {
            return sent.withheld();
        }
        sent.with_defaults(&held.enforced)
    }

    /// Lets what the client newly subscribes to pass, and notes what of it is withheld.
    ///
    /// # Errors
    /// Where there is no name that an error could be about: a wildcard.
    pub(crate) fn admit(&self, type_url: &TypeUrl, add: &[Selector]) -> Result<(), Refused> {
        let Some(held) = &self.0 else { return Ok(()) };
        let admitted = |locator: &ResourceLocator| {
            !locator.parameters.is_withheld() && self.may_have(type_url, &locator.name)
        };
        let denied: Vec<_> =
            add.iter().map(|selector| &selector.locator).filter(|locator| !admitted(locator)).collect();
        held.note(type_url, &denied);
        for locator in denied {
            if !locator.parameters.is_withheld() || locator.is_wildcard() {
                return Err(Refused::Denied(format!(
                    "the access rules of this proxy do not give all resources of type {type_url} to this client \
                     ({}), only some of them or none",
                    held.who
                )));
            }
        }
        Ok(())
    }
}

impl Held {
    /// Counts what is denied, and logs the first of it: one line for a request, however much it names.
    fn note(&self, type_url: &TypeUrl, denied: &[&ResourceLocator]) {
        let Some(first) = denied.first() else { return };
        self.denied.add(denied.len() as u64, &[KeyValue::new("type", type_url.short_name())]);
        tracing::warn!(
            identity = self.who, %type_url, name = %first.name, parameters = %first.parameters, names = denied.len(),
            "denied"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(identities: Option<&[&str]>, types: &[&str], names: &[&str]) -> AccessRule {
        let patterns = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<_>>();
        AccessRule {
            identities: identities.map(patterns),
            types: types.iter().map(|name| name.parse().unwrap()).collect(),
            names: patterns(names),
        }
    }

    fn of(uri: &str) -> Option<Identity> {
        Some(Identity::new(vec![uri.to_owned()], Vec::new()))
    }

    fn type_url(name: &str) -> TypeUrl {
        name.parse().unwrap()
    }

    fn rights(rules: Vec<AccessRule>, identity: Option<&Identity>) -> Rights {
        AccessRules::new(rules).rights(identity, &Arc::default(), DynamicParameters::empty())
    }

    #[test]
    fn a_client_has_what_a_rule_gives_it_and_nothing_else() {
        let web = of("spiffe://prod.example/ns/shop/sa/web");
        let rules = || {
            vec![
                rule(Some(&["spiffe://prod.example/*"]), &["cds", "eds"], &[]),
                rule(Some(&["spiffe://prod.example/ns/shop/*"]), &["sds"], &["shop-*"]),
                rule(Some(&["*"]), &["lds"], &["xdstp://a/envoy.config.listener.v3.Listener/shop/*"]),
                rule(None, &["type.googleapis.com/acme.Widget"], &["public"]),
            ]
        };
        for (identity, kind, name, wanted) in [
            (&web, "cds", "a", true),
            (&web, "cds", "*", true),
            (&web, "type.googleapis.com/envoy.api.v2.Cluster", "a", true),
            (&web, "rds", "a", false),
            (&web, "sds", "shop-cert", true),
            (&web, "sds", "bank-cert", false),
            (&web, "sds", "*", false),
            (&of("spiffe://prod.example/ns/bank/sa/x"), "sds", "shop-cert", false),
            (&of("spiffe://test.example/ns/shop/sa/web"), "cds", "a", false),
            (&web, "lds", "xdstp://a/envoy.config.listener.v3.Listener/shop/*", true),
            (&web, "lds", "xdstp://a/envoy.config.listener.v3.Listener/shop/x", true),
            (&web, "lds", "xdstp://a/envoy.config.listener.v3.Listener/*", false),
            (&web, "lds", "*", false),
            (&None, "lds", "xdstp://a/envoy.config.listener.v3.Listener/shop/x", false),
            (&None, "cds", "a", false),
            (&None, "type.googleapis.com/acme.Widget", "public", true),
            (&None, "type.googleapis.com/acme.Gadget", "public", false),
            (&None, "elsewhere.example/acme.Widget", "public", true),
            (&web, "elsewhere.example/envoy.config.cluster.v3.Cluster", "a", true),
            (&web, "elsewhere.example/envoy.config.route.v3.RouteConfiguration", "a", false),
        ] {
            let rights = rights(rules(), identity.as_ref());
            assert_eq!(rights.may_have(&type_url(kind), &name.into()), wanted, "{identity:?} {kind} {name}");
        }
    }

    #[test]
    fn secrets_have_to_be_named() {
        let all = rights(vec![rule(None, &[], &[])], None);
        assert!(all.may_have(&type_url("cds"), &"*".into()) && all.may_have(&type_url("eds"), &"a".into()));
        for spelling in ["type.googleapis.com", "foo", "", "a/b", "type.googleapis.com/"] {
            for message in ["envoy.extensions.transport_sockets.tls.v3.Secret", "envoy.api.v2.auth.Secret"] {
                let type_url = TypeUrl::new(format!("{spelling}/{message}"));
                assert!(!all.may_have(&type_url, &"a".into()), "{spelling}");
            }
        }
        let named = rights(vec![rule(None, &["sds"], &[])], None);
        assert!(
            named.may_have(&type_url("sds"), &"*".into()) && !named.may_have(&type_url("cds"), &"a".into())
        );
        assert!(
            rights(vec![], None).may_have(&type_url("sds"), &"*".into()),
            "without rules there are no limits"
        );
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
            let rights = AccessRules::default().rights(None, &keys, parameters(enforced));
            let given = rights.located(&type_url("cds"), &"a".into(), parameters(sent));
            let given = (!given.is_withheld()).then(|| given.to_string());
            assert_eq!(given.as_deref(), wanted, "{enforced:?} {sent:?}");
        }
    }

    #[test]
    fn only_what_is_allowed_or_withheld_passes() {
        let rights = rights(vec![rule(None, &["cds"], &["a"])], None);
        let cds = type_url("cds");
        let plain = |name: &str| Selector::plain(name, DynamicParameters::empty());
        let judged = Selector::plain("b", rights.plain(&cds, &"b".into(), &DynamicParameters::empty()));
        assert!(judged.locator.parameters.is_withheld());
        assert_eq!(rights.admit(&cds, &[plain("a"), judged]), Ok(()));
        for bad in [plain("b"), plain("*"), Selector::plain("*", DynamicParameters::empty().withheld())] {
            assert!(matches!(rights.admit(&cds, &[bad]), Err(Refused::Denied(_))));
        }
    }
}
