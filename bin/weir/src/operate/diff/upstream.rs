//! Compares a client with what its upstream sends now.

mod ask;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};
use weir_admin::Condition;
use weir_types::{DynamicParameters, TypeUrl, WILDCARD, authority};

use crate::operate::admin::Admin;
use crate::operate::client;
use crate::operate::output::{colour, list, number, shown, table, text};
use crate::output::count;
use crate::progress::Progress;

use self::ask::Sources;

/// What came of it.
pub(super) struct Compared {
    pub(super) document: Value,
}

/// What of a client can be asked for at once: a type of an authority, with the same parameters; a wildcard by itself,
/// since its answer and that to names could not be distinguished.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Question {
    authority: String,
    type_url: TypeUrl,
    parameters: DynamicParameters,
    is_wildcard: bool,
}

/// What the client asked for, and the version of what it is given under each name.
#[derive(Clone, Debug, Default)]
struct Given {
    asked: BTreeSet<String>,
    versions: BTreeMap<String, String>,
}

/// Compares what a client is sent with what upstream sends now.
pub(super) fn compare(admin: &Admin, who: &str, config: &Path, timeout: Duration) -> Result<Compared> {
    let streams = client::streams(admin, who)?;
    let (mut questions, mut troubled) = (BTreeMap::<Question, Given>::new(), Vec::new());
    for stream in &streams {
        for row in client::given(admin, stream, "")? {
            let given = questions.entry(Question::of(&row)).or_default();
            given.asked.insert(row.asked);
            given.versions.extend(row.content.map(|content| (row.name, content)));
        }
        let behind = stream.types.iter().filter(|of_type| of_type.state != Condition::InSync);
        troubled.extend(behind.map(|of_type| {
            let last_nack = of_type.last_nack.as_ref().map(|nack| &nack.message);
            json!({ "type": of_type.short_name, "state": of_type.state, "last_nack": last_nack })
        }));
    }
    let sources = Sources::of(config, admin, timeout)?;
    let (mut same, mut differences) = (0, Vec::new());
    let mut progress = Progress::new("questions", questions.len());
    for (question, given) in &questions {
        let now = sources.ask(question, &given.asked)?;
        progress.step();
        same += given.versions.iter().filter(|(name, version)| now.get(*name) == Some(version)).count();
        differences.extend(differing(&question.type_url, &given.versions, &now));
    }
    drop(progress);
    let document =
        json!({ "client": who, "not_in_sync": troubled, "same": same, "differences": differences });
    Ok(Compared { document })
}

impl Question {
    /// What it takes to ask for a row again, by the name that brought it.
    fn of(row: &weir_admin::Given) -> Self {
        let parameters = row.parameters.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        Self {
            authority: authority(&row.asked).to_owned(),
            type_url: TypeUrl::new(&*row.type_url),
            parameters: parameters.collect(),
            is_wildcard: row.asked == WILDCARD,
        }
    }
}

fn differing(
    type_url: &TypeUrl,
    given: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
) -> Vec<Value> {
    let names: BTreeSet<_> = given.keys().chain(now.keys()).collect();
    let differing = names.into_iter().filter_map(|name| {
        let (client, upstream) = (given.get(name), now.get(name));
        let difference = match (client, upstream) {
            (Some(client), Some(upstream)) if client == upstream => return None,
            (Some(_), Some(_)) => "differs",
            (Some(_), None) => "extra",
            (None, _) => "missing",
        };
        let short = type_url.short_name();
        Some(json!({
            "type": short, "name": name, "difference": difference, "client": client, "upstream": upstream,
        }))
    });
    differing.collect()
}

impl Compared {
    /// Whether the client was sent what upstream has, and has not rejected it.
    pub(super) fn is_same(&self) -> bool {
        let rejects = |of_type: &Value| of_type["state"] == "rejecting";
        self.is_sent_the_same() && !list(&self.document["not_in_sync"]).iter().any(rejects)
    }

    fn is_sent_the_same(&self) -> bool {
        list(&self.document["differences"]).is_empty()
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> Result<()> {
        for of_type in list(&self.document["not_in_sync"]) {
            let nack = of_type["last_nack"].as_str().filter(|_| of_type["state"] == "rejecting");
            let nack = nack.map(|nack| format!(": {nack}")).unwrap_or_default();
            writeln!(
                out,
                "{} is {} with {}{nack}",
                shown(&self.document["client"]),
                text(&of_type["state"]),
                text(&of_type["type"])
            )?;
        }
        let same = count(number(&self.document["same"]), "resource");
        if self.is_sent_the_same() {
            let agrees = match list(&self.document["not_in_sync"]) {
                [] => "no difference",
                _ => "it was sent what upstream has, and has not accepted all of it",
            };
            return Ok(writeln!(out, "{agrees}: {same}")?);
        }
        let mut rows = table(["TYPE", "NAME", "DIFFERENCE", "CLIENT", "UPSTREAM"], colour());
        for difference in list(&self.document["differences"]) {
            let fields = ["type", "name", "difference", "client", "upstream"];
            rows.row(fields.map(|key| match &difference[key] {
                Value::Null => "-".to_owned(),
                value => text(value),
            }));
        }
        rows.write(out, "")?;
        Ok(writeln!(out, "{same} the same")?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e04_what_a_client_rejects_is_no_agreement() {
        let compared = |state: Option<&str>, differences: Value| {
            let troubled: Vec<_> = state
                .into_iter()
                .map(|state| json!({ "type": "cds", "state": state, "last_nack": "no" }))
                .collect();
            let document =
                json!({ "client": "web-1", "not_in_sync": troubled, "same": 2, "differences": differences });
            let (compared, mut out) = (Compared { document }, Vec::new());
            compared.write(&mut out).unwrap();
            (compared.is_same(), String::from_utf8(out).unwrap())
        };
        assert_eq!(compared(None, json!([])), (true, "no difference: 2 resources\n".to_owned()));
        let rejects = "web-1 is rejecting with cds: no\n\
                       it was sent what upstream has, and has not accepted all of it: 2 resources\n";
        assert_eq!(compared(Some("rejecting"), json!([])), (false, rejects.to_owned()));
        assert!(compared(Some("behind"), json!([])).0, "it has yet to answer");
        let differs =
            json!([{ "type": "cds", "name": "a", "difference": "missing", "client": null, "upstream": "1" }]);
        assert!(!compared(None, differs).0);
    }

    #[test]
    fn what_differs_is_missing_or_is_too_much() {
        let side = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
        };
        let given = side(&[("a", "1"), ("b", "1"), ("c", "1")]);
        let now = side(&[("b", "1"), ("c", "2"), ("d", "1")]);
        let found =
            differing(&TypeUrl::new("type.googleapis.com/envoy.config.cluster.v3.Cluster"), &given, &now);
        let shown: Vec<_> = found.iter().map(|row| (text(&row["name"]), text(&row["difference"]))).collect();
        let wanted = [("a", "extra"), ("c", "differs"), ("d", "missing")];
        assert_eq!(shown, wanted.map(|(name, difference)| (name.to_owned(), difference.to_owned())));
    }
}
