//! Resource types as people write them: a short name or a URL.

use std::str::FromStr;

use super::{KNOWN, TypeUrl};
use crate::similar;

/// Other words for types, beside the names of their messages.
const WORDS: [(&str, &str); 5] = [
    ("endpoint", "eds"),
    ("route", "rds"),
    ("scopedroute", "srds"),
    ("extension", "ecds"),
    ("extensionconfig", "ecds"),
];

/// A text that is neither the short name nor the URL of a resource type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}allowed are cds, eds, lds, rds, srds, vhds, sds, rtds, ecds, leds, or a type URL like \
     type.googleapis.com/envoy.config.cluster.v3.Cluster",
    .meant.map(|meant| format!("did you mean {meant}? ")).unwrap_or_default()
)]
pub struct NoSuchType {
    /// The short name that was probably meant.
    meant: Option<&'static str>,
}

/// By short name or URL.
impl FromStr for TypeUrl {
    type Err = NoSuchType;

    fn from_str(text: &str) -> Result<Self, NoSuchType> {
        let by_url = || text.contains('/').then(|| Self::new(text));
        Self::from_short_name(text).or_else(by_url).ok_or_else(|| NoSuchType { meant: meant(text) })
    }
}

/// The short name of the type that `text` describes by another word, or by a misspelled one.
fn meant(text: &str) -> Option<&'static str> {
    let text = text.rsplit('.').next()?.to_lowercase().replace(['-', '_', ' '], "");
    if let Some((short, ..)) = KNOWN.iter().find(|(short, ..)| *short == text) {
        return Some(short);
    }
    let messages =
        KNOWN.iter().filter_map(|(short, _, url)| Some((url.rsplit('.').next()?.to_lowercase(), *short)));
    let words: Vec<_> =
        WORDS.iter().map(|(word, short)| ((*word).to_owned(), *short)).chain(messages).collect();
    let singular = text.strip_suffix('s').unwrap_or(&text);
    let nearest = similar(singular, words.iter().map(|(word, _)| word.as_str()))?;
    words.iter().find(|(word, _)| word == nearest).map(|(_, short)| *short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_and_urls_are_types() {
        assert_eq!("cds".parse(), Ok(TypeUrl::new(KNOWN[0].2)));
        assert_eq!("a.example/acme.Widget".parse(), Ok(TypeUrl::new("a.example/acme.Widget")));
    }

    #[test]
    fn other_words_have_a_suggestion() {
        for (text, wanted) in [
            ("clusters", Some("cds")),
            ("clsuters", Some("cds")),
            ("CDS", Some("cds")),
            ("envoy.config.cluster.v3.Cluster", Some("cds")),
            ("endpoints", Some("eds")),
            ("virtual-host", Some("vhds")),
            ("routes", Some("rds")),
            ("xds", None),
            ("", None),
            ("widgets", None),
        ] {
            assert_eq!(text.parse::<TypeUrl>().unwrap_err().meant, wanted, "{text}");
        }
        let error = "clsuters".parse::<TypeUrl>().unwrap_err().to_string();
        assert!(error.starts_with("did you mean cds? allowed are cds, eds, "), "{error}");
        let error = "widgets".parse::<TypeUrl>().unwrap_err().to_string();
        assert!(error.starts_with("allowed are cds, eds, "), "{error}");
    }
}
