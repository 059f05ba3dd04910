//! `weir check`: whether a configuration is good, and what was understood of it.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;
use weir_config::{
    AfterSubscribers, ClientCertificate, Config, ControlPlane, Exchange, NackUpstream, NodeTemplate,
    Protocol, Source, Streaming, Transport,
};
use weir_database::explain::Overlaps;
use weir_types::{Name, NodePart, TypeUrl};
use weir_upstream::files::{self, Loaded, Resource};

use crate::convert;
use crate::operate::output::{Format, show};
use crate::output::{TROUBLE, complain, count, describe, whether};
use crate::table::Table;

/// Validate a configuration and show what was understood
///
/// Reads the resource files too, where an upstream has them, and certificates, keys and tokens. Warns where two
/// variants of a resource can match the same client, of resources that break rules of Envoy's API, of parameter_keys that
/// no rule gives, of directories that are not there, and of those without resource files.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  weir check --config config/quickstart.toml

Exits with 1 if the configuration, a resource file, a certificate, a key or a token is bad, and with 2 if the
configuration cannot be read.")]
pub(crate) struct Args {
    /// The configuration file
    #[arg(long, short, value_name = "FILE", env = "WEIR_CONFIG")]
    config: PathBuf,
    /// Output format: json and yaml have problems only
    #[arg(long, short, value_enum, default_value_t)]
    output: Format,
}

/// What is wrong.
#[derive(Default)]
struct Report {
    problems: Vec<String>,
    warnings: Vec<String>,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let mut report = Report::default();
    let mut understood = Vec::new();
    let is_readable = check(args, &mut report, &mut understood)?;
    let good = report.problems.is_empty();
    let document = json!({ "valid": good, "problems": report.problems, "warnings": report.warnings });
    show(args.output, &document, out, |out| Ok(out.write_all(&understood)?))?;
    Ok(if is_readable { whether(good) } else { ExitCode::from(TROUBLE) })
}

/// Writes what was understood, and finds what is wrong. False where there is nothing to be read.
fn check(args: &Args, report: &mut Report, out: &mut dyn Write) -> Result<bool> {
    let config = match weir_config::load(&args.config) {
        Ok(config) => config,
        Err(bad) => {
            let is_readable = !matches!(bad, weir_config::Error::Unreadable { .. });
            report.problems.push(bad.to_string());
            complain(&bad.into());
            return Ok(is_readable);
        }
    };
    write_instance(&config, out)?;
    for upstream in &config.upstreams {
        writeln!(out, "\nupstream for {}", authority(&upstream.authority))?;
        match &upstream.source {
            Source::Files(files) => check_files(&files.path, report, out)?,
            Source::ControlPlane(control_plane) => write_control_plane(control_plane, out)?,
        }
    }
    write_rules(&config, out)?;
    let store_key = convert::store_key(&config).err().map(|error| describe(&error));
    for problem in convert::tls::problems(&config).into_iter().chain(store_key) {
        writeln!(out, "\nproblem: {problem}")?;
        report.problems.push(problem);
    }
    for warning in
        missing_directories(&config).into_iter().chain(keys_without_rules(&config)).chain(claims(&config))
    {
        writeln!(out, "\nwarning: {warning}")?;
        report.warnings.push(warning);
    }
    let verdict = if report.problems.is_empty() { "valid" } else { "bad" };
    writeln!(out, "\n{} is {verdict}", args.config.display())?;
    Ok(true)
}

/// GlobIndex that have to be there before something can be written, and are not. They may still come.
fn missing_directories(config: &Config) -> Vec<String> {
    let store = config.store.iter().map(|store| ("store.path".to_owned(), store.path.as_path()));
    let exports =
        config.exports.iter().enumerate().map(|(i, export)| (format!("export[{i}].to"), export.to.path()));
    let is_missing = |path: &Path| match path.parent() {
        Some(parent) if parent != Path::new("") => !parent.is_dir(),
        _ => false,
    };
    let missing = store.chain(exports).filter(|(_, path)| is_missing(path));
    missing.map(|(key, path)| format!("{key}: there is no directory for {}", path.display())).collect()
}

