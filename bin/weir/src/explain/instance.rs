//! What a client of a running instance gets.

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::Args;
use crate::inputs::parameters;
use crate::operate::admin::{Admin, part, query};
use crate::operate::client;
use crate::operate::output::text;

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
    let mut document = ask(&admin, args, &asking.question())?;
    if let Some(barred) = asking.barred {
        (document["outcome"], document["chosen"]) = (barred, Value::Null);
    }
    document["parameters"] = asking.parameters.into();
    document["client"] = asking.client;
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
    /// With what, each with where it comes from.
    parameters: Vec<Value>,
    /// What keeps it from a client that asks by a locator; the instance answers for plain names.
    barred: Option<Value>,
}

impl Asking {
    /// A client is known by its id, but what it sends is not.
    fn question(&self) -> Vec<(&'static str, String)> {
        if self.client["located"] != true {
            return vec![("client", text(&self.client["id"]))];
        }
        let pairs =
            self.parameters.iter().map(|parameter| (text(&parameter["key"]), text(&parameter["value"])));
        let pairs: Vec<_> = pairs.collect();
        pairs_of(pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())))
    }

    /// On the first of its streams that asks for it; where none does, on the first that has the type.
    fn find(admin: &Admin, args: &Args, who: &str) -> Result<Self> {
        let mut of_type = None;
        for stream in client::streams(admin, who)? {
            let types = stream["types"].as_array().into_iter().flatten();
            let Some(status) =
                types.into_iter().find(|status| status["type_url"] == args.type_url.as_str()).cloned()
            else {
                continue;
            };
            let given = client::given(admin, &stream, args.type_url.as_str())?;
            let names = |row: &&Value| row["name"] == *args.name || row["asked"] == *args.name;
            let row = given.iter().find(names);
            let asking = Self::of(admin, &stream, &status, row)?;
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

    fn of(admin: &Admin, stream: &Value, status: &Value, row: Option<&Value>) -> Result<Self> {
        let located = row.filter(|row| row["located"] == true);
        let parameters = match located {
            None => stream["parameters"].as_array().cloned().unwrap_or_default(),
            Some(row) => Self::sent(admin, stream, status, &row["parameters"])?,
        };
        let client = json!({
            "id": stream["id"],
            "node": stream["node"]["id"],
            "state": status["state"],
            "last_nack": status["last_nack"],
            "subscribed": row.is_some(),
            "located": located.is_some(),
        });
        let obstacle = located.map(|row| row["obstacle"].clone());
        let barred = obstacle.filter(|obstacle| obstacle == "denied" || obstacle == "over-limit");
        Ok(Self { client, parameters, barred })
    }

    /// The parameters of a locator, with where they come from.
    fn sent(admin: &Admin, stream: &Value, status: &Value, wanted: &Value) -> Result<Vec<Value>> {
        let whole = admin.get(&format!("/clients/{}", text(&stream["id"])))?;
        let types = whole["types"].as_array().into_iter().flatten();
        let sets =
            types.filter(|of| of["type_url"] == status["type_url"]).flat_map(|of| of["locators"].as_array());
        let pairs = |set: &Value| -> Value {
            let parameters = set["parameters"].as_array().into_iter().flatten();
            parameters.map(|parameter| (text(&parameter["key"]), parameter["value"].clone())).collect()
        };
        let set = sets.flatten().find(|set| pairs(set) == *wanted);
        let known = set.and_then(|set| set["parameters"].as_array().cloned());
        let plain = || {
            let wanted = wanted.as_object().into_iter().flatten();
            wanted.map(|(key, value)| sent_by_client(key, &text(value))).collect()
        };
        Ok(known.unwrap_or_else(plain))
    }
}
