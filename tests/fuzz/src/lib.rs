//! What is done with anything that may come from outside: it is decoded, or a whole stream of it is gone through, and
//! what comes of it is held against what it has to be. Nothing may panic.
//!
//! `cargo xtask fuzz` runs the targets under libFuzzer; `cargo test -p weir-fuzz` goes through the corpus, where
//! an input that was a crash once stays for good.
#![forbid(unsafe_code)]

mod script;
mod targets;

/// Panics at an input that is not treated as it has to be.
pub type Target = fn(&[u8]);

/// Every target, by the name of its corpus.
pub const TARGETS: [(&str, Target); 11] = [
    ("constraints", targets::constraints::run),
    ("files", targets::files::run),
    ("hostile_client", targets::hostile_client::run),
    ("hostile_control_plane", targets::hostile_control_plane::run),
    ("json", targets::json::run),
    ("names", targets::names::run),
    ("nodes", targets::nodes::run),
    ("requests", targets::requests::run),
    ("resources", targets::resources::run),
    ("rest", targets::rest::run),
    ("text", targets::text::run),
];

/// The target with this name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().find(|(known, _)| *known == name).map(|(_, target)| *target)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn e05_nothing_in_the_corpus_is_treated_wrongly() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
        for (name, target) in TARGETS {
            let mut inputs = 0;
            for entry in fs::read_dir(corpus.join(name)).expect("every target has a corpus") {
                let path = entry.expect("the corpus can be listed").path();
                println!("{}", path.display());
                target(&fs::read(&path).expect("the corpus can be read"));
                inputs += 1;
            }
            assert!(inputs > 0, "{name}");
        }
    }
}
