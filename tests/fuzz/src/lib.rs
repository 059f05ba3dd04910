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

    /// Inputs that are made of those in the corpus: pieces of two of them, and some bytes that are anything.
    fn mixed(corpus: &[Vec<u8>], rng: &mut fastrand::Rng) -> Vec<u8> {
        let mut piece = || {
            let input = &corpus[rng.usize(0..corpus.len())];
            let (one, other) = (rng.usize(0..=input.len()), rng.usize(0..=input.len()));
            input[one.min(other)..one.max(other)].to_vec()
        };
        let mut mixed = [piece(), piece(), piece()].concat();
        for byte in &mut mixed {
            if rng.u32(0..16) == 0 {
                *byte = rng.u8(..);
            }
        }
        mixed
    }

    #[test]
    fn e05_streams_end_as_they_have_to_whatever_they_are_made_of() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
        for name in ["hostile_client", "hostile_control_plane"] {
            let files = fs::read_dir(corpus.join(name)).expect("every target has a corpus");
            let mut paths: Vec<_> = files.map(|file| file.expect("it can be listed").path()).collect();
            paths.sort();
            let inputs: Vec<_> = paths.iter().map(|path| fs::read(path).expect("it can be read")).collect();
            let target = target(name).expect("there is such a target");
            for seed in 0..1_000 {
                let input = mixed(&inputs, &mut fastrand::Rng::with_seed(seed));
                println!("{name} {seed}: {input:?}");
                target(&input);
            }
        }
    }
}
