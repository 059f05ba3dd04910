//! Regular expressions.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

/// A regular expression. Two are equal if they are written alike.
#[derive(Clone, Debug)]
pub struct Regex(regex::Regex);

impl Deref for Regex {
    type Target = regex::Regex;

    fn deref(&self) -> &regex::Regex {
        &self.0
    }
}

impl PartialEq for Regex {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl fmt::Display for Regex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Regex {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        regex::Regex::new(text).map(Self).map_err(|error| {
            let error = error.to_string();
            let reason = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
            format!("{text:?} is not a regular expression: {reason}")
        })
    }
}
