//! Which clients are asked about: `envoy.type.matcher.v3.NodeMatcher`.

use prost_types::value::Kind;
use prost_types::{Struct, Value};
use regex::Regex;
use tonic::Status;
use weir_wire::discovery::Node;
use weir_wire::status::double_matcher::MatchPattern as Number;
use weir_wire::status::list_matcher::MatchPattern as List;
use weir_wire::status::string_matcher::MatchPattern as Text;
use weir_wire::status::struct_matcher::path_segment::Segment;
use weir_wire::status::value_matcher::MatchPattern;
use weir_wire::status::{NodeMatcher, StringMatcher, StructMatcher, ValueMatcher};

use crate::metadata;

/// How deep matchers may nest.
const MAX_DEPTH: usize = 16;

/// Matchers, of which one has to match; none of them match all.
#[derive(Debug)]
pub(super) struct Matchers(Vec<Matcher>);

#[derive(Debug)]
struct Matcher {
    id: Option<TextMatcher>,
    metadata: Vec<(Vec<String>, Test)>,
}

#[derive(Debug)]
enum Test {
    Null,
    Text(TextMatcher),
    Equal(f64),
    Within { start: f64, end: f64 },
    Bool(bool),
    Present(bool),
    OneOf(Box<Test>),
    Any(Vec<Test>),
}

#[derive(Debug)]
struct TextMatcher {
    pattern: Pattern,
    ignore_case: bool,
}

#[derive(Debug)]
enum Pattern {
    Exact(String),
    Prefix(String),
    Suffix(String),
    Contains(String),
    Regex(Regex),
}

fn invalid(field: &str, why: impl std::fmt::Display) -> Status {
    Status::invalid_argument(format!("node_matchers: {field}: {why}"))
}

impl Matchers {
    /// At most `most` of them.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for what is no matcher, or none that is known here.
    pub(super) fn new(matchers: &[NodeMatcher], most: usize) -> Result<Self, Status> {
        if matchers.len() > most {
            let count = matchers.len();
            return Err(Status::invalid_argument(format!(
                "node_matchers: {count} are over the limit of {most}"
            )));
        }
        matchers.iter().map(Matcher::new).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn admit(&self, node: &Node) -> bool {
        self.0.is_empty() || self.0.iter().any(|matcher| matcher.matches(node))
    }
}

impl Matcher {
    fn new(matcher: &NodeMatcher) -> Result<Self, Status> {
        let metadata = |matcher: &StructMatcher| -> Result<_, Status> {
            let key = |segment: &weir_wire::status::struct_matcher::PathSegment| match &segment.segment {
                Some(Segment::Key(key)) => Ok(key.clone()),
                None => Err(invalid("path", "a segment without a key")),
            };
            let path = matcher.path.iter().map(key).collect::<Result<_, _>>()?;
            Ok((path, Test::new(matcher.value.as_ref(), 0)?))
        };
        Ok(Self {
            id: matcher.node_id.as_ref().map(TextMatcher::new).transpose()?,
            metadata: matcher.node_metadatas.iter().map(metadata).collect::<Result<_, _>>()?,
        })
    }

    fn matches(&self, node: &Node) -> bool {
        let nothing = Struct::default();
        let fields = node.metadata.as_ref().unwrap_or(&nothing);
        self.id.as_ref().is_none_or(|id| id.matches(&node.id))
            && self.metadata.iter().all(|(path, test)| test.matches(metadata::at(fields, path)))
    }
}

impl Test {
    fn new(matcher: Option<&ValueMatcher>, depth: usize) -> Result<Self, Status> {
        if depth > MAX_DEPTH {
            return Err(invalid("value", format!("it nests deeper than {MAX_DEPTH}")));
        }
        let inner = |matcher| Self::new(Some(matcher), depth + 1);
        Ok(match matcher.and_then(|matcher| matcher.match_pattern.as_ref()) {
            None => return Err(invalid("value", "there is no pattern, or none that is known")),
            Some(MatchPattern::NullMatch(_)) => Self::Null,
            Some(MatchPattern::BoolMatch(wanted)) => Self::Bool(*wanted),
            Some(MatchPattern::PresentMatch(wanted)) => Self::Present(*wanted),
            Some(MatchPattern::StringMatch(text)) => Self::Text(TextMatcher::new(text)?),
            Some(MatchPattern::DoubleMatch(number)) => match &number.match_pattern {
                Some(Number::Exact(number)) => Self::Equal(*number),
                Some(Number::Range(range)) => Self::Within { start: range.start, end: range.end },
                None => return Err(invalid("double_match", "there is no pattern")),
            },
            Some(MatchPattern::ListMatch(list)) => match &list.match_pattern {
                Some(List::OneOf(matcher)) => Self::OneOf(Box::new(inner(matcher)?)),
                None => return Err(invalid("list_match", "there is no pattern")),
            },
            Some(MatchPattern::OrMatch(any)) => {
                Self::Any(any.value_matchers.iter().map(inner).collect::<Result<_, _>>()?)
            }
        })
    }

