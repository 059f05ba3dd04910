//! Text from outside, made fit for a terminal and for a line of a log.

use std::fmt::{self, Display, Write};

/// The longest text that is shown whole, in bytes.
const WHOLE: usize = 2048;

/// Text without control characters: each is shown by its escape (`\n`, `\u{1b}`), so that it neither moves a cursor nor
/// begins a line.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_harmful(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}

/// `value` as a string in JSON, in which nothing is left for a terminal to obey.
pub(crate) fn json(value: &str) -> String {
    let mut shown = String::with_capacity(value.len() + 2);
    for c in serde_json::Value::from(value).to_string().chars() {
        // What has an escape of its own has it already.
        if is_harmful(c) { shown.push_str(&format!("\\u{:04x}", u32::from(c))) } else { shown.push(c) }
    }
    shown
}

/// What `value` displays, cut after 2048 bytes, with the length of the whole.
pub(crate) fn cut(value: &dyn Display) -> String {
    let mut brief = Brief::default();
    // A string takes all that is written.
    _ = write!(brief, "{value}");
    brief.end()
}

/// Control characters, and what changes the direction or the lines of text.
fn is_harmful(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[derive(Default)]
struct Brief {
    shown: String,
    /// The bytes that were written.
    length: usize,
}

impl Brief {
    fn end(mut self) -> String {
        if self.length > WHOLE {
            self.shown.push_str(&format!("… ({} bytes)", self.length));
        }
        self.shown
    }
}

impl Write for Brief {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = WHOLE.saturating_sub(self.length);
        self.length += text.len();
        let end =
            text.char_indices().map(|(start, c)| start + c.len_utf8()).take_while(|end| *end <= room).last();
        self.shown.push_str(&text[..end.unwrap_or_default()]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_by_their_escapes() {
        let text = "a\x1b[2J\x07b\r\n2026 ERROR forged\u{9b}\u{202e}c\u{7f}ü\\n\t";
        assert_eq!(
            printable(text),
            "a\\u{1b}[2J\\u{7}b\\r\\n2026 ERROR forged\\u{9b}\\u{202e}c\\u{7f}ü\\n\\t"
        );
    }

    #[test]
    fn json_has_escapes_of_its_own() {
        let json = json("a\n\x1b\u{9b}\u{202e}\"");
        assert_eq!(json, "\"a\\n\\u001b\\u009b\\u202e\\\"\"");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), "a\n\x1b\u{9b}\u{202e}\"");
    }

    #[test]
    fn long_text_is_cut_at_a_character() {
        assert_eq!(cut(&"x".repeat(WHOLE)), "x".repeat(WHOLE));
        let long = format!("{}ü{}", "x".repeat(WHOLE - 1), "y".repeat(30_000));
        assert_eq!(cut(&long), format!("{}… (32049 bytes)", "x".repeat(WHOLE - 1)));
    }
}
