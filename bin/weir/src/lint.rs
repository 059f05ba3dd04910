//! `weir lint`: what is wrong with variants, before a client finds out.

mod files;
mod instance;
mod render;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use serde_json::{Value, json};
use weir_database::explain::Candidate;
use weir_database::lint::{Finding, Keyed, lint};
use weir_types::constraints::KnownValues;
use weir_types::{DynamicParameters, Name, TypeUrl, Variant};
use weir_upstream::files::Problem;

use crate::operate::AdminArgs;
use crate::operate::output::{Format, show};
use crate::output::whether;
use crate::progress::Progress;

/// Find what is wrong with the variants of resources, before a client does
///
/// Looks at resource files, or without any at what a running instance holds. Finds variants of a name that overlap,
/// with dynamic parameters that both match; variants of a name that are constrained by different keys; and values for
/// which there is no variant: in files, values that constraints mention anywhere; of a running instance also those that
/// clients ask with. In files, also resources that break rules of Envoy's API.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  weir lint config/resources
  weir lint --config config/quickstart.toml --output json
  weir lint --allow uncovered
  weir lint --admin http://127.0.0.1:19000 --type cds

Exits with 0 if nothing is wrong, with 1 if something is, and with 2 if it cannot be looked at.")]
pub(crate) struct Args {
    /// Resource files, or directories of them
    #[arg(value_name = "PATH", conflicts_with = "config")]
    paths: Vec<PathBuf>,
    /// The files of this configuration
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Only of this type: cds, eds, lds, …, or a type URL
    #[arg(long = "type", short, value_name = "TYPE")]
    type_url: Option<TypeUrl>,
    /// Ignore this kind of finding; may be repeated
    #[arg(long, value_enum, value_name = "KIND")]
    allow: Vec<Kind>,
    #[command(flatten)]
    admin: AdminArgs,
    /// Output format
    #[arg(long, short, value_enum, default_value_t)]
    output: Format,
}

/// What can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// Two variants can match the same client
    Overlap,
    /// Variants are constrained by different keys
    Keys,
    /// Some values have no variant
    Uncovered,
    /// A resource breaks a rule of Envoy's API, so that Envoy rejects it
    Invalid,
}

/// What is looked at.
struct Subject {
    variants: Vec<Looked>,
    /// Whether all variants that there are of the name are known, and not only those that somebody asked for.
    whole: bool,
    /// Parameters with which clients ask in vain, and how many streams do.
    unanswered: Vec<(Value, u64)>,
    /// The rules of Envoy's API that its variants break.
    violations: Vec<Problem>,
}

/// A variant, and where it is.
struct Looked {
    variant: Arc<Variant>,
    rank: u8,
    place: String,
}

impl Candidate for Looked {
    fn variant(&self) -> &Arc<Variant> {
        &self.variant
    }

    fn rank(&self) -> u8 {
        self.rank
    }
}

/// What is looked at, by type and name.
type Subjects = BTreeMap<(TypeUrl, Name), Subject>;

/// Everything that is looked at, and what of it is bad in itself.
struct Material {
    subjects: Subjects,
    problems: Vec<String>,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let Material { mut subjects, problems } = match (&args.config, &args.paths[..]) {
        (None, []) => instance::look(&args.admin)?,
        (Some(config), _) => files::look_at_config(config)?,
        (None, paths) => files::look(paths)?,
    };
    subjects.retain(|(type_url, _), _| args.type_url.as_ref().is_none_or(|wanted| wanted == type_url));
    let findings = findings(&subjects, &args.allow);
    let clean = findings.is_empty() && problems.is_empty();
    let variants: usize = subjects.values().map(|subject| subject.variants.len()).sum();
    let document =
        json!({ "names": subjects.len(), "variants": variants, "problems": problems, "findings": findings });
    show(args.output, &document, out, |out| render::write(&document, out))?;
    Ok(whether(clean))
}

fn findings(subjects: &Subjects, allowed: &[Kind]) -> Vec<Value> {
    let mut known = KnownValues::new();
    for held in subjects.values().flat_map(|subject| &subject.variants) {
        held.variant.key().constraints.learn(&mut known);
    }
    let mut found = Vec::new();
    let mut progress = Progress::new("names", subjects.len());
    for ((type_url, name), subject) in subjects {
        progress.step();
        let variants: Vec<_> = subject.variants.iter().collect();
        let described = lint(&variants, subject.whole.then_some(&known)).into_iter().map(described);
        let in_vain = subject.unanswered.iter().map(|(parameters, streams)| {
            let finding = json!({ "witnesses": [parameters], "streams": streams });
            (Kind::Uncovered, finding)
        });
        let invalid = subject.violations.iter().map(|Problem { origin, reason }| {
            (Kind::Invalid, json!({ "at": origin.to_string(), "reason": reason }))
        });
        for (kind, mut finding) in
            described.chain(in_vain).chain(invalid).filter(|(kind, _)| !allowed.contains(kind))
        {
            finding["kind"] = kind.word().into();
            finding["type"] = short(type_url).into();
            finding["name"] = (**name).into();
            found.push(finding);
        }
    }
    found
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Overlap => "overlap",
            Self::Keys => "keys",
            Self::Uncovered => "uncovered",
            Self::Invalid => "invalid",
        }
    }
}

fn described(finding: Finding<'_, Looked>) -> (Kind, Value) {
    match finding {
        Finding::Overlap(overlap) => {
            let pair = overlap.pair.map(looked);
            (Kind::Overlap, json!({ "variants": pair, "witness": overlap.witness.as_ref().map(pairs) }))
        }
        Finding::Keys(sets) => {
            let set = |set: Keyed<'_, Looked>| {
                let keys: Vec<&str> = set.keys.iter().map(|key| &**key).collect();
                json!({ "keys": keys, "variants": set.variants.into_iter().map(looked).collect::<Vec<_>>() })
            };
            (Kind::Keys, json!({ "sets": sets.into_iter().map(set).collect::<Vec<_>>() }))
        }
        Finding::Uncovered(witnesses) => {
            (Kind::Uncovered, json!({ "witnesses": witnesses.iter().map(pairs).collect::<Vec<_>>() }))
        }
        Finding::Undecided => (Kind::Uncovered, json!({ "witnesses": null })),
    }
}

fn looked(held: &Looked) -> Value {
    json!({ "constraints": held.variant.key().constraints.to_string(), "at": held.place })
}

fn pairs(parameters: &DynamicParameters) -> Value {
    json!(parameters.iter().collect::<BTreeMap<_, _>>())
}

/// The short name of a type, or its URL.
fn short(type_url: &TypeUrl) -> &str {
    match type_url.short_name() {
        "other" => type_url.as_str(),
        short => short,
    }
}
