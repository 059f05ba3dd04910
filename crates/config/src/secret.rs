//! Values that nobody is shown.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

use crate::template::Template;

/// What stands in their place.
const REDACTED: &str = "[redacted]";

/// A text, which may have placeholders, that is never shown, neither in a log nor to operators.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Secret(Template);

impl Secret {
    /// The text, for those whom it is meant for.
    pub fn reveal(&self) -> &Template {
        &self.0
    }
}

/// The message is without the text.
impl TryFrom<String> for Secret {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let bad = |why| format!("the value is not a template: {why}; {{{{ and }}}} stand for braces");
        Template::parse(&text).map(Self).map_err(bad)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(REDACTED)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_differs_from_another_one_and_is_never_shown() {
        let secret = |text: &str| Secret::try_from(text.to_owned());
        let [one, same, other] = ["hunter2", "hunter2", "hunter3"].map(|text| secret(text).unwrap());
        assert!(one == same && one != other);
        assert_eq!(format!("{one:?}"), REDACTED);
        let document = toml::Value::try_from(&one).unwrap();
        assert_eq!(document.as_str(), Some(REDACTED));
        assert!(!format!("{one:?} {document}").contains("hunter2"));
        assert_eq!(one.reveal().to_string(), "hunter2");
        let error = secret("hunter2 {").unwrap_err();
        assert_eq!(error, "the value is not a template: a { without a }; {{ and }} stand for braces");
    }
}
