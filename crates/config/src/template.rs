//! Texts with placeholders for dynamic parameters.

use std::fmt;
use std::str::FromStr;

/// A text with `{key}` where the value of a dynamic parameter goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template(pub Vec<Segment>);

/// A piece of a [`Template`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// Taken as it is.
    Text(String),
    /// The value of this dynamic parameter.
    Key(String),
}

impl Template {
    /// The text without placeholders.
    pub fn fixed(text: impl Into<String>) -> Self {
        Self(vec![Segment::Text(text.into())])
    }

    /// The keys that it has placeholders for.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|segment| match segment {
            Segment::Key(key) => Some(key.as_str()),
            Segment::Text(_) => None,
        })
    }
}

impl FromStr for Template {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = |why| Err(format!("{text:?} is not a template: {why}; write it like \"weir-{{env}}\""));
        let mut segments = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, after) = rest.split_at(at);
            if after.starts_with('}') {
                return bad("a } without a {");
            }
            let Some((key, after)) = after[1..].split_once('}') else { return bad("a { without a }") };
            if key.is_empty() || key.contains('{') {
                return bad("a { without a key");
            }
            if !before.is_empty() {
                segments.push(Segment::Text(before.to_owned()));
            }
            segments.push(Segment::Key(key.to_owned()));
            rest = after;
        }
        if !rest.is_empty() {
            segments.push(Segment::Text(rest.to_owned()));
        }
        Ok(Self(segments))
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|segment| match segment {
            Segment::Text(text) => f.write_str(text),
            Segment::Key(key) => write!(f, "{{{key}}}"),
        })
    }
}