/// Keys of parameter sets that no rule gives to clients. Clients that send locators may have them all the same.
fn keys_without_rules(config: &Config) -> Vec<String> {
    let mut warnings = Vec::new();
    for (i, upstream) in config.upstreams.iter().enumerate() {
        let Source::ControlPlane(control_plane) = &upstream.source else { continue };
        let Some(parameters) = &control_plane.parameters else { continue };
        let is_given = |key: &String| config.node_rules.iter().any(|rule| rule.key == *key);
        for key in parameters.keys().iter().filter(|key| !is_given(key)) {
            warnings.push(format!(
                "upstream[{i}].parameter_keys: no [[dynamic_parameters]] rule gives {key:?}; only clients that send locators can have it"
            ));
        }
    }
    warnings
}

/// Control planes that are sent nodes which no certificate vouches for.
fn claims(config: &Config) -> Vec<String> {
    let upstreams = config.upstreams.iter().enumerate().filter(|(_, upstream)| upstream.forwards_claims());
    let warning = |(i, _)| {
        format!(
            "upstream[{i}].node.forward: nothing verifies the node of a client (node.verify), so any client can pose as \
             another; no secrets are served"
        )
    };
    upstreams.map(warning).collect()
}

fn write_instance(config: &Config, out: &mut dyn Write) -> Result<()> {
    let mut table = Table::default();
    let cluster = &config.node.cluster;
    let cluster = if cluster.is_empty() { String::new() } else { format!(" in cluster {cluster}") };
    table.row(["node", &format!("{}{cluster}", config.node.id)]);
    let downstream = &config.downstream;
    let addresses = |all: &[SocketAddr]| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let clients = match &downstream.tls {
        None => addresses(&downstream.listen),
        Some(tls) => {
            let certificates = match tls.client_certificate() {
                ClientCertificate::Required => " with client certificates",
                ClientCertificate::Optional => " with or without client certificates",
                ClientCertificate::None => "",
            };
            format!("{} over TLS{certificates}", addresses(&downstream.listen))
        }
    };
    table.row(["clients", &clients]);
    if !downstream.listen_plaintext.is_empty() {
        table.row(["", &format!("{} without TLS", addresses(&downstream.listen_plaintext))]);
    }
    table.row(["admin", &config.admin.as_ref().map_or("none".to_owned(), |admin| admin.listen.to_string())]);
    if let Some(store) = &config.store {
        table.row(["store", &store.path.display().to_string()]);
    }
    if !config.access.is_empty() {
        table.row(["access", &count(config.access.len(), "rule")]);
    }
    if let Some(collector) = &config.telemetry.endpoint {
        table.row(["collector", collector.as_str()]);
    }
    Ok(table.write(out, "")?)
}

/// The authority of an upstream, for people.
fn authority(authority: &str) -> String {
    match authority {
        "" => "names without an authority".to_owned(),
        authority => format!("xdstp://{authority}/…"),
    }
}

fn write_control_plane(control_plane: &ControlPlane, out: &mut dyn Write) -> Result<()> {
    let mut table = Table::default();
    let endpoints =
        control_plane.general.endpoints.iter().map(|uri| uri.to_string().trim_end_matches('/').to_owned());
    let endpoints: Vec<_> = endpoints.collect();
    table.row(["endpoints", &endpoints.join(", ")]);
    let protocol = match control_plane.modes.protocol {
        Protocol::AdsDelta => "aggregated, incremental",
        Protocol::AdsSotw => "aggregated, state of the world",
        Protocol::Delta => "a service for each type, incremental",
        Protocol::Sotw => "a service for each type, state of the world",
        Protocol::Rest => "polls of each type over REST-JSON",
    };
    let transport = match &control_plane.exchange {
        Exchange::Streaming(Streaming { transport: Transport::V2, .. }) => ", by the names of v2",
        Exchange::Streaming(_) | Exchange::Polling(_) => "",
    };
    table.row(["protocol", &format!("{protocol}{transport}")]);
    match &control_plane.parameters {
        None => table.row(["parameters", "by locators, on one stream"]),
        Some(parameters) if parameters.set_keys().next().is_none() => {
            table.row(["parameters", "none: one stream for all clients"]);
        }
        Some(parameters) => {
            let keys = parameters.set_keys().collect::<Vec<_>>().join(", ");
            let max_sets = parameters.max_sets;
            let node = match parameters.node.forward.contains(&NodePart::Id) {
                true => "{node.id}".to_owned(),
                false => parameters.node.id.as_ref().map(ToString::to_string).unwrap_or_default(),
            };
            table.row([
                "parameters",
                &format!("{keys}: a stream for each set, {max_sets} at most, as node {node}"),
            ]);
        }
    }
    if let Some(parameters) = &control_plane.parameters {
        write_client_parts(&parameters.node, &mut table);
    }
    if let Some(AfterSubscribers { share, deadline }) = control_plane.after_subscribers {
        let rejections = match control_plane.general.nack_upstream {
            NackUpstream::Never => String::new(),
            NackUpstream::Any => ", rejected when any of them does".to_owned(),
            NackUpstream::Percent(percent) => format!(", rejected when {percent} % of them do"),
        };
        table.row([
            "acknowledged",
            &format!("after {share} % of the subscribers, or {:?}{rejections}", deadline.get()),
        ]);
    }
    Ok(table.write(out, "  ")?)
}

