//! Streams of clients.

use prost::Message;
use prost_types::value::Kind;
use prost_types::{Struct, Value};
use weir_admin::{
    Accepted, Client, Condition, Lacking, Locality, Located, Nack, Nacked, Node, Origin, Parameter, Sent,
    Sketch, TypeState, seconds_since,
};
use weir_database::Database;
use weir_downstream::clients::{Condition as Standing, Held, Nack as Rejection, Snapshot, TypeStatus};
use weir_downstream::{Client as Known, NodeRules};
use weir_tls::Identity;
use weir_types::{ClientNode, ClientParameters, DynamicParameters, Form, NODE_KEY};
use weir_wire::discovery;

/// As the admin server shows it.
pub(super) fn shown(snapshot: &Snapshot) -> Client {
    let (node, rules) = (snapshot.client.node(), &snapshot.client.rules);
    let mut parameters = parameters(&node, snapshot.client.identity.as_ref(), rules);
    parameters.extend(forwarded_parameters(&snapshot.client.profile.parameters));
    Client {
        id: snapshot.id,
        parameters,
        node: shown_node(node),
        peer: snapshot.peer,
        identity: snapshot.client.identity.as_ref().map(identity),
        access: snapshot.client.profile.rights.rules().map(<[usize]>::to_vec),
        service: snapshot.service.into(),
        transport: snapshot.transport.into(),
        dialect: snapshot.dialect.into(),
        streams_of_node: 1,
        since: snapshot.since,
        state: condition(snapshot.condition()),
        types: snapshot.types.iter().map(type_state).collect(),
    }
}

/// Whose a stream is, in short.
pub(super) fn sketch(client: &Known, dialect: &'static str) -> Sketch {
    Sketch {
        node: client.id.clone(),
        cluster: client.cluster.clone(),
        user_agent: client.user_agent.clone(),
        identity: client.identity.as_ref().map(identity),
        dialect,
        parameters: client.profile.parameters.clone(),
    }
}

/// Adds the parameters that a client states in its locators.
pub(super) fn add_locators(client: &mut Client, snapshot: &Snapshot, database: &Database) {
    for (shown, status) in client.types.iter_mut().zip(&snapshot.types) {
        let sets = database.parameters_of(&status.type_url, status.subscription, Form::Located);
        let located = |(parameters, locators): (DynamicParameters, usize)| Located {
            locators,
            parameters: parameters.iter().map(|pair| sent(pair, &client.parameters)).collect(),
        };
        shown.locators = sets.unwrap_or_default().into_iter().map(located).collect();
    }
}

/// A parameter of a locator. One that equals what a rule would have given is taken to come from the rule.
fn sent((key, value): (&str, &str), derived: &[Parameter]) -> Parameter {
    let filled = derived.iter().find(|rule| rule.fills_locators && rule.key == key && rule.value == value);
    filled.cloned().unwrap_or_else(|| Parameter {
        key: key.to_owned(),
        value: value.to_owned(),
        origin: Origin::Locator,
        fills_locators: false,
    })
}

/// Each parameter by the first rule that gives it.
fn parameters(node: &discovery::Node, identity: Option<&Identity>, rules: &NodeRules) -> Vec<Parameter> {
    let mut parameters: Vec<Parameter> = Vec::new();
    for (rule, derived) in rules.explain(node, identity).into_iter().enumerate() {
        let Some(value) = derived.value else { continue };
        if parameters.iter().any(|parameter| parameter.key == derived.key) {
            continue;
        }
        let from = derived.from.to_string();
        let origin = Origin::Rule { rule, from, value: derived.field, defaulted: derived.defaulted };
        let fills_locators = derived.fills_locators;
        parameters.push(Parameter { key: derived.key, value, origin, fills_locators });
    }
    parameters.sort_by(|a, b| a.key.cmp(&b.key));
    parameters
}

