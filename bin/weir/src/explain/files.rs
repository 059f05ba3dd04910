//! What a client would get from the files of a configuration.

use std::path::Path;

use anyhow::{Result, bail};
use prost::Message;
use serde_json::{Value, json};
use weir_config::{Config, NodeRule, Source};
use weir_downstream::{Client, Derivation, Derived, NodeRules};
use weir_tls::Identity;
use weir_types::{DynamicParameters, authority};
use weir_upstream::files::explain::{Explanation, explain as explain_files};
use weir_upstream::files::{self, Loaded, Resource};

use super::Args;
use crate::inputs::parameters;

/// In the form in which the admin interface of an instance explains, with places in files.
pub(super) fn explain(args: &Args, config: &Path) -> Result<Value> {
    let config = weir_config::load(config)?;
    let loaded = files::load(files_of(&config, authority(&args.name))?, &Loaded::default())?;
    let (given, origins) = parameters_of(args, &config)?;
    let explanation = explain_files(&loaded, &args.type_url, &args.name, &given);
    let problems: Vec<_> = loaded.problems().iter().map(ToString::to_string).collect();
    let mut document = document(explanation, &given);
    document["parameters"] = origins;
    document["problems"] = json!(problems);
    Ok(document)
}

/// Where the resources of an authority are.
fn files_of<'a>(config: &'a Config, authority: &str) -> Result<&'a Path> {
    let upstream = config.upstreams.iter().find(|upstream| upstream.authority == authority);
    match upstream.map(|upstream| &upstream.source) {
        Some(Source::Files(files)) => Ok(&files.path),
        Some(Source::ControlPlane(_)) => bail!(
            "resources of authority {authority:?} come from a control plane; ask a running instance: leave out --config"
        ),
        None => bail!("no upstream has authority {authority:?}"),
    }
}

/// The parameters of the client, and where each comes from.
fn parameters_of(args: &Args, config: &Config) -> Result<(DynamicParameters, Value)> {
    let node = args.node.node()?;
    let rules = NodeRules::new(config.node_rules.clone());
    let (uris, dns) = args.identity.iter().cloned().partition(|name| name.contains('/'));
    let identity = Some(Identity::new(uris, dns)).filter(|_| !args.identity.is_empty());
    let identity = identity.as_ref();
    let (access, forwarding) = Default::default();
    let derivation = Derivation { rules: &rules, access: &access, forwarding: &forwarding };
    let client = Client::identify(Some(&node.encode_to_vec()), identity, derivation)?;
    let sent = parameters(&args.parameters);
    let located = !args.parameters.is_empty();
    let given = if located {
        sent.with_defaults(&client.profile.locator_defaults)
    } else {
        client.profile.parameters.common().clone()
    };
    let mut origins: Vec<_> = sent
        .iter()
        .map(|(key, value)| json!({ "key": key, "value": value, "origin": { "source": "locator" } }))
        .collect();
    let derived = rules.explain(&node, identity).into_iter();
    for (place, (rule, derived)) in config.node_rules.iter().zip(derived).enumerate() {
        if located && (!(rule.fill_locators || rule.enforce) || sent.get(&rule.key).is_some()) {
            continue;
        }
        origins.push(origin(place, rule, derived, &node.id));
    }
    Ok((given, origins.into()))
}

/// What a rule gave, and from what.
fn origin(place: usize, rule: &NodeRule, derived: Derived, node: &str) -> Value {
    json!({
        "key": rule.key,
        "value": derived.value,
        "origin": {
            "source": "rule",
            "rule": place,
            "from": rule.from.to_string(),
            "value": derived.field,
            "pattern": rule.pattern.as_ref().map(ToString::to_string),
            "defaulted": derived.defaulted,
            "node": node,
        },
    })
}

fn document(explanation: Explanation<'_>, given: &DynamicParameters) -> Value {
    let outcome = match explanation.chosen {
        Some(_) => "served",
        None if explanation.mismatches.is_empty() => "not-held",
        None => "nothing-matches",
    };
    let mismatch = |resource| {
        let mismatch = files::explain::Mismatch::of(resource, given)?;
        let given = mismatch.given.iter().map(|(key, value)| (key.to_string(), json!(value)));
        let given: serde_json::Map<_, _> = given.collect();
        Some(json!({ "variant": variant(resource), "requirement": mismatch.requirement, "given": given }))
    };
    let mismatches: Vec<_> = explanation.mismatches.iter().copied().filter_map(mismatch).collect();
    let overlaps = explanation.overlaps.flatten().map(|overlap| {
        let places = overlap.pair.map(|resource| resource.origin.to_string());
        let pairs = |set: &DynamicParameters| json!(set.iter().collect::<std::collections::BTreeMap<_, _>>());
        json!({ "pair": places, "witness": overlap.witness.as_ref().map(pairs) })
    });
    json!({
        "outcome": outcome,
        "chosen": explanation.chosen.map(variant),
        "rivals": explanation.rivals.iter().copied().map(variant).collect::<Vec<_>>(),
        "mismatches": mismatches,
        "expired": [],
        "overlaps": overlaps.collect::<Vec<_>>(),
    })
}

fn variant(resource: &Resource) -> Value {
    let constraints = resource.variant.key().constraints.to_string();
    json!({ "constraints": constraints, "at": resource.origin.to_string() })
}
