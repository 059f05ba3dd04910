//! Texts with placeholders for dynamic parameters.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::values::text;

/// A text with `{key}` where the value of a dynamic parameter goes; `{{` and `}}` are braces.
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
        let mut template = Self::default();
        template.push(Segment::Text(text.into()));
        template
    }

    /// Appends a piece. Texts are never empty, and never follow each other.
    pub(crate) fn push(&mut self, segment: Segment) {
        match (self.0.last_mut(), segment) {
            (Some(Segment::Text(text)), Segment::Text(more)) => text.push_str(&more),
            (_, Segment::Text(text)) if text.is_empty() => {}
            (_, segment) => self.0.push(segment),
        }
    }

    /// The template that `text` is.
    ///
    /// # Errors
    /// Why it is none, without the text.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let mut segments = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            plain.push_str(&rest[..at]);
            let (brace, after) = rest[at..].split_at(1);
            if let Some(after) = after.strip_prefix(brace) {
                plain.push_str(brace);
                rest = after;
                continue;
            }
            if brace == "}" {
                return Err("a } without a {");
            }
            let Some((key, after)) = after.split_once('}') else { return Err("a { without a }") };
            if key.is_empty() || key.contains('{') {
                return Err("a { without a key");
            }
            if !plain.is_empty() {
                segments.push(Segment::Text(std::mem::take(&mut plain)));
            }
            segments.push(Segment::Key(key.to_owned()));
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            segments.push(Segment::Text(plain));
        }
        Ok(Self(segments))
    }

    /// The text, with the value of each key in place of its placeholder; none where one of them has no value.
    pub fn fill(&self, mut value: impl FnMut(&str) -> Option<String>) -> Option<String> {
        let segments = self.0.iter().map(|segment| match segment {
            Segment::Text(text) => Some(text.clone()),
            Segment::Key(key) => value(key),
        });
        segments.collect()
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
        Self::parse(text)
            .map_err(|why| format!("{text:?} is not a template: {why}; write it like \"weir-{{env}}\""))
    }
}

/// As it is written: the same template when it is read again.
impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|segment| match segment {
            Segment::Text(text) => f.write_str(&text.replace('{', "{{").replace('}', "}}")),
            Segment::Key(key) => write!(f, "{{{key}}}"),
        })
    }
}

impl Serialize for Template {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Template {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text::deserialize(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p15_a_template_reads_as_it_is_written() {
        for (text, keys) in [
            ("weir", &[][..]),
            ("", &[]),
            ("{env}", &["env"]),
            ("a-{env}-{zone}b", &["env", "zone"]),
            ("{{env}}-{env}", &["env"]),
        ] {
            let template: Template = text.parse().unwrap();
            assert_eq!(
                (template.to_string().as_str(), template.keys().collect::<Vec<_>>().as_slice()),
                (text, keys)
            );
        }
        assert_eq!(Template::fixed("{a}").to_string(), "{{a}}");
    }

    #[test]
    fn p15_a_template_is_filled_where_each_key_has_a_value() {
        let template: Template = "{{a-{env}-{zone}".parse().unwrap();
        assert_eq!(template.fill(|key| Some(key.to_uppercase())).as_deref(), Some("{a-ENV-ZONE"));
        assert_eq!(template.fill(|key| (key == "env").then(String::new)), None);
    }
}
