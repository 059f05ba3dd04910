//! Values that nobody is shown.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// What stands in their place.
const REDACTED: &str = "[redacted]";

/// A value that is never shown, neither in a log nor to operators.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub struct Secret(String);

impl Secret {
    /// The value, for those whom it is meant for.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(value: String) -> Self {
        Self(value)
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
        let [one, same, other] = ["hunter2", "hunter2", "hunter3"].map(|text| Secret::from(text.to_owned()));
        assert!(one == same && one != other);
        assert_eq!(format!("{one:?}"), REDACTED);
        let document = toml::Value::try_from(&one).unwrap();
        assert_eq!(document.as_str(), Some(REDACTED));
        assert!(!format!("{one:?} {document}").contains("hunter2"));
        assert_eq!(one.reveal(), "hunter2");
    }
}
