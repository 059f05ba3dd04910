//! Two clients.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use serde_json::{Map, Value, json};
use weir_admin::{Given, Parameter};

use crate::operate::admin::Admin;
use crate::operate::client;
use crate::operate::output::{colour, table, text};

/// What came of it.
pub(super) struct Compared {
    names: [String; 2],
    /// How many resources the first one has.
    resources: usize,
    pub(super) document: Value,
}

/// Compares the parameters and resources of two clients.
pub(super) fn compare(admin: &Admin, left: &str, right: &str) -> Result<Compared> {
    let names = [left, right].map(str::to_owned);
    let (left, right) = (Side::find(admin, left)?, Side::find(admin, right)?);
    let parameters = differing(&left.parameters, &right.parameters);
    let resources = differing(&left.resources, &right.resources);
    let document = json!({ "parameters": parameters, "resources": resources });
    Ok(Compared { names, resources: left.resources.len(), document })
}

impl Compared {
    fn differences(&self) -> impl Iterator<Item = (&String, &Value)> {
        let of = |key: &str| self.document[key].as_object().into_iter().flatten();
        of("parameters").chain(of("resources"))
    }

    pub(super) fn is_same(&self) -> bool {
        self.differences().next().is_none()
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> Result<()> {
        if self.is_same() {
            return Ok(writeln!(out, "no difference: {} resources", self.resources)?);
        }
        let [left, right] = &self.names;
        let mut rows = table(["", left, right], colour());
        for (what, pair) in self.differences() {
            rows.row([what.clone(), shown(&pair["left"]), shown(&pair["right"])]);
        }
        Ok(rows.write(out, "")?)
    }
}

fn shown(value: &Value) -> String {
    if value.is_null() { "-".to_owned() } else { text(value) }
}

/// What a client has, by what it is called.
struct Side {
    parameters: BTreeMap<String, Content>,
    /// Each by its content, and as it is shown.
    resources: BTreeMap<String, Content>,
}

/// A value, of which only the first part is compared.
type Content = (String, String);

impl Side {
    /// What all streams of a client have.
    fn find(admin: &Admin, who: &str) -> Result<Self> {
        let mut side = Self { parameters: BTreeMap::new(), resources: BTreeMap::new() };
        for stream in &client::streams(admin, who)? {
            for Parameter { key, value, .. } in &stream.parameters {
                side.parameters.insert(format!("parameter {key}"), (value.clone(), value.clone()));
            }
            for resource in client::given(admin, stream, "")? {
                let name = format!("{} {}", resource.short_name, resource.name);
                side.resources.insert(name, content(resource));
            }
        }
        Ok(side)
    }
}

/// The content of a resource that is given, or why there is none.
fn content(Given { version, content, constraints, absence, .. }: Given) -> Content {
    match version {
        None => {
            let absence = absence.unwrap_or_default().into_owned();
            (absence.clone(), absence)
        }
        Some(version) => {
            let shown = format!("{version} ({})", constraints.unwrap_or_default());
            (content.unwrap_or_default(), shown)
        }
    }
}

/// What is not the same on both sides.
fn differing(left: &BTreeMap<String, Content>, right: &BTreeMap<String, Content>) -> Map<String, Value> {
    let mut found = Map::new();
    for name in left.keys().chain(right.keys()) {
        let pair = [left.get(name), right.get(name)];
        let [left, right] = pair.map(|side| side.map(|(content, _)| content));
        if left != right {
            let [left, right] = pair.map(|side| side.map(|(_, shown)| shown));
            found.insert(name.clone(), json!({ "left": left, "right": right }));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_differences_are_found() {
        let side = |pairs: &[(&str, &str, &str)]| {
            let owned = |text: &str| text.to_owned();
            pairs.iter().map(|(name, content, shown)| (owned(name), (owned(content), owned(shown)))).collect()
        };
        let left = side(&[("a", "1", "1"), ("b", "1", "1 (env=prod)"), ("c", "1", "1")]);
        let right = side(&[("b", "1", "1 (env=test)"), ("c", "2", "2"), ("d", "1", "1")]);
        let found = Value::Object(differing(&left, &right));
        let wanted = json!({
            "a": { "left": "1", "right": null },
            "c": { "left": "1", "right": "2" },
            "d": { "left": null, "right": "1" },
        });
        assert_eq!(found, wanted);
        assert!(differing(&left, &left).is_empty());
    }
}
