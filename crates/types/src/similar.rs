//! Suggestions for misspelled words.

/// Maximum distance of a suggestion, however long the word is.
const MAX_DISTANCE: usize = 4;

/// Returns the word of `words` that is nearest to `typed`, unless more than a third of `typed` differs.
pub fn similar<'a>(typed: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (typed.chars().count() / 3).clamp(1, MAX_DISTANCE);
    let near = words.into_iter().map(|word| (distance(typed, word), word));
    near.filter(|(distance, _)| *distance <= limit).min().map(|(_, word)| word)
}

/// Number of characters to insert, remove or replace.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_found_and_another_word_is_not() {
        let words = ["files", "endpoints", "tls"];
        for (typed, wanted) in [
            ("file", Some("files")),
            ("endpoint", Some("endpoints")),
            ("enpdoints", Some("endpoints")),
            ("tsl", None),
            ("address", None),
            ("", None),
        ] {
            assert_eq!(similar(typed, words), wanted, "{typed}");
        }
    }
}
