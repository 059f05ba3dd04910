//! Resources in YAML and JSON: a list of them, a `DiscoveryResponse`, or one resource.

use bytes::Bytes;
use prost::Message;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Error as _};
use weir_types::{Constraints, TypeUrl, Variant, similar};
use weir_wire::discovery;
use weir_wire::json::{self, MessageSeed};
use weir_wire::resource::{RESOURCE_TYPE_URL, decode, decode_any};
use weir_wire::validate;

use super::constraints;
use super::de::{Error, NodeDeserializer};
use super::node::{Key, Node, Syntax, Value};
use super::resource::Found;

/// The resources in `text`, or everything that is wrong with it.
pub(super) fn read(text: &str, syntax: Syntax) -> Result<Vec<Found>, Vec<Error>> {
    let documents = documents(text, syntax).map_err(|error| vec![error])?;
    let (mut resources, mut errors) = (Vec::new(), Vec::new());
    for document in &documents {
        let (entries, common) = match entries(document) {
            Ok(found) => found,
            Err(error) => {
                errors.push(error);
                continue;
            }
        };
        for entry in entries {
            match common.read(entry) {
                Ok((type_url, variant)) => {
                    let violations = violations(&variant, entry);
                    resources.push(Found { type_url, variant, line: Some(entry.line), violations });
                }
                Err(error) => errors.push(error),
            }
        }
    }
    if errors.is_empty() { Ok(resources) } else { Err(errors) }
}

/// The rules that the body of a variant breaks.
fn violations(variant: &Variant, entry: &Node) -> Vec<Error> {
    let body = variant.content().body.as_deref().unwrap_or_default();
    let found = validate::violations(body).into_iter();
    match entry.get("resource") {
        Some(node) if is_wrapper(entry) => {
            found.map(|one| Error::violation(one, Some(node)).below("resource")).collect()
        }
        _ => found.map(|one| Error::violation(one, Some(entry))).collect(),
    }
}

/// Whether an entry of a list has a wrapper's form, not that of a resource.
fn is_wrapper(entry: &Node) -> bool {
    entry.get("@type").and_then(Node::text).is_none_or(|url| url == RESOURCE_TYPE_URL)
}

fn documents(text: &str, syntax: Syntax) -> Result<Vec<Node>, Error> {
    let documents = Node::parse(text, syntax)?;
    if documents.is_empty() {
        // A file that is being written is empty for a moment; taken at its word, it would withdraw everything.
        return Err(Error::custom("the file is empty; to hold no resources write 'resources: []'"));
    }
    Ok(documents)
}

/// The entries of a document, and what holds for all of them: a list, a mapping with `resources`, or one
/// resource.
fn entries(document: &Node) -> Result<(&[Node], Common), Error> {
    match &document.value {
        Value::List(list) => Ok((list, Common::default())),
        Value::Map(map) => {
            let Some(resources) = document.get("resources") else {
                if let Some(format) = other_format(document) {
                    return Err(Error::custom(format).at(document.line));
                }
                return Ok((std::slice::from_ref(document), Common::default()));
            };
            let common = Common::of(map)?;
            match &resources.value {
                Value::List(list) => Ok((list, common)),
                _ => Err(Error::custom("resources: expected a list").at(resources.line)),
            }
        }
        _ => {
            Err(Error::custom("expected a list of resources, or a mapping with 'resources'")
                .at(document.line))
        }
    }
}

/// What is wrong with a document in another format of Envoy's.
fn other_format(document: &Node) -> Option<&'static str> {
    let has =
        |keys: &[&str]| document.get("@type").is_none() && keys.iter().any(|key| document.get(key).is_some());
    if has(&["static_resources", "staticResources", "dynamic_resources", "dynamicResources"]) {
        return Some(
            "this is an Envoy bootstrap; a resource file has a list 'resources' of clusters, listeners and others, each \
             with its '@type'",
        );
    }
    has(&["configs"]).then_some(
        "this is an Envoy config dump; a resource file has a list 'resources', each with its '@type': those in \
         'dynamic_active_clusters[].cluster' and the like",
    )
}

/// What a `DiscoveryResponse` or `DeltaDiscoveryResponse` states for its resources.
#[derive(Default)]
struct Common {
    version_info: String,
    type_url: String,
}

const NO_TYPE: &str = "expected '@type' or 'resource'; one without a body needs the 'type_url' of its list";

const NEEDS_TYPE: &str = "a resource with a body needs '@type', also in a list with 'type_url'";

/// Keys of a wrapper that its message does not have, or that are read in a way of our own.
const OWN_KEYS: &[&str] = &["@type", "resource", "constraints", "dynamic_parameter_constraints"];

impl Common {
    fn of(map: &[(Key, Node)]) -> Result<Self, Error> {
        let mut common = Self::default();
        for (key, node) in map {
            let field = match key.text.as_str() {
                "version_info" | "versionInfo" | "system_version_info" | "systemVersionInfo" => {
                    &mut common.version_info
                }
                "type_url" | "typeUrl" => &mut common.type_url,
                "resources" | "nonce" | "@type" | "canary" | "control_plane" | "controlPlane" => continue,
                other => {
                    return Err(Error::custom(format_args!("unrecognized field name '{other}'")).at(key.line));
                }
            };
            *field =
                String::deserialize(NodeDeserializer::new(node)).map_err(|error| error.below(&*key.text))?;
        }
        Ok(common)
    }