fn identity(identity: &Identity) -> weir_admin::Identity {
    weir_admin::Identity {
        spiffe: identity.spiffe().map(str::to_owned),
        uris: identity.uris().to_vec(),
        dns: identity.dns().to_vec(),
    }
}

/// The part of a node that is forwarded, as the admin server shows it.
pub(super) fn forwarded(node: &ClientNode) -> Node {
    // These bytes were made from a `Node`.
    shown_node(discovery::Node::decode(node.encoded()).unwrap_or_default())
}

/// What stands for the parts of a client's node that are forwarded.
fn forwarded_parameters(parameters: &ClientParameters) -> impl Iterator<Item = Parameter> {
    parameters.nodes().map(|(authority, node)| Parameter {
        key: NODE_KEY.to_owned(),
        value: node.digest().to_owned(),
        origin: Origin::Node { authority: authority.to_owned() },
        fills_locators: true,
    })
}

fn shown_node(node: discovery::Node) -> Node {
    let locality = node.locality.unwrap_or_default();
    let locality = Locality { region: locality.region, zone: locality.zone, sub_zone: locality.sub_zone };
    Node {
        id: node.id,
        cluster: node.cluster,
        user_agent: node.user_agent_name,
        user_agent_version: node.user_agent_version,
        locality,
        metadata: json_object(node.metadata.unwrap_or_default()),
    }
}

fn json_object(fields: Struct) -> serde_json::Value {
    fields.fields.into_iter().map(|(key, value)| (key, json(value))).collect()
}

/// What a JSON value became on its way through protobuf.
fn json(value: Value) -> serde_json::Value {
    match value.kind {
        None | Some(Kind::NullValue(_)) => serde_json::Value::Null,
        Some(Kind::NumberValue(number)) => number.into(),
        Some(Kind::StringValue(text)) => text.into(),
        Some(Kind::BoolValue(truth)) => truth.into(),
        Some(Kind::StructValue(fields)) => json_object(fields),
        Some(Kind::ListValue(list)) => list.values.into_iter().map(json).collect(),
    }
}

/// As the admin server calls it.
pub(super) fn condition(standing: Standing) -> Condition {
    match standing {
        Standing::InSync => Condition::InSync,
        Standing::Behind => Condition::Behind,
        Standing::Rejecting => Condition::Rejecting,
    }
}

fn type_state(status: &TypeStatus) -> TypeState {
    let sent = status.sent.map(|sent| Sent {
        version: sent.version.to_string(),
        nonce: sent.nonce.to_string(),
        at: sent.at,
        answered: sent.answered,
    });
    let owes = sent.as_ref().filter(|sent| !sent.answered);
    TypeState {
        short_name: status.type_url.short_name().into(),
        type_url: status.type_url.to_string(),
        state: condition(status.condition),
        view: status.view,
        subscribed: status.selectors,
        lacking: Lacking::of(status.unsettled, status.barred),
        accepted: status.accepted.map(|(_, version)| Accepted { version: version.to_string() }),
        last_nack: status.rejection.as_ref().map(nacked),
        lag_seconds: owes.map_or(0.0, |sent| seconds_since(sent.at)),
        sent,
        locators: Vec::new(),
    }
}

fn nacked(held: &Held) -> Nacked {
    Nacked {
        at: held.at,
        nonce: held.nonce.map(|nonce| nonce.to_string()),
        version: held.version.to_string(),
        code: held.code,
        message: held.message.to_string(),
    }
}

/// A rejection as the admin server shows it.
pub(super) fn rejection(nack: Rejection) -> Nack {
    Nack {
        number: nack.number,
        at: nack.at,
        client: nack.stream,
        node: nack.node,
        cluster: nack.cluster,
        short_name: nack.type_url.short_name(),
        type_url: nack.type_url.to_string(),
        nonce: nack.nonce,
        code: nack.code,
        message: nack.message.to_string(),
    }
}
