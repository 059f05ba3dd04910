//! Showing resources to people and to programs.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use weir_types::{Absence, Name, TypeUrl, Variant};
use weir_wire::json::{any_to_json, constraints_to_json};

use crate::operate::output::{Format, write_document};
use crate::subscribe::{Change, Held};
use crate::table::Table;

/// Shows resources of one type.
#[derive(Debug)]
pub(super) struct Show {
    pub(super) format: Format,
    pub(super) type_url: TypeUrl,
    /// Whether constraints are shown; clients that ask by plain names do not get to see them.
    pub(super) located: bool,
}

impl Show {
    /// Everything that there is, and what is missing.
    pub(super) fn write_all(&self, held: &Held, out: &mut dyn Write) -> io::Result<()> {
        match self.format {
            Format::Table => self.all_in_table(held, out),
            Format::Json | Format::Yaml => write_document(self.format, &self.document(held), out),
        }
    }

    /// What is different now.
    pub(super) fn write_changes(&self, changes: &[Change], out: &mut dyn Write) -> io::Result<()> {
        match self.format {
            Format::Table => self.changes_in_table(changes, out),
            Format::Json => changes.iter().try_for_each(|change| writeln!(out, "{}", change_to_json(change))),
            Format::Yaml => changes.iter().try_for_each(|change| {
                writeln!(out, "---")?;
                write_document(self.format, &change_to_json(change), out)
            }),
        }
    }

    /// A resource file, but for what is missing.
    fn document(&self, held: &Held) -> Value {
        let resources: Vec<_> =
            held.variants().map(|variant| Value::Object(variant_to_json(variant))).collect();
        let mut document = json!({ "type_url": self.type_url.as_str(), "resources": resources });
        let missing: Vec<_> = held.missing().map(|(name, _)| &**name).collect();
        if !missing.is_empty() {
            document["missing"] = missing.into();
        }
        document
    }

    fn all_in_table(&self, held: &Held, out: &mut dyn Write) -> io::Result<()> {
        let mut table = Table::default();
        table.row(["NAME", "VARIANT", "VERSION"]);
        for variant in held.variants() {
            table.row(self.row(variant));
        }
        for (name, absence) in held.missing() {
            table.row(missing_row(name, absence));
        }
        table.write(out, "")
    }

    fn changes_in_table(&self, changes: &[Change], out: &mut dyn Write) -> io::Result<()> {
        let mut table = Table::default();
        for change in changes {
            let (sign, [name, constraints, version]) = match change {
                Change::Added(variant) => ("+", self.row(variant)),
                Change::Changed(variant) => ("~", self.row(variant)),
                Change::Removed(variant) => ("-", self.row(variant)),
                Change::Missing(name, absence) => ("!", missing_row(name, *absence)),
            };
            table.row([sign.to_owned(), name, constraints, version]);
        }
        table.write(out, "")
    }

    fn row(&self, variant: &Variant) -> [String; 3] {
        let constraints = &variant.key().constraints;
        let shown = self.located || !constraints.is_unconstrained();
        let constraints = if shown { constraints.to_string() } else { "-".to_owned() };
        let content = variant.content();
        let body = if content.body.is_none() { " (without a body)" } else { "" };
        [
            variant.name().to_string(),
            constraints,
            format!("{}{body}", content.upstream_version).trim().to_owned(),
        ]
    }
}

fn missing_row(name: &Name, absence: Absence) -> [String; 3] {
    [name.to_string(), "-".to_owned(), missing(absence).to_owned()]
}

fn missing(absence: Absence) -> &'static str {
    match absence {
        Absence::Known => "missing",
        Absence::TimedOut | Absence::Unknown => "missing (no answer)",
    }
}

fn change_to_json(change: &Change) -> Value {
    let (word, mut object) = match change {
        Change::Added(variant) => ("added", variant_to_json(variant)),
        Change::Changed(variant) => ("changed", variant_to_json(variant)),
        Change::Removed(variant) => ("removed", variant_to_json(variant)),
        Change::Missing(name, _) => ("missing", Map::from_iter([("name".to_owned(), (**name).into())])),
    };
    object.insert("change".to_owned(), word.into());
    Value::Object(object)
}

/// The wrapped form of a resource file.
fn variant_to_json(variant: &Arc<Variant>) -> Map<String, Value> {
    let content = variant.content();
    let mut object = Map::new();
    let mut set = |key: &str, value: Value| object.insert(key.to_owned(), value);
    set("name", (**variant.name()).into());
    if !content.upstream_version.is_empty() {
        set("version", (*content.upstream_version).into());
    }
    if !content.aliases.is_empty() {
        set("aliases", content.aliases.iter().map(|alias| &**alias).collect());
    }
    if let Some(ttl) = content.ttl {
        set("ttl", seconds(ttl).into());
    }
    let constraints = constraints_to_json(&variant.key().constraints);
    if !constraints.is_null() {
        set("dynamic_parameter_constraints", constraints);
    }
    if let Some(body) = &content.body {
        set("resource", any_to_json(body));
    }
    object
}

/// The JSON form of a `google.protobuf.Duration`.
fn seconds(duration: Duration) -> String {
    format!("{}s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use prost::Message;
    use prost_types::Any;
    use weir_types::constraints::Expr;
    use weir_types::{Batch, Constraints, Content, Provenance, VariantKey};

    use super::*;

    fn held() -> Held {
        let any = Any {
            type_url: "type.googleapis.com/envoy.config.cluster.v3.Cluster".into(),
            value: b"\x0a\x01x".to_vec(),
        };
        let content = Content {
            body: Some(Bytes::from(any.encode_to_vec())),
            upstream_version: "7".into(),
            ttl: Some(Duration::from_millis(1500)),
            ..Content::default()
        };
        let key = VariantKey::new("x", Constraints::new(Expr::value("env", "prod")));
        let mut batch = Batch::new(TypeUrl::new("a/b"), Provenance::Named);
        batch.upserts.push(Variant::new(key, content));
        let mut held = Held::new(&["x", "y"].map(Name::from));
        held.apply(batch);
        held
    }

    fn shown(format: Format) -> String {
        let show = Show { format, type_url: TypeUrl::new("a/b"), located: true };
        let mut out = Vec::new();
        show.write_all(&held(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_table_for_people() {
        let wanted = "NAME  VARIANT   VERSION\nx     env=prod  7\ny     -         missing (no answer)\n";
        assert_eq!(shown(Format::Table), wanted);
    }

    #[test]
    fn f02_json_and_yaml_have_the_form_of_a_resource_file() {
        let wanted = json!({
            "type_url": "a/b",
            "resources": [{
                "name": "x",
                "version": "7",
                "ttl": "1.5s",
                "dynamic_parameter_constraints": { "constraint": { "key": "env", "value": "prod" } },
                "resource": { "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", "name": "x" },
            }],
            "missing": ["y"],
        });
        assert_eq!(serde_json::from_str::<Value>(&shown(Format::Json)).unwrap(), wanted);
        assert_eq!(serde_saphyr::from_str::<Value>(&shown(Format::Yaml)).unwrap(), wanted);
    }
}
