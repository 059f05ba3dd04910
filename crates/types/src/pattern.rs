//! Texts that a rule is for: one, or all that begin or end alike.

use std::fmt;
use std::str::FromStr;

/// A text (`shop`), everything that begins with one (`shop-*`) or ends with one (`*.shop`), or everything (`*`).
/// The star stands for any characters, none and `/` included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Exact,
    Prefix,
    Suffix,
}

impl Pattern {
    /// Whether `text` is one that this is for. The name of a collection is what it stands for: a prefix is for
    /// the globs below it, and only `*` is for the wildcard.
    pub fn matches(&self, text: &str) -> bool {
        match self.kind {
            Kind::Exact => text == self.text,
            Kind::Prefix => text.starts_with(&self.text),
            Kind::Suffix => text.ends_with(&self.text),
        }
    }

    /// Whether this is for everything.
    pub fn is_any(&self) -> bool {
        self.kind == Kind::Prefix && self.text.is_empty()
    }

    /// What stands there beside the star.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(pattern: &str) -> Result<Self, String> {
        let (text, kind) = match (pattern.strip_suffix('*'), pattern.strip_prefix('*')) {
            (Some(text), _) => (text, Kind::Prefix),
            (None, Some(text)) => (text, Kind::Suffix),
            (None, None) => (pattern, Kind::Exact),
        };
        if pattern.is_empty() || text.contains('*') {
            return Err(format!(
                "{pattern:?} is no pattern; write a text, or one with a single * at its beginning or at its end"
            ));
        }
        Ok(Self { text: text.to_owned(), kind })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Exact => f.write_str(&self.text),
            Kind::Prefix => write!(f, "{}*", self.text),
            Kind::Suffix => write!(f, "*{}", self.text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters_at_one_end() {
        for (pattern, text, wanted) in [
            ("shop", "shop", true),
            ("shop", "shop-a", false),
            ("shop", "sho", false),
            ("shop-*", "shop-a", true),
            ("shop-*", "shop-", true),
            ("shop-*", "a-shop-", false),
            ("*.shop", "a.b.shop", true),
            ("*.shop", "shop", false),
            ("*", "", true),
            ("*", "*", true),
            ("shop-*", "*", false),
            ("*.shop", "*", false),
            ("xdstp://a/t/shop/*", "xdstp://a/t/shop/*?env=prod", true),
            ("xdstp://a/t/shop/*", "xdstp://a/t/shop/x", true),
            ("xdstp://a/t/shop/x*", "xdstp://a/t/shop/*", false),
            ("xdstp://a/t/shop/x", "xdstp://a/t/shop/*", false),
        ] {
            let parsed: Pattern = pattern.parse().unwrap();
            assert_eq!(parsed.matches(text), wanted, "{pattern} {text}");
            assert_eq!(parsed.to_string(), pattern);
            assert_eq!(parsed.is_any(), pattern == "*");
        }
    }

    #[test]
    fn what_is_no_pattern() {
        for text in ["", "**", "a*b", "*a*", "a**"] {
            text.parse::<Pattern>().unwrap_err();
        }
    }
}
