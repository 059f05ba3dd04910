//! Suggestions for misspelled words.

/// Maximum distance of a suggestion, however long the word is.
const MAX_DISTANCE: usize = 4;

/// Returns the word of `words` that is nearest to `typed`, unless more than a third of `typed` differs.
pub fn similar<'a>(typed: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = typed.chars().count();
    let limit = (length / 3).clamp(1, MAX_DISTANCE);
    // Lengths that differ by more are a larger distance.
    let candidates = words.into_iter().filter(|word| word.chars().count().abs_diff(length) <= limit);
    let near = candidates.filter_map(|word| Some((distance(typed, word, limit)?, word)));
    near.min().map(|(_, word)| word)
}

/// Number of characters to insert, remove or replace, unless it is more than `limit`.
fn distance(one: &str, other: &str, limit: usize) -> Option<usize> {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        let mut least = row[0];
        for (j, b) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
            least = least.min(row[j + 1]);
        }
        if least > limit {
            // No later row has a smaller one.
            return None;
        }
    }
    Some(row[other.len()]).filter(|distance| *distance <= limit)
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
            ("tlss", Some("tls")),
            ("filed", Some("files")),
            ("xyles", None),
            ("endpoints.of", Some("endpoints")),
            ("endpoints.of.all", None),
            ("address", None),
            ("", None),
        ] {
            assert_eq!(similar(typed, words), wanted, "{typed}");
        }
    }
}