    fn read(&self, entry: &Node) -> Result<(TypeUrl, Variant), Error> {
        if !matches!(entry.value, Value::Map(_)) {
            return Err(Error::custom("a resource is a mapping with '@type' or 'resource'").at(entry.line));
        }
        let (type_url, variant) = match entry.get("@type").and_then(Node::text) {
            Some(url) if !is_wrapper(entry) => {
                let type_url = TypeUrl::new(url);
                let rejected = |error| Error::custom(error).at(entry.line);
                let variant = decode_any(&body(entry)?, &type_url, &self.version_info).map_err(rejected)?;
                (type_url, variant)
            }
            _ => self.wrapped(entry)?,
        };
        if !self.type_url.is_empty() && self.type_url != type_url.as_str() {
            let reason = format!("{} is of type {type_url}, type_url is {}", variant.name(), self.type_url);
            return Err(Error::custom(reason).at(entry.line));
        }
        Ok((type_url, variant))
    }

    fn wrapped(&self, entry: &Node) -> Result<(TypeUrl, Variant), Error> {
        let at = |error: Error| error.at(entry.line);
        let is_bare = entry.get("@type").is_none() && entry.get("resource").is_none();
        if is_bare && let Some(mistake) = mistaken_key(entry) {
            return Err(mistake);
        }
        if is_bare && self.type_url.is_empty() {
            return Err(at(Error::custom(NO_TYPE)));
        }
        let bytes = MessageSeed::RESOURCE.deserialize(NodeDeserializer::without(entry, OWN_KEYS));
        let bytes = bytes.map_err(|error| {
            let error = error.with_suggestion(entry, RESOURCE_TYPE_URL);
            if is_bare { error.with_remedy(NEEDS_TYPE) } else { error }
        })?;
        let mut resource = discovery::Resource::decode(bytes).map_err(|error| at(Error::custom(error)))?;
        let body_node = entry.get("resource").filter(|node| node.value != Value::Null);
        resource.resource = body_node.map(body).transpose().map_err(|error| error.below("resource"))?;
        let type_url = match body_node.and_then(|node| node.get("@type")?.text()) {
            Some(url) => TypeUrl::new(url),
            None if self.type_url.is_empty() => {
                return Err(at(Error::custom(NO_TYPE)));
            }
            None => TypeUrl::new(self.type_url.as_str()),
        };
        identify(&mut resource, entry, &type_url).map_err(at)?;
        let variant = decode(&resource.encode_to_vec(), &type_url, &self.version_info);
        Ok((type_url, variant.map_err(|rejected| at(Error::custom(rejected)))?))
    }
}

/// Finds a key of an entry without `@type` and `resource` that stands for one of them.
fn mistaken_key(entry: &Node) -> Option<Error> {
    let Value::Map(map) = &entry.value else { return None };
    map.iter().find_map(|(key, node)| {
        let name = key.text.as_str();
        let has_url = node.text().is_some_and(|text| text.starts_with("type.googleapis.com/"));
        let reason = if has_url || ["type_url", "typeUrl"].contains(&name) {
            format!("expected '@type' in place of '{name}'")
        } else {
            let meant = similar(name, ["resource", "resources"])?;
            format!("unrecognized field name '{name}'; did you mean '{meant}'?")
        };
        Some(Error::custom(reason).at(key.line))
    })
}

/// The encoded Any of a node with `@type`. One of a type that is not known here has its value in base64.
fn body(node: &Node) -> Result<Bytes, Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Opaque {
        #[serde(rename = "@type")]
        type_url: String,
        value: String,
    }
    let type_url = node.get("@type").and_then(Node::text);
    if type_url.is_none_or(json::is_known) || node.get("value").is_none() {
        let any = json::any_from(NodeDeserializer::new(node));
        return any.map_err(|error| error.with_suggestion(node, type_url.unwrap_or_default()));
    }
    let Opaque { type_url, value } = Opaque::deserialize(NodeDeserializer::new(node))?;
    json::opaque_any(&type_url, &value).map_err(|error| Error::custom(error).at(node.line))
}

/// Completes the name and the constraints of a wrapper.
fn identify(resource: &mut discovery::Resource, entry: &Node, type_url: &TypeUrl) -> Result<(), Error> {
    if let Some(constraints) = own_constraints(entry)? {
        let located = resource.resource_name.get_or_insert_default();
        if located.dynamic_parameter_constraints.replace(constraints).is_some() {
            return Err(Error::custom("the constraints are given twice"));
        }
        if located.name.is_empty() {
            located.name = std::mem::take(&mut resource.name);
        }
    }
    let located = resource.resource_name.as_mut().map(|located| &mut located.name);
    let nameless = resource.name.is_empty() && located.as_ref().is_none_or(|name| name.is_empty());
    if nameless && let Some(body) = &resource.resource {
        let own = decode_any(body, type_url, "").map_err(Error::custom)?.name().to_string();
        *located.unwrap_or(&mut resource.name) = own;
    }
    Ok(())
}

/// The constraints beside the resource, in either form.
fn own_constraints(entry: &Node) -> Result<Option<discovery::DynamicParameterConstraints>, Error> {
    let short = entry.get("constraints").map(constraints::read).transpose()?;
    let Some(long) = entry.get("dynamic_parameter_constraints") else {
        return Ok(short.as_ref().and_then(weir_wire::constraints::encode));
    };
    if short.is_some_and(|short| short != Constraints::unconstrained()) {
        return Err(Error::custom("the constraints are given twice"));
    }
    let bytes = MessageSeed::CONSTRAINTS.deserialize(NodeDeserializer::new(long))?;
    let message = discovery::DynamicParameterConstraints::decode(bytes).map_err(Error::custom)?;
    weir_wire::constraints::decode(Some(&message)).map_err(|error| Error::custom(error).at(long.line))?;
    Ok(Some(message))
}
