//! Asking upstream, as the instance does.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use prost::Message as _;
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use weir_admin::Upstream;
use weir_config::Config;
use weir_types::xdstp::glob_of;
use weir_types::{DynamicParameters, Form, NODE_KEY, Name, TypeUrl, authority};
use weir_upstream::client::Client;
use weir_upstream::files::explain::explain;
use weir_upstream::files::{self, Loaded};
use weir_upstream::{Acknowledge, Lane, Naming, Role, Services, Settings, Source};
use weir_wire::discovery::Node;

use super::Question;
use crate::convert;
use crate::inputs::parse_node;
use crate::operate::admin::Admin;
use crate::subscribe::{Change, Held, Sink, Wanted, follow, literal};
use crate::trust::Hint;

/// Where the resources of each authority come from.
pub(super) struct Sources {
    runtime: Runtime,
    by_authority: BTreeMap<String, Asked>,
    /// What the instance forwards of the nodes of its clients, by authority and [`NODE_KEY`].
    forwarded: BTreeMap<(String, String), Node>,
    timeout: Duration,
}

/// Whom to ask.
enum Asked {
    ControlPlane(Box<Settings>),
    Files(Loaded),
}

impl Sources {
    /// Those of a configuration; of several endpoints that which the instance is connected to.
    pub(super) fn of(path: &Path, admin: &Admin, timeout: Duration) -> Result<Self> {
        let config = weir_config::load(path)?;
        let (mut connected, mut forwarded) = (BTreeMap::new(), BTreeMap::new());
        for link in admin.list::<Upstream>("/upstreams", &[])? {
            let digest = link.parameters.as_ref().and_then(|parameters| parameters.get(NODE_KEY));
            if let Some((digest, node)) = digest.zip(link.forwarded.as_ref()) {
                forwarded.insert((link.authority.clone(), digest.clone()), shown_node(node)?);
            }
            connected.entry(link.authority).or_insert(link.endpoint.unwrap_or_default());
        }
        let runtime = Builder::new_current_thread().enable_all().build().context("start the runtime")?;
        let by_authority = runtime.block_on(async { Self::read(&config, &connected, timeout) })?;
        Ok(Self { runtime, by_authority, forwarded, timeout })
    }

    fn read(
        config: &Config,
        connected: &BTreeMap<String, String>,
        timeout: Duration,
    ) -> Result<BTreeMap<String, Asked>> {
        let mut all = BTreeMap::new();
        for (i, upstream) in config.upstreams.iter().enumerate() {
            let asked = match convert::source(config, i, upstream, None)? {
                Source::Files { settings, .. } => Asked::Files(load(settings.path)?),
                Source::ControlPlane(settings) => {
                    let endpoint = connected.get(&upstream.authority);
                    Asked::ControlPlane(Box::new(asking(*settings, endpoint, timeout)))
                }
            };
            all.insert(upstream.authority.clone(), asked);
        }
        Ok(all)
    }

    /// The versions of the contents that there are now for those who ask so, by name.
    pub(super) fn ask(
        &self,
        question: &Question,
        asked: &BTreeSet<String>,
    ) -> Result<BTreeMap<String, String>> {
        let names: Vec<Name> =
            if question.is_wildcard { Vec::new() } else { asked.iter().map(Name::from).collect() };
        match self.by_authority.get(&question.authority) {
            None => bail!("the configuration has no upstream of authority {:?}", question.authority),
            Some(Asked::Files(loaded)) => Ok(in_files(loaded, question, &names)),
            Some(Asked::ControlPlane(settings)) => {
                let held = self.runtime.block_on(self.ask_control_plane(settings, question, &names))?;
                let variants = held.variants().filter(|variant| {
                    variant.content().body.is_some()
                        && variant.key().constraints.matches(&question.parameters)
                });
                let versions = variants
                    .map(|variant| (variant.name().to_string(), variant.version(Form::Plain).to_string()));
                Ok(versions.collect())
            }
        }
    }

