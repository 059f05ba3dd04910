//! `weir export`: what a server sends to a client, as a file that an Envoy can watch.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use weir_downstream::export::write;
use weir_types::{Absence, FileFormat, Form, TypeUrl, Variant};
use weir_wire::file::{response, write_as};

use crate::output::{note, whether};
use crate::subscribe::{Change, Held, Sink, SubscriptionArgs};

/// Write what a server sends to a file
///
/// The file is a DiscoveryResponse, as Envoy's path_config_source reads it, written beside and renamed over. Its
/// format goes by the end of its name: .yaml, .yml, .json, .pb, .pb_text, .textproto or .txtpb. Where something
/// that was named got no answer nothing is written: what is missing in the file, its reader deletes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  weir export cds --to cds.yaml --server 127.0.0.1:18000
  weir export eds backend --to eds.pb --server 127.0.0.1:18000 --node-metadata env=test --watch

To export all the time, a running instance can do it itself: see [[export]] in docs/configuration.md.
Exits with 1 if the server does not have a resource that was named.")]
pub(crate) struct Args {
    #[command(flatten)]
    subscription: SubscriptionArgs,
    /// The file to write
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let Some(format) = FileFormat::of(&args.to) else {
        bail!("{}: the file name has no known ending; use one of {}", args.to.display(), FileFormat::ENDINGS);
    };
    let type_url = args.subscription.type_url.clone();
    let missing = args.subscription.run(&mut Export { type_url, to: args.to.clone(), format })?;
    Ok(whether(!missing))
}

struct Export {
    type_url: TypeUrl,
    to: PathBuf,
    format: FileFormat,
}

impl Sink for Export {
    fn all(&mut self, held: &Held) -> Result<()> {
        let unanswered: Vec<&str> = held
            .missing()
            .filter(|(_, absence)| *absence != Absence::Known)
            .map(|(name, _)| &**name)
            .collect();
        if !unanswered.is_empty() {
            note(&format!("not written, since there is no answer for {}", unanswered.join(", ")));
            return Ok(());
        }
        let variants: Vec<(Arc<Variant>, Form)> =
            held.variants().map(|variant| (Arc::clone(variant), Form::Plain)).collect();
        let (version, bytes) = response(&self.type_url, &variants);
        let bytes = write_as(self.format, bytes, version)?;
        write(&self.to, &self.type_url, &bytes).with_context(|| format!("write {}", self.to.display()))?;
        note(&format!("{}: {} resources", self.to.display(), variants.len()));
        Ok(())
    }

    fn changes(&mut self, held: &Held, _: &[Change]) -> Result<()> {
        self.all(held)
    }
}