/// What of a client goes upstream.
fn write_client_parts(node: &NodeTemplate, table: &mut Table) {
    let parts: Vec<_> = node.forward.iter().map(ToString::to_string).collect();
    for (label, parts) in [("forwarded", &parts), ("in headers", &node.header_values)] {
        if !parts.is_empty() {
            table.row([label, &format!("{} of each client", parts.join(", "))]);
        }
    }
}

/// What is wrong with the files.
fn check_files(path: &Path, report: &mut Report, out: &mut dyn Write) -> Result<()> {
    let loaded = match files::load(path, &Loaded::default()) {
        Ok(loaded) => loaded,
        Err(unreadable) => {
            writeln!(out, "  error: {unreadable}")?;
            report.problems.push(unreadable.to_string());
            return Ok(());
        }
    };
    let mut table = Table::default();
    table.row(["files", &format!("{} in {}", loaded.file_count(), path.display())]);
    table.row(["resources", &by_type(&loaded)]);
    table.write(out, "  ")?;
    for problem in loaded.problems() {
        writeln!(out, "  error: {problem}")?;
        report.problems.push(problem.to_string());
    }
    let empty = (loaded.file_count() == 0).then(|| format!("{}: no resource file was found", path.display()));
    let violations = loaded.violations().into_iter().map(|violation| violation.to_string());
    for warning in overlapping(&loaded).into_iter().chain(violations).chain(empty) {
        writeln!(out, "  warning: {warning}")?;
        report.warnings.push(warning);
    }
    Ok(())
}

/// `2 cds, 1 eds`
fn by_type(loaded: &Loaded) -> String {
    let mut types: BTreeMap<&TypeUrl, usize> = BTreeMap::new();
    for resource in loaded.resources() {
        *types.entry(&resource.type_url).or_default() += 1;
    }
    let types: Vec<_> =
        types.iter().map(|(type_url, number)| format!("{number} {}", short(type_url))).collect();
    if types.is_empty() { "none".to_owned() } else { types.join(", ") }
}

/// The short name of a type, or its URL.
fn short(type_url: &TypeUrl) -> &str {
    match type_url.short_name() {
        "other" => type_url.as_str(),
        short => short,
    }
}

/// Variants that can match the same client.
fn overlapping(loaded: &Loaded) -> Vec<String> {
    let mut variants: BTreeMap<(&TypeUrl, &Name), Vec<&Resource>> = BTreeMap::new();
    for resource in loaded.resources() {
        variants.entry((&resource.type_url, resource.variant.name())).or_default().push(resource);
    }
    let mut warnings = Vec::new();
    for ((type_url, name), variants) in variants {
        for pair in Overlaps::of(&variants).flatten() {
            let Some(witness) = pair.witness else { continue };
            let ([first, second], short) = (pair.pair.map(|resource| &resource.origin), short(type_url));
            warnings.push(format!("{first} and {second}: both variants of {short} {name} match {witness}"));
        }
    }
    warnings
}

fn write_rules(config: &Config, out: &mut dyn Write) -> Result<()> {
    if config.node_rules.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{} for clients that send no parameters", count(config.node_rules.len(), "rule"))?;
    let mut table = Table::default();
    for rule in &config.node_rules {
        let pattern = rule.pattern.as_ref().map_or_else(String::new, |pattern| format!(" by {pattern}"));
        let default = rule.default.as_ref().map_or_else(String::new, |value| format!(", else {value:?}"));
        table.row([&rule.key, &format!("{}{pattern}{default}", rule.from)]);
    }
    Ok(table.write(out, "  ")?)
}
