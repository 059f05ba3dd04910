//! What is answered, held against the description of it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use weir_types::constraints::Expr;

use super::fake::Fake;
use super::get;

/// A description, to look things up in.
struct Description(Value);

/// What an object may and must have.
#[derive(Default)]
struct Object<'a> {
    properties: BTreeMap<&'a str, &'a Value>,
    required: BTreeSet<&'a str>,
    /// Of properties that have no names of their own.
    others: Option<&'a Value>,
}

impl Description {
    fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let Some(name) = schema["$ref"].as_str() else { return schema };
        let name = name.strip_prefix("#/components/schemas/").expect("a schema of this description");
        let found = &self.0["components"]["schemas"][name];
        assert!(found.is_object(), "{name} is not described");
        self.resolved(found)
    }

    /// Adds what `schema` defines for an object; one that is flattened into another is a part of it.
    fn gather<'a>(&'a self, schema: &'a Value, object: &mut Object<'a>) {
        let schema = self.resolved(schema);
        for part in schema["allOf"].as_array().into_iter().flatten() {
            self.gather(part, object);
        }
        let properties = schema["properties"].as_object().into_iter().flatten();
        object.properties.extend(properties.map(|(name, of)| (name.as_str(), of)));
        object.required.extend(schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str));
        object.others = object.others.or_else(|| schema.get("additionalProperties"));
    }

    /// Where `value`, which stands at `at`, is not as `schema` has it.
    fn faults(&self, schema: &Value, value: &Value, at: &str) -> Vec<String> {
        let schema = self.resolved(schema);
        if let Some(alternatives) = ["oneOf", "anyOf"].into_iter().find_map(|key| schema[key].as_array()) {
            let fits = |schema: &Value| self.faults(schema, value, at).is_empty();
            let none = !alternatives.iter().any(fits);
            return Vec::from_iter(none.then(|| format!("{at}: {value} is none of what is described")));
        }
        let types = match &schema["type"] {
            Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
            one => Vec::from_iter(one.as_str()),
        };
        if !types.is_empty() && !types.iter().any(|of_type| is_a(value, of_type)) {
            return vec![format!("{at}: {value} is not {}", types.join(" or "))];
        }
        if let Some(words) = schema["enum"].as_array()
            && !words.contains(value)
        {
            return vec![format!("{at}: {value} is not one of {words:?}")];
        }
        match value {
            Value::Array(items) => {
                let items = items.iter().enumerate();
                items
                    .flat_map(|(i, item)| self.faults(&schema["items"], item, &format!("{at}[{i}]")))
                    .collect()
            }
            Value::Object(fields) => self.faults_of(schema, fields, at),
            _ => {
                let parts = schema["allOf"].as_array().into_iter().flatten();
                parts.flat_map(|part| self.faults(part, value, at)).collect()
            }
        }
    }

    fn faults_of(&self, schema: &Value, fields: &serde_json::Map<String, Value>, at: &str) -> Vec<String> {
        let mut object = Object::default();
        self.gather(schema, &mut object);
        let missing = object.required.iter().filter(|name| !fields.contains_key(**name));
        let mut faults: Vec<_> = missing.map(|name| format!("{at}: {name} is missing")).collect();
        for (name, value) in fields {
            let at = format!("{at}.{name}");
            match (object.properties.get(name.as_str()).copied(), object.others) {
                (Some(schema), _) | (None, Some(schema)) if schema.is_object() => {
                    faults.extend(self.faults(schema, value, &at));
                }
                _ if object.properties.is_empty() => {}
                _ => faults.push(format!("{at} is not described")),
            }
        }
        faults
    }
}

fn is_a(value: &Value, of_type: &str) -> bool {
    match of_type {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        _ => value.is_object(),
    }
}

/// Every `GET` that is answered in JSON: the path with something that is there, what is described, and the answer's schema.
fn endpoints(description: &Description) -> Vec<(String, &Value, &Value)> {
    let paths = description.0["paths"].as_object().unwrap().iter();
    let endpoints = paths.filter_map(|(path, verbs)| {
        let schema = &verbs["get"]["responses"]["200"]["content"]["application/json"]["schema"];
        let path = path.replace("{type}", "cds").replace("{name}", "a").replace("{id}", "1");
        (schema.is_object() && path != "/openapi.json").then_some((path, &verbs["get"], schema))
    });
    endpoints.collect()
}

async fn described(fake: &std::sync::Arc<Fake>) -> Description {
    Description(get(fake, "/openapi.json").await.json())
}

