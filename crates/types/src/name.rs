//! The name of a resource, in the one spelling that names are compared in.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use crate::WILDCARD;
use crate::xdstp::canonical_or_same;

/// The name of a resource, an alias of one, or the name of a collection.
///
/// Always in canonical spelling ([`crate::xdstp`]): there is no way to make one without that, so equal names are equal
/// texts. A name that starts like an `xdstp://` name and is none keeps its spelling. There is no comparison with a
/// plain text, and no map of names is searched by one, since that text may be in another spelling.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(Arc<str>);

static WILDCARD_NAME: LazyLock<Name> = LazyLock::new(|| WILDCARD.into());

// === impl Name ===

impl Name {
    /// The name that stands for everything of a type ([`WILDCARD`]).
    pub fn wildcard() -> &'static Self {
        &WILDCARD_NAME
    }

    /// The name that `text` is, in canonical spelling already.
    pub(crate) fn of_canonical(text: String) -> Self {
        Self(text.into())
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Self(canonical_or_same(text).into())
    }
}

impl From<&String> for Name {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<Cow<'_, str>> for Name {
    fn from(text: Cow<'_, str>) -> Self {
        (&*text).into()
    }
}

impl From<&Name> for Name {
    fn from(name: &Name) -> Self {
        name.clone()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w07_a_name_is_made_in_its_canonical_spelling() {
        let canonical = "xdstp://auth/T/a?a=2&b=1";
        for spelling in [canonical, "xdstp://auth/T/a?b=1&a=2", "xdstp://auth/T/%61?b=1&&a=2"] {
            for name in [Name::from(spelling), spelling.to_string().into(), Cow::Borrowed(spelling).into()] {
                assert_eq!(&*name, canonical);
            }
        }
    }

    #[test]
    fn w07_what_has_no_canonical_spelling_stays_as_it_is() {
        for text in ["a?b=1&a=2", "*", "", "xdstp:auth", "xdstp://auth/T/a?a=1&a=2"] {
            assert_eq!(&*Name::from(text), text);
        }
    }
}
