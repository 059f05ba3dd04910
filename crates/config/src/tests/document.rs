//! Settings, written as a file.

use std::collections::BTreeSet;
use std::path::Path;

use super::examples::{keys_of, keys_of_reference, read, repository};
use crate::{Config, SETTINGS};

/// The same, written and read.
fn again(config: &Config) -> Config {
    let text = config.document().unwrap().to_string();
    crate::parse(&text, Path::new("/elsewhere/weir.toml")).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn differing(one: &Config, other: &Config) -> Vec<&'static str> {
    SETTINGS.iter().filter(|row| row.differs(one, other)).map(|row| row.key).collect()
}

#[test]
fn what_is_written_is_read_as_the_same() {
    let directory = repository().canonicalize().unwrap().join("config");
    let mut count = 0;
    for entry in std::fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        // Secrets are not written.
        let text = text.replace("x-tenant = \"shop\"", "x-tenant = \"[redacted]\"");
        let config = crate::parse(&text, &path).unwrap();
        assert_eq!(differing(&config, &again(&config)), [""; 0], "{}", path.display());
        count += 1;
    }
    assert!(count >= 3);
}

#[test]
fn every_key_of_the_reference_is_written() {
    let config = crate::load(&repository().join("config/reference.toml")).unwrap();
    let written: BTreeSet<String> = keys_of(&toml::Value::Table(config.document().unwrap()));
    let missing: Vec<_> = keys_of_reference().into_iter().filter(|key| !written.contains(key)).collect();
    assert!(missing.is_empty(), "{missing:?} are settings that /config does not show");
}

#[test]
fn secrets_are_not_written() {
    let text = read("config/reference.toml");
    let secret = text.replace("x-tenant = \"shop\"", "x-tenant = \"hunter2\"");
    assert_ne!(secret, text);
    let config = crate::parse(&secret, Path::new("config/reference.toml")).unwrap();
    assert!(config.document().unwrap().to_string().contains("x-tenant = \"[redacted]\""));
    for shown in [config.document().unwrap().to_string(), format!("{config:?}")] {
        assert!(!shown.contains("hunter2"), "{shown}");
    }
    let plain = crate::parse(&text, Path::new("config/reference.toml")).unwrap();
    assert_eq!(differing(&plain, &config), ["upstream"], "a changed secret is a change");
}

#[test]
fn durations_are_written_exactly() {
    let text = "downstream = { listen = [\"127.0.0.1:0\"], rest_hold = \"90s\", stall_timeout = \"5400s\" }\n\
                [[upstream]]\nendpoints = [\"http://a\"]\ndoes_not_exist_timeout = \"1s\"\n";
    let config = crate::parse(text, Path::new("weir.toml")).unwrap();
    assert_eq!(differing(&config, &again(&config)), [""; 0]);
    let written = config.document().unwrap().to_string();
    // Two thirds of a second are not whole milliseconds.
    for key in ["rest_hold = \"90s\"", "stall_timeout = \"90m\"", "answer_timeout = \"666ms\""] {
        assert!(written.contains(key), "{written}");
    }
}
