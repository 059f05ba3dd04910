//! The examples of a page: commands, and what they show.

/// A section of a page.
pub struct Section<'a> {
    pub heading: &'a str,
    pub examples: Vec<Example<'a>>,
}

/// A command, and the lines that it shows, in which `…` stands for anything.
pub struct Example<'a> {
    pub command: &'a str,
    pub shown: Vec<&'a str>,
}

/// The sections in which there are examples.
pub fn sections(page: &str) -> Vec<Section<'_>> {
    let sections = page.split("\n## ").skip(1).map(|section| {
        let (heading, text) = section.split_once('\n').unwrap_or((section, ""));
        let blocks = text.split("```console\n").skip(1).filter_map(|block| block.split("```").next());
        Section { heading, examples: blocks.flat_map(examples).collect() }
    });
    sections.collect()
}

fn examples(block: &str) -> Vec<Example<'_>> {
    let mut examples: Vec<Example<'_>> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), examples.last_mut()) {
            (Some(command), _) => examples.push(Example { command, shown: Vec::new() }),
            (None, Some(example)) => example.shown.push(line),
            (None, None) => panic!("{line} is shown by nothing"),
        }
    }
    examples
}

impl<'a> Example<'a> {
    /// What stands behind the name of the program.
    pub fn arguments(&self) -> Vec<&'a str> {
        let mut words = self.command.split_whitespace();
        assert_eq!(words.next(), Some("weir"), "{}", self.command);
        words.collect()
    }

    /// Whether it may be run again and again until it shows what it is to show.
    pub fn only_looks(&self) -> bool {
        !["drain", "confirm-removals"].contains(&self.arguments()[0])
    }

    /// Whether the lines are among those of `text`, in their order.
    pub fn is_shown_by(&self, text: &str) -> bool {
        let mut lines = text.lines().map(words);
        self.shown.iter().all(|wanted| lines.any(|line| is_like(&line, &words(wanted))))
    }
}

/// A line with one space between its words.
fn words(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether `line` is `wanted`, in which `…` stands for anything.
fn is_like(line: &str, wanted: &str) -> bool {
    let parts: Vec<_> = wanted.split('…').collect();
    let (first, rest) = parts.split_first().expect("a text has a part");
    let Some(mut line) = line.strip_prefix(first.trim_end()) else { return false };
    let Some((last, between)) = rest.split_last() else { return line.trim().is_empty() };
    for part in between.iter().map(|part| part.trim()) {
        let Some(at) = line.find(part) else { return false };
        line = &line[at + part.len()..];
    }
    line.ends_with(last.trim())
}

#[test]
fn a_line_is_like_another_but_for_what_is_left_open() {
    for (line, wanted, is) in [
        ("a b", "a b", true),
        ("a b c", "a b", false),
        ("cds x, version 41a3: accepted after 0.1 s", "cds x, version …: accepted after …", true),
        ("cds x, version 41a3: rejected after 0.1 s", "cds x, version …: accepted after …", false),
        ("1 web-2 cds rejecting 41 no backend: none", "… web-2 cds rejecting …backend…", true),
        ("1 web-2 cds in-sync", "… web-2 cds rejecting …", false),
    ] {
        assert_eq!(is_like(line, wanted), is, "{line} | {wanted}");
    }
}
