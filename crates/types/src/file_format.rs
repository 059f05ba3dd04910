//! The formats of resource files.

use std::path::Path;

/// The format of a file, by the end of its name: those that Envoy knows, and what else is usual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// `.yaml`, `.yml`
    Yaml,
    /// `.json`
    Json,
    /// `.pb`: an encoded `DiscoveryResponse`.
    Binary,
    /// `.pb_text`, `.textproto`, `.txtpb`: a `DiscoveryResponse` in the text format of protobuf.
    Text,
}

impl FileFormat {
    /// The ends of names that stand for a format.
    pub const ENDINGS: &str = ".yaml, .yml, .json, .pb, .pb_text, .textproto or .txtpb";

    /// The format of `file`; none if the ending is unknown.
    pub fn of(file: &Path) -> Option<Self> {
        match file.extension()?.to_str()? {
            "yaml" | "yml" => Some(Self::Yaml),
            "json" => Some(Self::Json),
            "pb" => Some(Self::Binary),
            "pb_text" | "textproto" | "txtpb" => Some(Self::Text),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ending_is_known() {
        for ending in FileFormat::ENDINGS.split([',', ' ']).filter(|word| word.starts_with('.')) {
            assert!(FileFormat::of(Path::new(&format!("a{ending}"))).is_some(), "{ending}");
        }
        assert_eq!(FileFormat::of(Path::new("a.toml")), None);
        assert_eq!(FileFormat::of(Path::new("yaml")), None);
    }
}
