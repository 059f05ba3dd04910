//! What headers of a control plane are filled with: names and parameters that the certificate of a client vouches for.
//!
//! Owns which values are safe in a header of several fields, such as `x-forwarded-client-cert`. Never reads a node.

use ring::digest::{Context, Digest, SHA256, digest as hash};
use weir_tls::Identity;
use weir_types::{DynamicParameters, IdentityField, NodeField};

use super::{ForwardError, shown};

/// What delimits, quotes or escapes the fields of a header.
const DELIMITERS: [char; 6] = [',', ';', '=', '%', '"', '\\'];

/// The values for `placeholders`.
///
/// # Errors
/// When the certificate gives no value for one of them, or one that is not safe.
pub(super) fn read(
    placeholders: &[String],
    identity: Option<&Identity>,
    enforced: &DynamicParameters,
) -> Result<DynamicParameters, ForwardError> {
    let values = placeholders.iter().map(|placeholder| {
        let value = match placeholder.parse() {
            Ok(NodeField::Identity(IdentityField::Spiffe)) => identity.and_then(Identity::spiffe),
            _ => enforced.get(placeholder),
        };
        match value {
            None | Some("") => Err(ForwardError::NoHeaderValue {
                identity: shown(identity),
                placeholder: placeholder.clone(),
            }),
            Some(value) if !is_safe(value) => Err(ForwardError::UnsafeHeaderValue {
                placeholder: placeholder.clone(),
                value: value.to_owned(),
            }),
            Some(value) => Ok((placeholder.as_str(), value)),
        }
    });
    values.collect()
}

fn is_safe(value: &str) -> bool {
    value.chars().all(|c| c.is_ascii_graphic() && !DELIMITERS.contains(&c))
}

/// The digest of an encoded node and these values, which no other node and values have.
pub(super) fn digest(encoded: &[u8], values: &DynamicParameters) -> Digest {
    let mut context = Context::new(&SHA256);
    context.update(hash(&SHA256, encoded).as_ref());
    for text in values.iter().flat_map(|(key, value)| [key, value]) {
        context.update(&(text.len() as u64).to_be_bytes());
        context.update(text.as_bytes());
    }
    context.finish()
}

#[cfg(test)]
mod tests {
    use weir_wire::discovery::Node;

    use super::super::{DIGEST_LENGTH, Forwarding, Target};
    use super::*;
    use weir_types::{ClientNode, Code};

    const SPIFFE: &str = "identity.spiffe";

    fn forwarding(placeholders: &[&str]) -> Forwarding {
        let target = Target {
            authority: Box::default(),
            parts: Vec::new(),
            max_size: 0,
            verify: Vec::new(),
            header_values: placeholders.iter().map(|text| (*text).to_owned()).collect(),
        };
        Forwarding::new([target].into())
    }

    fn identity(uris: &[&str]) -> Identity {
        Identity::new(uris.iter().map(|uri| (*uri).to_owned()).collect(), Vec::new())
    }

    fn node(placeholders: &[&str], uris: &[&str], env: Option<&str>) -> Result<ClientNode, ForwardError> {
        let enforced = env.map(|value| ("env", value)).into_iter().collect();
        let identity = (!uris.is_empty()).then(|| identity(uris));
        let nodes = forwarding(placeholders).nodes(&Node::default(), identity.as_ref(), &enforced)?;
        Ok(nodes.into_iter().next().expect("a target").1)
    }

    #[test]
    fn p21_clients_that_differ_in_a_value_have_other_digests() {
        let digest = |placeholders: &[&str], uri: &str, env: &str| {
            let node = node(placeholders, &[uri], Some(env)).unwrap();
            assert_eq!(node.digest().len(), 2 * DIGEST_LENGTH);
            node.digest().to_owned()
        };
        let one = digest(&[SPIFFE], "spiffe://td/a", "prod");
        assert_eq!(one, digest(&[SPIFFE], "spiffe://td/a", "test"), "no header has the parameter");
        assert_ne!(one, digest(&[SPIFFE], "spiffe://td/b", "prod"));
        let both = digest(&["env", SPIFFE], "spiffe://td/a", "prod");
        assert_ne!(both, one);
        assert_ne!(both, digest(&["env", SPIFFE], "spiffe://td/a", "test"));
        // It is part of the store's keys: a change loses what was stored.
        assert_eq!(both, "e92a85a15d4fb9b6348e2c39dc2f9b3d");
    }

    #[test]
    fn p21_a_client_without_a_value_or_with_one_that_is_not_safe_is_refused() {
        let value = |text: &str| node(&[SPIFFE], &[text], None).map(|node| node.header_values().to_string());
        assert_eq!(
            value("spiffe://td/ns/a_b-c.d~1"),
            Ok("{identity.spiffe=spiffe://td/ns/a_b-c.d~1}".into())
        );
        for end in [",", ";By=x", "=", "\"", "\\", " ", "\t", "\r\nx: y", "\0", "%3B", "\u{e9}", "\u{7f}"] {
            let uri = format!("spiffe://td/a{end}");
            let error = value(&uri).unwrap_err();
            assert_eq!((error.code(), error.reason()), (Code::PERMISSION_DENIED, "unsafe_header_value"));
            assert_eq!(
                error.to_string(),
                format!(
                    "{{identity.spiffe}} of the client must be visible ASCII without , ; = % \" and \\, since headers are \
                     filled with it (upstream.headers), got {uri:?}"
                )
            );
        }
        let two = ["spiffe://td/a", "spiffe://td/b"];
        for (placeholder, uris) in
            [(SPIFFE, &[][..]), (SPIFFE, &["https://a/"]), (SPIFFE, &two), ("env", &two[..1])]
        {
            let error = node(&[placeholder], uris, None).unwrap_err();
            assert_eq!((error.code(), error.reason()), (Code::PERMISSION_DENIED, "no_header_value"));
            assert!(error.to_string().contains(&format!("no value for {{{placeholder}}}")), "{error}");
        }
        assert!(node(&["env"], &[], Some("")).is_err());
    }

    #[test]
    fn p21_a_header_alone_is_no_claim() {
        assert!(forwarding(&[SPIFFE]).unverified().is_empty());
    }
}