    fn matches(&self, value: Option<&Value>) -> bool {
        let kind = value.and_then(|value| value.kind.as_ref());
        match (self, kind) {
            (Self::Present(wanted), kind) => kind.is_some() == *wanted,
            (Self::Any(any), _) => any.iter().any(|test| test.matches(value)),
            (Self::Null, Some(Kind::NullValue(_))) => true,
            (Self::Bool(wanted), Some(Kind::BoolValue(value))) => wanted == value,
            (Self::Text(text), Some(Kind::StringValue(value))) => text.matches(value),
            (Self::Equal(wanted), Some(Kind::NumberValue(value))) => wanted == value,
            (Self::Within { start, end }, Some(Kind::NumberValue(value))) => (start..end).contains(&value),
            (Self::OneOf(test), Some(Kind::ListValue(list))) => {
                list.values.iter().any(|value| test.matches(Some(value)))
            }
            _ => false,
        }
    }
}

impl TextMatcher {
    fn new(matcher: &StringMatcher) -> Result<Self, Status> {
        let ignore_case = matcher.ignore_case;
        let folded = |text: &String| if ignore_case { text.to_ascii_lowercase() } else { text.clone() };
        let pattern = match &matcher.match_pattern {
            None => return Err(invalid("string", "there is no pattern, or none that is known")),
            Some(Text::Exact(text)) => Pattern::Exact(folded(text)),
            Some(Text::Prefix(text)) => Pattern::Prefix(folded(text)),
            Some(Text::Suffix(text)) => Pattern::Suffix(folded(text)),
            Some(Text::Contains(text)) => Pattern::Contains(folded(text)),
            Some(Text::SafeRegex(regex)) => {
                let whole = format!("^(?:{})$", regex.regex);
                Pattern::Regex(Regex::new(&whole).map_err(|error| invalid("safe_regex", error))?)
            }
        };
        Ok(Self { pattern, ignore_case })
    }

