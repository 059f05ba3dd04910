//! `xdstp://` names: `xdstp://[authority]/TYPE/ID?key=value&…#directive,…` (xRFC TP1).
//!
//! Owns their one canonical spelling, and which collection a name belongs to. Weir compares
//! names as texts, so a [`Name`] is made canonical when it is made. Names of any other form are opaque and stay as
//! they are.
//!
//! Two names are equal if their parts are, whatever the order of the context parameters. Of the spellings that
//! are then possible, the canonical one is Envoy's own: parameters in order, and the same characters escaped.
//! Envoy looks up what it is sent by just that text, where gRPC takes names apart.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::Name;

const SCHEME: &str = "xdstp:";

/// What is escaped in the parts of a name, beside control characters and what is not ASCII.
const ESCAPED_IN_AUTHORITY: &[u8] = b"%/?#";
const ESCAPED_IN_PATH: &[u8] = b"%:?#[]";
const ESCAPED_IN_PARAMETERS: &[u8] = b"%#[]&=";

/// Why a name that starts like an `xdstp://` name is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MalformedName {
    /// There is no `//` after the scheme.
    #[error("an xdstp name starts with xdstp://")]
    NoAuthority,
    /// The path has no first part.
    #[error("an xdstp name has a resource type after the authority: xdstp://authority/TYPE/ID")]
    NoType,
    /// The path has no second part.
    #[error("an xdstp name has an id after the resource type: xdstp://authority/TYPE/ID")]
    NoId,
    /// A `%` without two hexadecimal digits behind it.
    #[error("a % that is not followed by two hexadecimal digits")]
    Escape,
    /// A context parameter without a key.
    #[error("a context parameter without a key")]
    NoKey,
    /// The same key twice: nobody can know which of the two is meant.
    #[error("the context parameter {0} is given twice")]
    TwiceTheKey(String),
}

/// The canonical spelling of a name; of one without the scheme, the name itself.
///
/// # Errors
/// When it has the scheme and not the form.
pub fn canonical(name: &str) -> Result<Cow<'_, str>, MalformedName> {
    let Some(rest) = name.strip_prefix(SCHEME) else { return Ok(Cow::Borrowed(name)) };
    let rest = rest.strip_prefix("//").ok_or(MalformedName::NoAuthority)?;
    let (rest, directives) = rest.split_at(rest.find('#').unwrap_or(rest.len()));
    let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = rest.split_once('/').ok_or(MalformedName::NoType)?;
    let (type_name, id) = path.split_once('/').unwrap_or((path, ""));
    if type_name.is_empty() {
        return Err(MalformedName::NoType);
    }
    if id.is_empty() {
        return Err(MalformedName::NoId);
    }
    let mut spelled = String::with_capacity(name.len());
    spelled.push_str("xdstp://");
    respell(&mut spelled, authority, ESCAPED_IN_AUTHORITY)?;
    spelled.push('/');
    respell(&mut spelled, type_name, ESCAPED_IN_PATH)?;
    spelled.push('/');
    respell(&mut spelled, id, ESCAPED_IN_PATH)?;
    for (index, (key, value)) in sorted(parameters)?.into_iter().enumerate() {
        let mark = if index == 0 { '?' } else { '&' };
        spelled.extend([mark]);
        spelled.extend([&*key, "=", &*value]);
    }
    // A directive is for the client that follows it.
    spelled.push_str(directives);
    Ok(Cow::Owned(spelled))
}

/// The canonical spelling of what has one; anything else stays as it is, and is somebody else's to refuse.
pub(crate) fn canonical_or_same(name: &str) -> Cow<'_, str> {
    canonical(name).unwrap_or(Cow::Borrowed(name))
}

/// The authority that a resource name belongs to: that of an `xdstp://authority/…` name, else empty.
pub fn authority(name: &str) -> &str {
    name.strip_prefix("xdstp://").and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default()
}

/// Whether a canonical name is that of a glob collection: its path ends in `/*`.
pub fn is_glob(name: &str) -> bool {
    directory(name).is_some_and(|(_, leaf, _)| leaf == "*")
}

/// The glob collection that the resource with this name belongs to: the one of its directory, with the same
/// context parameters. Names that are not `xdstp://` names belong to none.
pub fn glob_of(name: &Name) -> Option<Name> {
    let (directory, leaf, parameters) = directory(name)?;
    (!leaf.is_empty() && leaf != "*").then(|| Name::of_canonical([directory, "*", parameters].concat()))
}

/// The collections that the resource with this name may be part of: the wildcard, and its glob.
pub fn collections_of(name: &Name) -> impl Iterator<Item = Name> {
    [Name::wildcard().clone()].into_iter().chain(glob_of(name))
}

