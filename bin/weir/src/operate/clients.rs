//! `weir clients`: who is connected, and how each stands.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::Value;
use weir_types::TypeUrl;

use super::AdminArgs;
use super::admin::Admin;
use super::output::{Format, age, colour, list, number, show, table, text};
use crate::output::whether;

/// List the clients of a running instance
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  weir clients
  weir clients --state rejecting
  weir clients --obstacle denied
  weir clients --type cds --param env=prod --output json

Exits with 1 if there are none.")]
pub(crate) struct Args {
    #[command(flatten)]
    admin: AdminArgs,
    /// Only nodes whose id begins with this
    #[arg(long, value_name = "PREFIX")]
    node: Option<String>,
    /// Only nodes of this cluster
    #[arg(long)]
    cluster: Option<String>,
    /// Only clients in this state: in-sync, behind, rejecting
    #[arg(long)]
    state: Option<String>,
    /// Only clients that are subscribed to this type
    #[arg(long = "type", short, value_name = "TYPE")]
    type_url: Option<TypeUrl>,
    /// Only clients that lack something for this reason: any, denied, over-limit, away
    #[arg(long)]
    obstacle: Option<String>,
    /// Only clients with this dynamic parameter; may be repeated
    #[arg(long = "param", short, value_name = "KEY=VALUE")]
    parameters: Vec<String>,
    /// Output format
    #[arg(long, short, value_enum, default_value_t)]
    output: Format,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let admin = Admin::new(&args.admin)?;
    let filters = [
        ("node", args.node.as_deref()),
        ("cluster", args.cluster.as_deref()),
        ("state", args.state.as_deref()),
        ("type", args.type_url.as_ref().map(TypeUrl::as_str)),
        ("obstacle", args.obstacle.as_deref()),
    ];
    let filters = filters.into_iter().filter_map(|(key, value)| Some((key, value?)));
    let parameters = args.parameters.iter().map(|parameter| ("param", parameter.as_str()));
    let clients = admin.list("/clients", &filters.chain(parameters).collect::<Vec<_>>())?;
    let none = clients.is_empty();
    let clients = Value::Array(clients);
    show(args.output, &clients, out, |out| write_clients(args, &clients, out))?;
    Ok(whether(!none))
}

fn write_clients(args: &Args, clients: &Value, out: &mut dyn Write) -> Result<()> {
    let heading = [
        "ID",
        "NODE",
        "CLUSTER",
        "PROTOCOL",
        "TYPE",
        "STATE",
        "MISSING",
        "SENT",
        "ACCEPTED",
        "LAG",
        "LAST NACK",
    ];
    let mut rows = table(heading, colour());
    for client in clients.as_array().into_iter().flatten() {
        let who = [&client["id"], &client["node"]["id"], &client["node"]["cluster"], &client["dialect"]];
        let [id, node, cluster, uses] = who.map(text);
        for of_type in list(&client["types"]).iter().filter(|of_type| args.asks_for(of_type)) {
            let fields = [
                &of_type["type"],
                &of_type["state"],
                &of_type["sent"]["version"],
                &of_type["accepted"]["version"],
            ];
            let [name, state, sent, accepted] = fields.map(text);
            let lag = of_type["lag_seconds"].as_f64().filter(|lag| *lag > 0.0).map(age).unwrap_or_default();
            let nack = standing_nack(of_type);
            let who = [id.clone(), node.clone(), cluster.clone(), uses.clone()];
            let [id, node, cluster, uses] = who;
            rows.row([id, node, cluster, uses, name, state, lacks(of_type), sent, accepted, lag, nack]);
        }
    }
    Ok(rows.write(out, "")?)
}

impl Args {
    /// Whether this type of a client that was found is what was asked for.
    fn asks_for(&self, of_type: &Value) -> bool {
        let counts = match self.obstacle.as_deref() {
            None => &[][..],
            Some("denied") => &["denied"],
            Some("over-limit") => &["over_limit"],
            Some("away") => &["away"],
            Some(_) => &["denied", "over_limit", "away"],
        };
        self.type_url.as_ref().is_none_or(|type_url| of_type["type_url"] == type_url.as_str())
            && self.state.as_ref().is_none_or(|state| of_type["state"] == **state)
            && (counts.is_empty() || counts.iter().any(|count| number(&of_type[count]) > 0))
    }
}

/// The message of the newest rejection, while the client has accepted nothing since.
fn standing_nack(of_type: &Value) -> String {
    if of_type["state"] == "rejecting" { text(&of_type["last_nack"]["message"]) } else { String::new() }
}

/// Of how much there is nothing to give, and why: `1 unanswered, 2 denied`.
fn lacks(of_type: &Value) -> String {
    let count = |field: &str| number(&of_type[field]);
    let unanswered = count("unanswered").saturating_sub(count("away"));
    let counts = [
        (unanswered, "unanswered"),
        (count("away"), "away"),
        (count("denied"), "denied"),
        (count("over_limit"), "over limit"),
    ];
    let words = counts.into_iter().filter(|(count, _)| *count > 0);
    words.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_was_asked_for_is_shown() {
        #[derive(clap::Parser)]
        struct Command {
            #[command(flatten)]
            args: Args,
        }
        let rejecting = json!({
            "type_url": "type.googleapis.com/envoy.config.cluster.v3.Cluster", "state": "rejecting", "denied": 1,
        });
        for (arguments, shown) in [
            (&[][..], true),
            (&["--type", "cds"], true),
            (&["--type", "lds"], false),
            (&["--state", "rejecting"], true),
            (&["--state", "in-sync"], false),
            (&["--obstacle", "any"], true),
            (&["--obstacle", "denied", "--type", "cds"], true),
            (&["--obstacle", "away"], false),
        ] {
            let command = <Command as clap::Parser>::parse_from([&["clients"], arguments].concat());
            assert_eq!(command.args.asks_for(&rejecting), shown, "{arguments:?}");
        }
    }

    #[test]
    fn e04_a_rejection_is_shown_while_it_stands() {
        let of_type = |state: &str| json!({ "state": state, "last_nack": { "message": "no" } });
        assert_eq!(
            ["rejecting", "behind", "in-sync"].map(|state| standing_nack(&of_type(state))),
            ["no", "", ""]
        );
    }

    #[test]
    fn what_is_lacking_is_stated_with_the_reason() {
        let of_type = json!({ "unanswered": 3, "away": 2, "denied": 0, "over_limit": 1 });
        assert_eq!(lacks(&of_type), "1 unanswered, 2 away, 1 over limit");
        assert_eq!(lacks(&json!({ "unanswered": 0, "away": 0, "denied": 4 })), "4 denied");
        assert_eq!(lacks(&json!({})), "");
    }
}
