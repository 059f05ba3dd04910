//! `weir clients`: who is connected, and how each stands.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use weir_admin::{Client, Condition, Lacking, TypeState};
use weir_types::TypeUrl;

use super::AdminArgs;
use super::admin::Admin;
use super::output::{Format, age, colour, show_items, table};

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
    show_items(args.output, ("/clients", clients), out, |clients, out| write_clients(args, clients, out))
}

fn write_clients(args: &Args, clients: &[Client], out: &mut dyn Write) -> Result<()> {
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
    for client in clients {
        for of_type in client.types.iter().filter(|of_type| args.asks_for(of_type)) {
            rows.row([
                client.id.to_string(),
                client.node.id.clone(),
                client.node.cluster.clone(),
                client.dialect.to_string(),
                of_type.short_name.to_string(),
                of_type.state.as_str().to_owned(),
                lacks(&of_type.lacking),
                of_type.sent.as_ref().map(|sent| sent.version.clone()).unwrap_or_default(),
                of_type.accepted.as_ref().map(|accepted| accepted.version.clone()).unwrap_or_default(),
                Some(of_type.lag_seconds).filter(|lag| *lag > 0.0).map(age).unwrap_or_default(),
                standing_nack(of_type).to_owned(),
            ]);
        }
    }
    Ok(rows.write(out, "")?)
}

impl Args {
    /// Whether this type of a client that was found is what was asked for.
    fn asks_for(&self, of_type: &TypeState) -> bool {
        self.type_url.as_ref().is_none_or(|type_url| of_type.type_url == type_url.as_str())
            && self.state.as_ref().is_none_or(|state| of_type.state.as_str() == *state)
            && self.obstacle.as_ref().is_none_or(|obstacle| of_type.lacking.is_for(obstacle))
    }
}

/// The message of the newest rejection, while the client has accepted nothing since.
fn standing_nack(of_type: &TypeState) -> &str {
    let nack = of_type.last_nack.as_ref().filter(|_| of_type.state == Condition::Rejecting);
    nack.map(|nack| &*nack.message).unwrap_or_default()
}

/// Of how much there is nothing to give, and why: `1 unanswered, 2 denied`.
fn lacks(lacking: &Lacking) -> String {
    let Lacking { unanswered, away, denied, over_limit } = *lacking;
    let counts = [
        (unanswered.saturating_sub(away), "unanswered"),
        (away, "away"),
        (denied, "denied"),
        (over_limit, "over limit"),
    ];
    let words = counts.into_iter().filter(|(count, _)| *count > 0);
    words.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Clusters of a client that has rejected them once.
    fn of_type(state: &str) -> TypeState {
        serde_json::from_value(json!({
            "type": "cds",
            "type_url": "type.googleapis.com/envoy.config.cluster.v3.Cluster",
            "state": state,
            "view": 1,
            "subscribed": 1,
            "unanswered": 0,
            "away": 0,
            "denied": 0,
            "over_limit": 0,
            "sent": null,
            "accepted": null,
            "last_nack": {
                "at": "2026-03-02T09:12:44Z", "nonce": null, "version": "1", "code": 3, "message": "no",
            },
            "lag_seconds": 0.0,
        }))
        .unwrap()
    }

    #[test]
    fn only_what_was_asked_for_is_shown() {
        #[derive(clap::Parser)]
        struct Command {
            #[command(flatten)]
            args: Args,
        }
        let rejecting =
            TypeState { lacking: Lacking { denied: 1, ..Lacking::default() }, ..of_type("rejecting") };
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
        assert_eq!(
            ["rejecting", "behind", "in-sync"].map(|state| standing_nack(&of_type(state)).to_owned()),
            ["no", "", ""]
        );
    }

    #[test]
    fn what_is_lacking_is_stated_with_the_reason() {
        let lacking = Lacking { unanswered: 3, away: 2, denied: 0, over_limit: 1 };
        assert_eq!(lacks(&lacking), "1 unanswered, 2 away, 1 over limit");
        assert_eq!(lacks(&Lacking { denied: 4, ..Lacking::default() }), "4 denied");
        assert_eq!(lacks(&Lacking::default()), "");
    }
}
