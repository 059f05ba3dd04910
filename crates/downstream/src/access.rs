//! Who may have what, by certificate.
//!
//! Owns the rules, and which of them are for a client. What follows from them for one client are its [`Rights`].

use std::sync::Arc;

use weir_config::AccessRule;
use weir_tls::Identity;
use weir_types::{DynamicParameters, Pattern};

use weir_session::{Grant, Rights};

/// The configured rules. Where there is none, everybody may have everything.
#[derive(Clone, Debug, Default)]
pub struct AccessRules {
    /// For whom each of them is.
    identities: Arc<[Option<Vec<Pattern>>]>,
    grants: Arc<[Grant]>,
}

impl AccessRules {
    /// These rules: a client may have what one of them allows, and nothing else.
    pub fn new(rules: Vec<AccessRule>) -> Self {
        let parts = rules
            .into_iter()
            .map(|AccessRule { identities, types, names }| (identities, Grant { types, names }));
        let (identities, grants): (Vec<_>, Vec<_>) = parts.unzip();
        Self { identities: identities.into(), grants: grants.into() }
    }

    /// What a client may have whose parameters for `keys` are `enforced`.
    pub(crate) fn rights(
        &self,
        identity: Option<&Identity>,
        keys: &Arc<[String]>,
        enforced: DynamicParameters,
    ) -> Rights {
        let is_for = |patterns: &[Pattern]| {
            identity.is_some_and(|identity| patterns.iter().any(|pattern| identity.matches(pattern)))
        };
        let fitting = self.identities.iter().enumerate();
        let fitting =
            fitting.filter(|(_, identities)| identities.as_deref().is_none_or(is_for)).map(|(i, _)| i);
        Rights::new((&self.grants, fitting.collect()), (keys, enforced), || holder(identity))
    }
}

/// The client, for people.
pub(crate) fn holder(identity: Option<&Identity>) -> String {
    identity.map_or_else(|| "no certificate".to_owned(), Identity::to_string)
}

#[cfg(test)]
mod tests {
    use weir_types::TypeUrl;

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
}
