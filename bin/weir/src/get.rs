//! `weir get`: what a server sends to a client.

mod show;

use std::io;
use std::process::ExitCode;

use anyhow::Result;

use self::show::Show;
use crate::operate::output::Format;
use crate::output::whether;
use crate::subscribe::{Change, Held, Sink, SubscriptionArgs};

/// Subscribe like a client and show what comes
///
/// With --param the subscription is by resource locators, else by plain names, as Envoy's is. Without a name it
/// is to everything that the server sends for the wildcard.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  weir get cds --server 127.0.0.1:18000
  weir get eds backend --server 127.0.0.1:18000 --param env=test --output yaml
  weir get lds --server 127.0.0.1:18000 --node-metadata env=test --watch

YAML and JSON have the form of a resource file, so that what a server sends can be served from files.
Exits with 1 if the server does not have a resource that was named.")]
pub(crate) struct Args {
    #[command(flatten)]
    subscription: SubscriptionArgs,
    /// How to show what comes: json has a line, and yaml a document, for each change when watching
    #[arg(long, short, value_enum, default_value_t)]
    output: Format,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let subscription = &args.subscription;
    let mut show = Show {
        format: args.output,
        type_url: subscription.type_url.clone(),
        located: subscription.is_located(),
    };
    let missing = subscription.run(&mut show)?;
    Ok(whether(!missing))
}

impl Sink for Show {
    fn all(&mut self, held: &Held) -> Result<()> {
        Ok(self.write_all(held, &mut io::stdout().lock())?)
    }

    fn changes(&mut self, _: &Held, changes: &[Change]) -> Result<()> {
        Ok(self.write_changes(changes, &mut io::stdout().lock())?)
    }
}
