//! `[upstream.node]`

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_types::NodePart;

use crate::findings::Findings;
use crate::metadata::Metadata;
use crate::settings::{Locality, Node};
use crate::template::{Segment, Template};
use crate::values::{ByteSize, text};

/// The `Node` for a set of dynamic parameters. What is left out is that of this instance, made different for each set: the
/// values follow the id, and are in the metadata under their keys. Everything is there once a file has been read.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct NodeTemplate {
    /// The node id.
    #[serde(with = "text")]
    pub id: Option<Template>,
    /// The node cluster.
    #[serde(with = "text")]
    pub cluster: Option<Template>,
    /// The node locality.
    pub locality: Option<Locality<Template>>,
    /// The node metadata.
    pub metadata: Option<BTreeMap<String, Metadata<Template>>>,
    /// The parts that are taken from the client's node. Clients that differ in them have sets of their own.
    #[serde(with = "text")]
    pub forward: Vec<NodePart>,
    /// The most that may be forwarded of a client's node.
    pub max_size: ByteSize,
    /// Whether no two sets in use may have one id.
    pub unique_id: bool,
    /// The names of which the client's certificate has to have one: what is forwarded is a claim otherwise. Filled from its
    /// node, by `{node.FIELD}`.
    #[serde(with = "text")]
    pub verify: Vec<Template>,
    /// The placeholders in headers, sorted: clients that differ in their values have sets of their own.
    #[serde(skip)]
    pub header_values: Vec<String>,
}

impl Default for NodeTemplate {
    fn default() -> Self {
        let (id, cluster, locality, metadata) = Default::default();
        Self {
            id,
            cluster,
            locality,
            metadata,
            forward: Vec::new(),
            max_size: ByteSize::kib::<64>(),
            unique_id: true,
            verify: Vec::new(),
            header_values: Vec::new(),
        }
    }
}

impl NodeTemplate {
    pub(super) fn derive(&mut self, node: &Node, keys: &[String]) {
        // What is forwarded comes from the client alone.
        let node = self.without_forwarded(node);
        let in_metadata: Vec<_> = keys.iter().filter(|key| !self.forwards_metadata(key)).cloned().collect();
        let id = match self.forward.contains(&NodePart::Id) {
            true => Template::default(),
            false => default_id(&node, &self.placeholders(keys)),
        };
        self.id.get_or_insert(id);
        self.cluster.get_or_insert_with(|| Template::fixed(&node.cluster));
        self.locality.get_or_insert_with(|| fixed_locality(&node.locality));
        self.metadata.get_or_insert_with(|| default_metadata(&node, &in_metadata));
    }

    /// Reports placeholders for other keys than `keys`.
    pub(super) fn check(&self, keys: &[String], findings: &mut Findings) {
        let keys = &*self.placeholders(keys);
        let mut checker = Checker { keys, findings };
        let texts = [("node.id", &self.id), ("node.cluster", &self.cluster)];
        for (key, template) in texts.iter().filter_map(|(key, text)| Some((key, text.as_ref()?))) {
            checker.check(key, template);
        }
        if let Some(Locality { region, zone, sub_zone }) = &self.locality {
            checker.check("node.locality.region", region);
            checker.check("node.locality.zone", zone);
            checker.check("node.locality.sub_zone", sub_zone);
        }
        if let Some(table) = &self.metadata {
            checker.check_table("node.metadata", table);
        }
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

/// Checks placeholders.
struct Checker<'a> {
    keys: &'a [String],
    findings: &'a mut Findings,
}

impl Checker<'_> {
    fn check(&mut self, key: &str, template: &Template) {
        for unknown in template.keys().filter(|key| !self.keys.iter().any(|known| known == key)) {
            let known = match self.keys {
                [] => "there are no parameter_keys".to_owned(),
                known => {
                    let known: Vec<_> = known.iter().map(|key| format!("{{{key}}}")).collect();
                    format!("allowed are {}", known.join(", "))
                }
            };
            let text = template.to_string();
            let message = format!("{text:?} has a placeholder for the unknown key {unknown:?}; {known}");
            self.findings.add(key, message);
        }
    }

    fn check_table(&mut self, key: &str, table: &BTreeMap<String, Metadata<Template>>) {
        for (name, value) in table {
            self.check_value(&format!("{key}.{name}"), value);
        }
    }

    fn check_value(&mut self, key: &str, value: &Metadata<Template>) {
        match value {
            Metadata::Text(template) => self.check(key, template),
            Metadata::Table(table) => self.check_table(key, table),
            Metadata::List(list) => {
                for (i, item) in list.iter().enumerate() {
                    self.check_value(&format!("{key}[{i}]"), item);
                }
            }
            Metadata::Number(_) | Metadata::Bool(_) => {}
        }
    }
}