    fn matches(&self, text: &str) -> bool {
        let lower = (self.ignore_case).then(|| text.to_ascii_lowercase());
        let folded = lower.as_deref().unwrap_or(text);
        match &self.pattern {
            Pattern::Exact(wanted) => folded == wanted,
            Pattern::Prefix(wanted) => folded.starts_with(wanted),
            Pattern::Suffix(wanted) => folded.ends_with(wanted),
            Pattern::Contains(wanted) => folded.contains(wanted),
            Pattern::Regex(regex) => regex.is_match(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_wire::status::struct_matcher::PathSegment;
    use weir_wire::status::{DoubleMatcher, ListMatcher, OrMatcher, double_matcher, string_matcher};

    use super::*;

    fn text(pattern: Text, ignore_case: bool) -> StringMatcher {
        StringMatcher { match_pattern: Some(pattern), ignore_case }
    }

    fn value(pattern: MatchPattern) -> ValueMatcher {
        ValueMatcher { match_pattern: Some(pattern) }
    }

    fn node() -> Node {
        let text = |text: &str| Value { kind: Some(Kind::StringValue(text.to_owned())) };
        let list = Kind::ListValue(prost_types::ListValue { values: vec![text("a"), text("b")] });
        let inner = Struct { fields: [("tier".to_owned(), text("edge"))].into() };
        let fields = [
            ("labels".to_owned(), Value { kind: Some(Kind::StructValue(inner)) }),
            ("shard".to_owned(), Value { kind: Some(Kind::NumberValue(7.0)) }),
            ("canary".to_owned(), Value { kind: Some(Kind::BoolValue(true)) }),
            ("zones".to_owned(), Value { kind: Some(list) }),
        ];
        Node { id: "Web-1".to_owned(), metadata: Some(Struct { fields: fields.into() }), ..Node::default() }
    }

    fn admits(matcher: NodeMatcher) -> bool {
        Matchers::new(&[matcher], 1).unwrap().admit(&node())
    }

    #[test]
    fn ids_are_matched_as_text() {
        let regex = |regex: &str| Text::SafeRegex(string_matcher::Regex { regex: regex.to_owned() });
        for (pattern, ignore_case, wanted) in [
            (Text::Exact("Web-1".to_owned()), false, true),
            (Text::Exact("WEB-1".to_owned()), false, false),
            (Text::Exact("WEB-1".to_owned()), true, true),
            (Text::Prefix("web".to_owned()), true, true),
            (Text::Suffix("-1".to_owned()), false, true),
            (Text::Contains("eb-".to_owned()), false, true),
            (regex("Web-[0-9]"), false, true),
            (regex("eb"), false, false),
        ] {
            let node_id = Some(text(pattern.clone(), ignore_case));
            assert_eq!(admits(NodeMatcher { node_id, node_metadatas: Vec::new() }), wanted, "{pattern:?}");
        }
    }

    #[test]
    fn metadata_is_matched_by_path() {
        let number = |pattern| MatchPattern::DoubleMatch(DoubleMatcher { match_pattern: Some(pattern) });
        let is = |wanted: &str| MatchPattern::StringMatch(text(Text::Exact(wanted.to_owned()), false));
        let one_of = |pattern| {
            let one_of = List::OneOf(Box::new(value(pattern)));
            MatchPattern::ListMatch(Box::new(ListMatcher { match_pattern: Some(one_of) }))
        };
        let range = |start, end| number(Number::Range(double_matcher::Range { start, end }));
        for (path, pattern, wanted) in [
            (&["labels", "tier"][..], is("edge"), true),
            (&["labels", "tier"], is("core"), false),
            (&["labels", "tier", "x"], is("edge"), false),
            (&["shard"], number(Number::Exact(7.0)), true),
            (&["shard"], range(7.0, 8.0), true),
            (&["shard"], range(6.0, 7.0), false),
            (&["canary"], MatchPattern::BoolMatch(true), true),
            (&["canary"], MatchPattern::NullMatch(Default::default()), false),
            (&["gone"], MatchPattern::PresentMatch(false), true),
            (&["canary"], MatchPattern::PresentMatch(true), true),
            (&["zones"], one_of(is("b")), true),
            (&["zones"], one_of(is("c")), false),
            (
                &["labels", "tier"],
                MatchPattern::OrMatch(OrMatcher { value_matchers: vec![value(is("x")), value(is("edge"))] }),
                true,
            ),
        ] {
            let segment = |key: &&str| PathSegment { segment: Some(Segment::Key((*key).to_owned())) };
            let path: Vec<_> = path.iter().map(segment).collect();
            let metadata = StructMatcher { path: path.clone(), value: Some(value(pattern.clone())) };
            let matcher = NodeMatcher { node_id: None, node_metadatas: vec![metadata] };
            assert_eq!(admits(matcher), wanted, "{path:?} {pattern:?}");
        }
    }

    #[test]
    fn e05_what_is_no_matcher_is_refused_with_its_place() {
        let regex = Text::SafeRegex(string_matcher::Regex { regex: "(".to_owned() });
        let deep = (0..40).fold(MatchPattern::PresentMatch(true), |pattern, _| {
            MatchPattern::OrMatch(OrMatcher { value_matchers: vec![value(pattern)] })
        });
        let of_value = |value| StructMatcher { path: Vec::new(), value };
        for (node_id, metadata, wanted) in [
            (Some(StringMatcher::default()), None, "node_matchers: string: there is no pattern"),
            (Some(text(regex, false)), None, "node_matchers: safe_regex: regex parse error"),
            (None, Some(of_value(None)), "node_matchers: value: there is no pattern"),
            (None, Some(of_value(Some(value(deep)))), "node_matchers: value: it nests deeper than 16"),
        ] {
            let matcher = NodeMatcher { node_id, node_metadatas: metadata.into_iter().collect() };
            let status = Matchers::new(&[matcher], 1).unwrap_err();
            assert_eq!(status.code(), tonic::Code::InvalidArgument);
            assert!(status.message().starts_with(wanted), "{status}");
        }
        let many = vec![NodeMatcher::default(); 2];
        let status = Matchers::new(&many, 1).unwrap_err();
        assert_eq!(status.message(), "node_matchers: 2 are over the limit of 1");
    }

    #[test]
    fn without_matchers_everyone_is_meant() {
        assert!(Matchers::new(&[], 1).unwrap().admit(&node()));
        assert!(admits(NodeMatcher::default()));
    }
}
