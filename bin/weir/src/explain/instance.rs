//! What a client of a running instance gets.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use serde_json::{Value, json};
use weir_admin::{Client, Given, Located, TypeState};

use super::{Args, sets};
use crate::inputs::parameters;
use crate::operate::admin::{Admin, part, query};
use crate::operate::client;

/// As the admin interface explains it, with who it is about and where each parameter comes from.
pub(super) fn explain(args: &Args) -> Result<Value> {
    let admin = Admin::new(&args.admin)?;
    let Some(who) = &args.client else {
        let sent = parameters(&args.parameters);
        let mut document = ask(&admin, args, &pairs_of(sent.iter()))?;
        document["parameters"] = sent.iter().map(|(key, value)| sent_by_client(key, value)).collect();
        return Ok(document);
    };
    let asking = Asking::find(&admin, args, who)?;
    let mut document = ask(&admin, args, &asking.question)?;
    if let Some(barred) = asking.barred {
        (document["outcome"], document["chosen"]) = (barred, Value::Null);
    }
    document["parameters"] = asking.parameters.into();
    document["client"] = asking.client;
    sets::compare(&admin, &mut document)?;
    Ok(document)
}

/// Dynamic parameters, as they are asked about.
fn pairs_of<'a>(parameters: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<(&'static str, String)> {
    parameters.map(|(key, value)| ("param", format!("{key}={value}"))).collect()
}

fn ask(admin: &Admin, args: &Args, question: &[(&str, String)]) -> Result<Value> {
    let query = query(question.iter().map(|(key, value)| (*key, value.as_str())));
    let type_part = part(args.type_url.message());
    admin.get(&format!("/resources/{type_part}/{}/explain{query}", part(&args.name)))
}

fn sent_by_client(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": value, "origin": { "source": "locator" } })
}

/// How a client asks for a resource.
struct Asking {
    /// Who it is, and how it stands with the type.
    client: Value,
    /// What to ask the instance.
    question: Vec<(&'static str, String)>,
    /// With what it asks, each with where it comes from.
    parameters: Vec<Value>,
    /// What keeps it from a client that asks by a locator; the instance answers for plain names.
    barred: Option<Value>,
}

impl Asking {
    /// On the first of its streams that asks for it; where none does, on the first that has the type.
    fn find(admin: &Admin, args: &Args, who: &str) -> Result<Self> {
        let mut of_type = None;
        for stream in client::streams(admin, who)? {
            let mut types = stream.types.iter();
            let Some(status) = types.find(|status| status.type_url == args.type_url.as_str()) else {
                continue;
            };
            let given = client::given(admin, &stream, args.type_url.as_str())?;
            let row = given.iter().find(|row| *row.name == *args.name || *row.asked == *args.name);
            let asking = Self::of(admin, &stream, status, row)?;
            if row.is_some() {
                return Ok(asking);
            }
            of_type.get_or_insert(asking);
        }
        match of_type {
            Some(asking) => Ok(asking),
            None => bail!("{who} is not subscribed to any {}", args.type_url.short_name()),
        }
    }

    fn of(admin: &Admin, stream: &Client, status: &TypeState, row: Option<&Given>) -> Result<Self> {
        let located = row.filter(|row| row.located);
        let client = json!({
            "id": stream.id,
            "node": stream.node.id,
            "state": status.state,
            "last_nack": status.last_nack,
            "subscribed": row.is_some(),
            "located": located.is_some(),
        });
        let Some(row) = located else {
            // A client is known by its id, but what it sends is not.
            let question = vec![("client", stream.id.to_string())];
            let parameters = stream.parameters.iter().map(|parameter| json!(parameter)).collect();
            return Ok(Self { client, question, parameters, barred: None });
        };
        let parameters = Self::sent(admin, stream, status, &row.parameters)?;
        let question = pairs_of(row.parameters.iter().map(|(key, value)| (key.as_str(), value.as_str())));
        let barred = row.obstacle.as_deref().filter(|obstacle| ["denied", "over-limit"].contains(obstacle));
        Ok(Self { client, question, parameters, barred: barred.map(Value::from) })
    }

    /// The parameters of a locator, with where they come from.
    fn sent(
        admin: &Admin,
        stream: &Client,
        status: &TypeState,
        wanted: &BTreeMap<String, String>,
    ) -> Result<Vec<Value>> {
        let whole: Client = admin.get(&format!("/clients/{}", stream.id))?;
        let types = whole.types.into_iter().filter(|of_type| of_type.type_url == status.type_url);
        let is_wanted = |set: &Located| {
            let pairs = set.parameters.iter().map(|parameter| (&parameter.key, &parameter.value));
            pairs.collect::<BTreeMap<_, _>>() == wanted.iter().collect()
        };
        let known = types.flat_map(|of_type| of_type.locators).find(is_wanted);
        Ok(match known {
            Some(set) => set.parameters.iter().map(|parameter| json!(parameter)).collect(),
            None => wanted.iter().map(|(key, value)| sent_by_client(key, value)).collect(),
        })
    }
}