    async fn ask_control_plane(
        &self,
        settings: &Settings,
        question: &Question,
        names: &[Name],
    ) -> Result<Held> {
        let mut settings = settings.clone();
        if let Naming::Streams { node, .. } = &settings.naming {
            let mut node = node.fill(&question.parameters);
            if let Some(digest) = question.parameters.get(NODE_KEY) {
                let key = (question.authority.clone(), digest.to_owned());
                let forwarded = self.forwarded.get(&key);
                let forwarded =
                    forwarded.context("the instance has no stream any more for the client's node")?;
                node.merge(&*forwarded.encode_to_vec())?;
            }
            settings.naming = Naming::Streams { keys: [].into(), node: literal::template(node) };
        }
        let one_type = !matches!(settings.services, Services::Aggregated);
        let lane = Lane { role: Role::Primary, type_url: one_type.then(|| question.type_url.clone()) };
        let server = settings.endpoints.join(", ");
        let wanted = Wanted {
            type_url: &question.type_url,
            names,
            parameters: question.parameters.clone(),
            server: &server,
            timeout: self.timeout,
            watch: false,
            hint: Hint::default(),
        };
        follow(wanted, Client::start_on(settings, &lane), &mut Nobody).await
    }
}

/// What is held at the end is all that matters.
struct Nobody;

impl Sink for Nobody {
    fn all(&mut self, _: &Held) -> Result<()> {
        Ok(())
    }

    fn changes(&mut self, _: &Held, _: &[Change]) -> Result<()> {
        Ok(())
    }
}

/// The node that an instance shows.
fn shown_node(node: &weir_admin::Node) -> Result<Node> {
    let weir_admin::Node { id, cluster, user_agent, user_agent_version, locality, metadata } = node;
    let weir_admin::Locality { region, zone, sub_zone } = locality;
    let mut shown = json!({
        "id": id, "cluster": cluster, "user_agent_name": user_agent, "user_agent_version": user_agent_version,
        "locality": { "region": region, "zone": zone, "sub_zone": sub_zone },
    });
    if metadata.is_object() {
        shown["metadata"] = metadata.clone();
    }
    parse_node(&shown.to_string()).context("the node that is forwarded")
}

fn load(path: PathBuf) -> Result<Loaded> {
    Ok(files::load(&path, &Loaded::default())?)
}

/// For somebody who asks once: nothing is stored, guarded or waited for.
fn asking(settings: Settings, connected: Option<&String>, timeout: Duration) -> Settings {
    let is_connected = |endpoint: &String| {
        connected.is_some_and(|connected| connected.trim_end_matches('/') == endpoint.trim_end_matches('/'))
    };
    let mut endpoints = settings.endpoints.clone();
    if let Some(at) = endpoints.iter().position(is_connected) {
        endpoints = vec![endpoints.swap_remove(at)];
    }
    Settings {
        endpoints,
        does_not_exist: timeout,
        connect_timeout: timeout,
        shrink_guard: None,
        debounce: None,
        acknowledge: Acknowledge::OnReceipt,
        ..settings
    }
}

fn in_files(loaded: &Loaded, question: &Question, names: &[Name]) -> BTreeMap<String, String> {
    let Question { authority: of, type_url, parameters, is_wildcard } = question;
    let all = loaded.resources().filter(|resource| resource.type_url == *type_url);
    let listed: BTreeSet<&Name> =
        all.map(|resource| resource.variant.name()).filter(|name| authority(name) == of).collect();
    let in_glob = |name: &&Name| glob_of(name).is_some_and(|glob| names.contains(&glob));
    let wanted: BTreeSet<&Name> = match is_wildcard {
        true => listed,
        false => listed.into_iter().filter(in_glob).chain(names).collect(),
    };
    wanted.into_iter().filter_map(|name| in_file(loaded, type_url, name, parameters)).collect()
}

/// The name and the version of the content of what is chosen.
fn in_file(
    loaded: &Loaded,
    type_url: &TypeUrl,
    name: &Name,
    parameters: &DynamicParameters,
) -> Option<(String, String)> {
    let chosen = explain(loaded, type_url, name, parameters).chosen?;
    Some((chosen.variant.name().to_string(), chosen.variant.version(Form::Plain).to_string()))
}
