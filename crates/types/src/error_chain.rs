//! Text of an error with its causes.

use std::iter::successors;

/// `text` of an error with its causes, each written once: the text of many errors already contains their cause.
pub fn with_causes(text: String, cause: Option<&(dyn std::error::Error + 'static)>) -> String {
    let causes = successors(cause, |cause| cause.source()).map(ToString::to_string);
    causes.fold(text, |text, cause| if text.contains(&cause) { text } else { format!("{text}: {cause}") })
}
