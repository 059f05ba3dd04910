//! Who a peer is, by its certificate.

use std::fmt;

use weir_types::Pattern;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

/// The subject alternative names of a certificate that was verified.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    uris: Vec<String>,
    dns: Vec<String>,
}

impl Identity {
    /// An identity with these names.
    pub fn new(uris: Vec<String>, dns: Vec<String>) -> Self {
        Self { uris, dns }
    }

    /// That of a certificate, in DER; without names where it cannot be read.
    pub fn of(certificate: &[u8]) -> Self {
        let mut identity = Self::default();
        let Ok((_, certificate)) = X509Certificate::from_der(certificate) else { return identity };
        let Ok(Some(names)) = certificate.subject_alternative_name() else { return identity };
        for name in &names.value.general_names {
            match name {
                GeneralName::URI(uri) => identity.uris.push((*uri).to_owned()),
                // Host names are equal whatever the case.
                GeneralName::DNSName(dns) => identity.dns.push(dns.to_ascii_lowercase()),
                _ => {}
            }
        }
        identity
    }

    /// The names that are URIs.
    pub fn uris(&self) -> &[String] {
        &self.uris
    }

    /// The names that are DNS names, in lower case.
    pub fn dns(&self) -> &[String] {
        &self.dns
    }

    /// The SPIFFE id: "an X.509 SVID MUST contain exactly one URI SAN" (SPIFFE X.509-SVID, section 2), so what has
    /// two has none.
    pub fn spiffe(&self) -> Option<&str> {
        let [uri] = self.uris.as_slice() else { return None };
        uri.starts_with("spiffe://").then_some(uri)
    }

    /// Whether one of the names matches `pattern`. A pattern with a `/` is for URIs, `*` for any name, every other
    /// one for DNS names.
    pub fn matches(&self, pattern: &Pattern) -> bool {
        let (uris, dns) = match (pattern.is_any(), pattern.text().contains('/')) {
            (true, _) => (&*self.uris, &*self.dns),
            (false, true) => (&*self.uris, &[][..]),
            (false, false) => (&[][..], &*self.dns),
        };
        uris.iter().chain(dns).any(|name| pattern.matches(name))
    }
}

/// The names, for logs.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.uris.is_empty() && self.dns.is_empty() {
            return f.write_str("(no names)");
        }
        for (i, name) in self.uris.iter().chain(&self.dns).enumerate() {
            // The content of a certificate may be anything.
            write!(f, "{}{}", if i == 0 { "" } else { "," }, name.escape_default())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(uris: &[&str], dns: &[&str]) -> Identity {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Identity::new(owned(uris), owned(dns))
    }

    #[test]
    fn patterns_are_for_one_kind_of_name() {
        let web = identity(&["spiffe://prod.example/ns/shop/sa/web"], &["web.shop.example"]);
        for (pattern, wanted) in [
            ("*", true),
            ("spiffe://prod.example/ns/shop/sa/web", true),
            ("spiffe://prod.example/*", true),
            ("spiffe://prod.example.evil/*", false),
            ("spiffe://prod.exam*", true),
            ("*.shop.example", true),
            ("web.shop.example", true),
            ("web.shop", false),
            ("*/sa/web", true),
            // This one looks like a DNS name, and is asked of those only.
            ("spiffe*", false),
        ] {
            assert_eq!(web.matches(&pattern.parse().unwrap()), wanted, "{pattern}");
        }
        assert!(!Identity::default().matches(&"*".parse().unwrap()), "no name is no identity");
        let forged = identity(&[], &["spiffe://prod.example/ns/shop"]);
        assert!(!forged.matches(&"spiffe://prod.example/*".parse().unwrap()));
    }

    #[test]
    fn a_spiffe_id_is_the_only_uri() {
        for (uris, wanted) in [
            (&["spiffe://a/b"][..], Some("spiffe://a/b")),
            (&["https://a/b"], None),
            (&["spiffe://a/b", "spiffe://a/c"], None),
            (&[], None),
        ] {
            assert_eq!(identity(uris, &["a"]).spiffe(), wanted, "{uris:?}");
        }
    }

    #[test]
    fn what_is_no_certificate_has_no_names() {
        assert_eq!(Identity::of(b"nothing"), Identity::default());
        assert_eq!(identity(&["a\n"], &["b"]).to_string(), "a\\n,b");
    }
}
