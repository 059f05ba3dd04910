//! `[[upstream]]`: its keys belong to parts, of which it has those that its kind needs.

mod control_plane;
mod credentials;
mod exchange;
mod files;
mod forward;
mod general;
mod headers;
mod node_template;
mod parameters;

use std::path::Path;

use serde::{Deserialize, Serialize};
use toml::Spanned;
use toml::de::DeValue;

pub use self::control_plane::{Acknowledge, AfterSubscribers, ControlPlane, DynamicParameters, Modes};
pub use self::exchange::{Exchange, Polling, Streaming};
pub use self::files::Files;
pub(crate) use self::forward::RESERVED;
pub use self::general::General;
pub use self::node_template::NodeTemplate;
pub use self::parameters::ParameterStreams;

use crate::findings::Findings;
use crate::parts::Parts;
use crate::sections::{Broken, Read, Sections};
use crate::settings::{Node, NodeRule};
use crate::values::VirtualHosts;

/// Where the resources of one authority come from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Upstream {
    /// The authority; empty for names without one.
    pub authority: String,
    /// What a wildcard of virtual hosts asks for; for names without an authority only.
    pub virtual_hosts: VirtualHosts,
    /// Where they come from.
    #[serde(flatten)]
    pub source: Source,
}

/// Where resources come from.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Source {
    /// Files.
    Files(Files),
    /// A control plane.
    ControlPlane(Box<ControlPlane>),
}

/// The part that every upstream has.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Identity {
    authority: String,
    virtual_hosts: VirtualHosts,
}

impl Upstream {
    /// Reads the upstream at `key`, and reports what breaks a rule between its own values.
    pub(crate) fn read<'i>(
        sections: &mut Sections<'i>,
        key: &str,
        value: Spanned<DeValue<'i>>,
    ) -> Read<Self> {
        let mut parts = Parts::of(sections, key, value)?;
        let identity = parts.read::<Identity>();
        let source = match (parts.has("files"), parts.has("endpoints")) {
            (true, false) => {
                let files = parts.read().map(Source::Files);
                ControlPlane::reject(&mut parts);
                files
            }
            (false, true) => {
                parts.reject::<Files>("applies only to files");
                ControlPlane::read(&mut parts)
                    .map(|control_plane| Source::ControlPlane(Box::new(control_plane)))
            }
            (both, _) => {
                parts.skip::<Files>();
                ControlPlane::skip(&mut parts);
                let mut findings = parts.findings();
                match both {
                    true => findings.add("files", "an upstream has either files or endpoints, not both"),
                    // An unknown key may be one of them, misspelled.
                    false if parts.is_empty() => {
                        findings.add("", "an upstream needs either endpoints or files")
                    }
                    false => {}
                }
                parts.report(findings);
                Err(Broken)
            }
        };
        if let Ok(Identity { authority, virtual_hosts: VirtualHosts::Wildcard }) = &identity
            && !authority.is_empty()
        {
            let mut findings = parts.findings();
            let message =
                format!("applies only to names without an authority (the upstream has {authority:?})");
            findings.add("virtual_hosts", message);
            parts.report(findings);
        }
        parts.finish();
        let (Identity { authority, virtual_hosts }, source) = (identity?, source?);
        Ok(Self { authority, virtual_hosts, source })
    }

    /// Whether parts of nodes are forwarded that no certificate vouches for.
    pub fn forwards_claims(&self) -> bool {
        let Source::ControlPlane(control_plane) = &self.source else { return false };
        let node = control_plane.parameters.as_ref().map(|parameters| &parameters.node);
        node.is_some_and(|node| !node.forward.is_empty() && node.verify.is_empty())
    }

    /// Whether load reports of clients are passed on to it.
    pub fn relays_load_reports(&self) -> bool {
        let Source::ControlPlane(control_plane) = &self.source else { return false };
        control_plane.exchange.relays_load_reports()
    }

    /// Fills in what depends on the node of this instance and on the keys that rules give to clients, if both could be
    /// read, and reports what does not go together.
    pub(crate) fn check_all(
        upstreams: &mut [Read<Self>],
        derived_from: Option<(&Node, &[String])>,
        findings: &mut Findings,
    ) {
        if upstreams.is_empty() {
            findings.add("upstream", "must be there at least once: [[upstream]]");
        }
        let read =
            upstreams.iter_mut().enumerate().filter_map(|(i, upstream)| Some((i, upstream.as_mut().ok()?)));
        let (mut authorities, mut relays) = (Vec::new(), Vec::new());
        for (i, upstream) in read {
            let key = format!("upstream[{i}]");
            if let Source::ControlPlane(control_plane) = &mut upstream.source {
                let mut found = Findings::of_section(&key);
                control_plane.check(&upstream.authority, derived_from, &mut found);
                findings.extend(found);
            }
            if upstream.relays_load_reports() {
                relays.push((format!("{key}.load_reports"), ()));
            }
            authorities.push((format!("{key}.authority"), &*upstream.authority));
        }
        findings.add_duplicates(authorities, |authority, other| {
            format!("must be another authority than {other} (got {authority:?})")
        });
        findings.add_duplicates(relays, |(), other| {
            format!("must be \"relay\" for one upstream only, which {other} is (got \"relay\")")
        });
    }

    /// Reports what needs clients that show certificates, where it is known whether they do.
    pub(crate) fn check_identities(upstreams: &[Read<Self>], has_identities: bool, findings: &mut Findings) {
        Self::check_each_with_streams(upstreams, findings, |control_plane, parameters, found| {
            let relays = control_plane.exchange.relays_load_reports();
            parameters.node.check_verify(has_identities, relays, found);
            if !has_identities {
                control_plane.general.check_header_identities(found);
            }
        });
    }

    /// Reports headers that are filled with what a client can choose.
    pub(crate) fn check_header_keys(upstreams: &[Read<Self>], rules: &[NodeRule], findings: &mut Findings) {
        Self::check_each_with_streams(upstreams, findings, |control_plane, _, found| {
            control_plane.general.check_header_keys(rules, found);
        });
    }

    /// Has `check` report what is wrong with each control plane that has streams for parameter sets.
    fn check_each_with_streams(
        upstreams: &[Read<Self>],
        findings: &mut Findings,
        check: impl Fn(&ControlPlane, &ParameterStreams, &mut Findings),
    ) {
        for (i, upstream) in upstreams.iter().enumerate() {
            let Ok(Self { source: Source::ControlPlane(control_plane), .. }) = upstream else { continue };
            if let Some(parameters) = &control_plane.parameters {
                let mut found = Findings::of_section(&format!("upstream[{i}]"));
                check(control_plane, parameters, &mut found);
                findings.extend(found);
            }
        }
    }

    /// Has relative paths start from `directory`.
    pub(crate) fn resolve(&mut self, directory: &Path) {
        match &mut self.source {
            Source::Files(files) => files.resolve(directory),
            Source::ControlPlane(control_plane) => control_plane.general.resolve(directory),
        }
    }
}