/// A canonical name, taken apart: up to the last `/` of the path, the rest of the path, and the parameters with
/// their `?`. None for names that are not `xdstp://` names, and for those with directives.
fn directory(name: &str) -> Option<(&str, &str, &str)> {
    name.strip_prefix("xdstp://").filter(|rest| !rest.contains('#'))?;
    let (path, parameters) = name.split_at(name.find('?').unwrap_or(name.len()));
    let (directory, leaf) = path.split_at(path.rfind('/')? + 1);
    Some((directory, leaf, parameters))
}

/// The context parameters, respelled and in order.
fn sorted(parameters: &str) -> Result<BTreeMap<String, String>, MalformedName> {
    let mut sorted = BTreeMap::new();
    for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
        let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let (mut respelled, mut respelled_value) = (String::new(), String::new());
        respell(&mut respelled, key, ESCAPED_IN_PARAMETERS)?;
        respell(&mut respelled_value, value, ESCAPED_IN_PARAMETERS)?;
        if respelled.is_empty() {
            return Err(MalformedName::NoKey);
        }
        if sorted.contains_key(&respelled) {
            return Err(MalformedName::TwiceTheKey(respelled));
        }
        sorted.insert(respelled, respelled_value);
    }
    Ok(sorted)
}

/// Appends `part` with just these characters `escaped`.
fn respell(to: &mut String, part: &str, escaped: &[u8]) -> Result<(), MalformedName> {
    let mut bytes = part.bytes();
    while let Some(byte) = bytes.next() {
        let byte = match byte {
            b'%' => match (bytes.next().and_then(hex), bytes.next().and_then(hex)) {
                (Some(high), Some(low)) => high << 4 | low,
                _ => return Err(MalformedName::Escape),
            },
            byte => byte,
        };
        if !(b' '..b'~').contains(&byte) || escaped.contains(&byte) {
            // Writing to a text does not fail.
            _ = write!(to, "%{byte:02X}");
        } else {
            to.push(char::from(byte));
        }
    }
    Ok(())
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_xdstp_names_have_an_authority() {
        for (name, wanted) in [
            ("backend", ""),
            ("xdstp://acme.example/envoy.config.cluster.v3.Cluster/a?x=1", "acme.example"),
            ("xdstp:///envoy.config.cluster.v3.Cluster/a", ""),
            ("xdstp://acme.example?x=a/b", "acme.example"),
            ("https://acme.example/a", ""),
        ] {
            assert_eq!(authority(name), wanted, "{name}");
        }
    }

    #[test]
    fn w03_a_name_has_one_spelling_whatever_the_order_of_its_parameters() {
        for (spelling, canonical_spelling) in [
            ("backend?b=2&a=1", "backend?b=2&a=1"),
            ("route/*", "route/*"),
            ("xdstp://auth/T/a?b=2&a=1", "xdstp://auth/T/a?a=1&b=2"),
            ("xdstp:///T/a/b/c", "xdstp:///T/a/b/c"),
            ("xdstp://auth/T/a?", "xdstp://auth/T/a"),
            ("xdstp://auth/T/a?k", "xdstp://auth/T/a?k="),
            ("xdstp://auth/T/a?&b=2&", "xdstp://auth/T/a?b=2"),
            ("xdstp://auth/T/a%2fb%41?%6b=%c3%a9%3d", "xdstp://auth/T/a/bA?k=%C3%A9%3D"),
            ("xdstp://auth/T/é~:", "xdstp://auth/T/%C3%A9%7E%3A"),
            ("xdstp://auth/T/*?b=2&a=1", "xdstp://auth/T/*?a=1&b=2"),
            ("xdstp://auth/T/a?a=b=c", "xdstp://auth/T/a?a=b%3Dc"),
        ] {
            assert_eq!(canonical(spelling).as_deref(), Ok(canonical_spelling), "{spelling}");
        }
    }

    #[test]
    fn w05_directives_stay_as_they_are() {
        for name in ["#entry=b", "#alt=xdstp://other/T/b?z=1&a=2", "?b=2#alt=xdstp%3A%2F%2Fother,entry=%zz"] {
            let name = format!("xdstp://auth/TCollection/a{name}");
            assert_eq!(canonical(&name).as_deref(), Ok(&*name));
            assert_eq!(glob_of(&name.into()), None);
        }
    }

    #[test]
    fn w03_a_malformed_name_says_what_is_wrong() {
        for (name, error) in [
            ("xdstp:auth/T/a", MalformedName::NoAuthority),
            ("xdstp://", MalformedName::NoType),
            ("xdstp://auth", MalformedName::NoType),
            ("xdstp://auth/", MalformedName::NoType),
            ("xdstp://auth//a", MalformedName::NoType),
            ("xdstp://auth?a=/T/b", MalformedName::NoType),
            ("xdstp://auth/T", MalformedName::NoId),
            ("xdstp://auth/T/?a=1", MalformedName::NoId),
            ("xdstp://auth/T/a%", MalformedName::Escape),
            ("xdstp://auth/T/a%4", MalformedName::Escape),
            ("xdstp://auth/T/a%é", MalformedName::Escape),
            ("xdstp://auth/T/a?=1", MalformedName::NoKey),
            ("xdstp://auth/T/a?b=1&%62=2", MalformedName::TwiceTheKey("b".into())),
        ] {
            assert_eq!(canonical(name), Err(error), "{name}");
            assert_eq!(canonical_or_same(name), name);
        }
    }

    #[test]
    fn w04_a_glob_has_the_names_of_its_directory_with_equal_parameters() {
        for (name, glob) in [
            ("xdstp://auth/T/foo/bar", Some("xdstp://auth/T/foo/*")),
            ("xdstp://auth/T/foo/bar?a=1&b=2", Some("xdstp://auth/T/foo/*?a=1&b=2")),
            ("xdstp://auth/T/foo/bar?a=/x", Some("xdstp://auth/T/foo/*?a=/x")),
            ("xdstp://auth/T/foo/bar/baz", Some("xdstp://auth/T/foo/bar/*")),
            ("xdstp:///T/bar", Some("xdstp:///T/*")),
            ("xdstp://auth/T/foo/*", None),
            ("xdstp://auth/T/foo/", None),
            ("foo/bar", None),
        ] {
            assert_eq!(glob_of(&name.into()).as_deref(), glob, "{name}");
            assert_eq!(glob.map(is_glob), glob.map(|_| true));
            assert_eq!(is_glob(name), name.ends_with('*'));
        }
        assert!(!is_glob("foo/*") && !is_glob("*") && !is_glob("xdstp://auth/T/foo*"));
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof!["[a-c/*:%#?&=é~ \\[\\]]{0,6}", "\\PC{0,4}"]
    }

    /// `text` with every byte escaped for which `choice` asks for it, and those that must be.
    fn escape(text: &str, choice: u64) -> String {
        let escaped = text.bytes().enumerate().map(|(at, byte)| match byte {
            b'a'..=b'z' | b'/' if choice >> (at % 64) & 1 == 0 => char::from(byte).to_string(),
            byte => format!("%{byte:02x}"),
        });
        escaped.collect()
    }

    proptest! {
        #[test]
        fn w03_anything_is_read_without_a_panic(name in "(xdstp:)?(//)?\\PC{0,24}") {
            let spelled = canonical(&name);
            if let Ok(spelled) = spelled {
                prop_assert_eq!(canonical(&spelled), Ok(Cow::Borrowed(&*spelled)), "canonical for good");
                prop_assert_eq!(authority(&name).is_empty(), authority(&spelled).is_empty());
            }
            _ = (glob_of(&name.as_str().into()), is_glob(&name));
        }

        #[test]
        fn w03_equal_parts_make_equal_names_and_others_do_not(
            authority in text(),
            id in text().prop_filter("an id", |id| !id.is_empty()),
            parameters in prop::collection::btree_map("[a-c&=#é]{1,3}", text(), 0..4),
            other in prop::collection::btree_map("[a-c&=#é]{1,3}", text(), 0..4),
            choices in any::<[u64; 2]>(),
            rotation in 0_usize..4,
        ) {
            let spell = |parameters: &BTreeMap<String, String>, choice: u64, rotation: usize| {
                let mut pairs: Vec<_> = parameters
                    .iter()
                    .map(|(key, value)| format!("{}={}", escape(key, choice), escape(value, choice)))
                    .collect();
                if !pairs.is_empty() {
                    let middle = rotation % pairs.len();
                    pairs.rotate_left(middle);
                }
                let authority = escape(&authority, u64::MAX);
                format!("xdstp://{authority}/T/{}?{}", escape(&id, choice), pairs.join("&"))
            };
            let one = spell(&parameters, choices[0], 0);
            let same = spell(&parameters, choices[1], rotation);
            let another = spell(&other, choices[1], rotation);
            prop_assert!(canonical(&one).is_ok(), "{}", one);
            prop_assert_eq!(canonical(&one), canonical(&same));
            prop_assert_eq!(canonical(&one) == canonical(&another), parameters == other);
        }
    }
}