#[tokio::test]
async fn answers_are_as_they_are_described() {
    let fake = Fake::new(3);
    let overlapping = [("a", Expr::value("env", "prod"), 1), ("a", Expr::value("zone", "a"), 2)];
    fake.hold(&overlapping);
    fake.hold(&[("b", Expr::value("env", "test"), 1)]);
    let both = &[("env", "prod"), ("zone", "a")];
    let _streams = [fake.ask("a", both), fake.ask("*", &[("env", "prod")]), fake.ask("b", &[])];
    let _barred = fake.ask_for_barred();
    let description = described(&fake).await;
    let endpoints = endpoints(&description);
    assert!(endpoints.len() >= 17, "{endpoints:?}");
    for (path, _, schema) in endpoints {
        let answer = get(&fake, &path).await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        let answer = answer.json();
        let empty = answer["items"].as_array().is_some_and(Vec::is_empty);
        assert!(!empty, "{path} shows nothing to hold against its description");
        assert_eq!(description.faults(schema, &answer, &path), Vec::<String>::new());
    }
}

#[tokio::test]
async fn what_is_described_may_be_asked_and_nothing_else() {
    let fake = Fake::new(3);
    fake.hold(&[("a", Expr::value("env", "prod"), 1)]);
    let description = described(&fake).await;
    let mut asked = 0;
    for (path, endpoint, _) in endpoints(&description) {
        let parameters = endpoint["parameters"].as_array().into_iter().flatten();
        let in_query: Vec<_> = parameters.filter(|parameter| parameter["in"] == "query").collect();
        for name in in_query.iter().map(|parameter| parameter["name"].as_str().unwrap()) {
            let value = match name {
                "type" => "cds",
                "state" if path == "/upstreams" => "syncing",
                "state" => "behind",
                "obstacle" => "any",
                "dialect" => "rest",
                "param" => "env=prod",
                "outcome" => "late",
                "format" => "json",
                "client" | "view" | "limit" => "1",
                "after" if path == "/resources" => "x%20y",
                "after" => "0",
                _ => "x",
            };
            let answer = get(&fake, &format!("{path}?{name}={value}")).await;
            assert_eq!(answer.status, 200, "{path}?{name}={value}: {}", answer.body);
            asked += 1;
        }
        if !in_query.is_empty() {
            let answer = get(&fake, &format!("{path}?made-up=1")).await;
            assert_eq!((answer.status, &answer.json()["field"]), (400, &"made-up".into()), "{path}");
        }
    }
    assert!(asked > 30, "{asked}");
}

#[tokio::test]
async fn problems_are_described_with_their_content_type_and_rights() {
    let description = described(&Fake::new(3)).await;
    let paths = description.0["paths"].as_object().unwrap().iter();
    let operations =
        paths.flat_map(|(path, verbs)| verbs.as_object().unwrap().values().map(move |of| (path, of)));
    let (mut problems, mut limits) = (0, 0);
    for (path, operation) in operations {
        assert!(operation.as_object().unwrap().values().all(|part| !part.is_null()), "{path}: {operation}");
        let open = ["/live", "/ready"].contains(&&**path);
        for status in ["401", "403"] {
            let text = &operation["responses"][status]["content"]["text/plain"];
            assert_eq!(text.is_object(), !open, "{path}: {status}");
        }
        for response in operation["responses"].as_object().unwrap().values() {
            assert!(
                response["description"].as_str().is_some_and(|words| !words.is_empty()),
                "{path}: {response}"
            );
            for (content, of) in response["content"].as_object().into_iter().flatten() {
                let is_problem = of["schema"]["$ref"] == "#/components/schemas/Problem";
                assert_eq!(content == "application/problem+json", is_problem, "{path}: {response}");
                problems += usize::from(is_problem);
            }
        }
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            if parameter["name"] == "limit" {
                assert_eq!(
                    (&parameter["schema"]["minimum"], &parameter["schema"]["maximum"]),
                    (&1.into(), &100_000.into()),
                    "{path}"
                );
                limits += 1;
            }
        }
    }
    assert!(problems > 20 && limits > 8, "{problems} problems, {limits} limits");
}

#[test]
fn what_is_not_as_described_is_found() {
    let description = Description(serde_json::json!({ "components": { "schemas": {
        "A": { "type": "object", "required": ["n"], "properties": { "n": { "type": "integer" } } },
        "B": { "allOf": [{ "$ref": "#/components/schemas/A" }, { "properties": { "t": { "type": ["string", "null"] } } }] },
        "C": { "oneOf": [{ "type": "null" }, { "$ref": "#/components/schemas/B" }] },
    } } }));
    let schema = serde_json::json!({ "type": "array", "items": { "$ref": "#/components/schemas/C" } });
    for (value, faults) in [
        ("[null, { \"n\": 1 }, { \"n\": 1, \"t\": null }]", 0),
        ("[{ \"n\": \"1\" }]", 1),
        ("[{ \"t\": \"x\" }, 7]", 2),
        ("[{ \"n\": 1, \"x\": 1 }]", 1),
        ("{}", 1),
    ] {
        let value = serde_json::from_str(value).unwrap();
        let found = description.faults(&schema, &value, "");
        assert_eq!(found.len(), faults, "{value}: {found:?}");
    }
}
