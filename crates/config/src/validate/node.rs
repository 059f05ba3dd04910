//! The node that is sent upstream, and the template for one.

use std::collections::BTreeMap;

use crate::file;
use crate::findings::Findings;
use crate::metadata::Metadata;
use crate::settings::{Locality, Node, NodeTemplate};
use crate::template::{Segment, Template};

/// The template at `key`, with placeholders for `parameters`. What is left out is that of `node`, made
/// different for each set: the values follow the id, and are in the metadata under their keys.
pub(super) fn template(
    file: file::NodeTemplate,
    key: &str,
    node: &Node,
    parameters: &[String],
    findings: &mut Findings,
) -> NodeTemplate {
    let mut reader = Reader { parameters, findings };
    let locality = match file.locality {
        Some(Locality { region, zone, sub_zone }) => Locality {
            region: reader.read(&format!("{key}.locality.region"), &region),
            zone: reader.read(&format!("{key}.locality.zone"), &zone),
            sub_zone: reader.read(&format!("{key}.locality.sub_zone"), &sub_zone),
        },
        None => fixed_locality(&node.locality),
    };
    NodeTemplate {
        id: match file.id {
            Some(id) => reader.read(&format!("{key}.id"), &id),
            None => default_id(node, parameters),
        },
        cluster: match file.cluster {
            Some(cluster) => reader.read(&format!("{key}.cluster"), &cluster),
            None => Template::fixed(&node.cluster),
        },
        locality,
        metadata: match file.metadata {
            Some(table) => reader.read_table(&format!("{key}.metadata"), table),
            None => default_metadata(node, parameters),
        },
    }
}

/// `weir-{env}-{zone}`.
fn default_id(node: &Node, parameters: &[String]) -> Template {
    let mut id = Template::fixed(&node.id);
    for parameter in parameters {
        id.push(Segment::Text("-".to_owned()));
        id.push(Segment::Key(parameter.clone()));
    }
    id
}

/// The node's own, and `env = "{env}"` for each key.
fn default_metadata(node: &Node, parameters: &[String]) -> BTreeMap<String, Metadata<Template>> {
    let own = node.metadata.iter().map(|(key, value)| (key.clone(), fixed(value)));
    let values = parameters.iter().map(|parameter| {
        (parameter.clone(), Metadata::Text(Template(vec![Segment::Key(parameter.clone())])))
    });
    own.chain(values).collect()
}

fn fixed_locality(locality: &Locality) -> Locality<Template> {
    Locality {
        region: Template::fixed(&locality.region),
        zone: Template::fixed(&locality.zone),
        sub_zone: Template::fixed(&locality.sub_zone),
    }
}

fn fixed(value: &Metadata) -> Metadata<Template> {
    match value {
        Metadata::Text(text) => Metadata::Text(Template::fixed(text)),
        Metadata::Number(number) => Metadata::Number(*number),
        Metadata::Bool(bool) => Metadata::Bool(*bool),
        Metadata::List(list) => Metadata::List(list.iter().map(fixed).collect()),
        Metadata::Table(table) => {
            Metadata::Table(table.iter().map(|(key, value)| (key.clone(), fixed(value))).collect())
        }
    }
}

/// Reads templates, and notes what is wrong with them.
struct Reader<'a> {
    parameters: &'a [String],
    findings: &'a mut Findings,
}

impl Reader<'_> {
    fn read(&mut self, key: &str, text: &str) -> Template {
        let template: Template = match text.parse() {
            Ok(template) => template,
            Err(message) => {
                self.findings.add(key, message);
                return Template::default();
            }
        };
        for unknown in template.keys().filter(|key| !self.parameters.iter().any(|known| known == key)) {
            let known = match self.parameters {
                [] => "there are no parameter_keys".to_owned(),
                known => format!(
                    "allowed are {}",
                    known.iter().map(|key| format!("{{{key}}}")).collect::<Vec<_>>().join(", ")
                ),
            };
            self.findings
                .add(key, format!("{text:?} has a placeholder for the unknown key {unknown:?}; {known}"));
        }
        template
    }

    fn read_table(
        &mut self,
        key: &str,
        table: BTreeMap<String, Metadata>,
    ) -> BTreeMap<String, Metadata<Template>> {
        let read = |(name, value)| {
            let value = self.read_value(&format!("{key}.{name}"), value);
            (name, value)
        };
        table.into_iter().map(read).collect()
    }

    fn read_value(&mut self, key: &str, value: Metadata) -> Metadata<Template> {
        match value {
            Metadata::Text(text) => Metadata::Text(self.read(key, &text)),
            Metadata::Number(number) => Metadata::Number(number),
            Metadata::Bool(bool) => Metadata::Bool(bool),
            Metadata::Table(table) => Metadata::Table(self.read_table(key, table)),
            Metadata::List(list) => {
                let items = list.into_iter().enumerate();
                Metadata::List(items.map(|(i, item)| self.read_value(&format!("{key}[{i}]"), item)).collect())
            }
        }
    }
}
