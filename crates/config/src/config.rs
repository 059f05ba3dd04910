//! A whole configuration file.

use std::path::Path;

use serde::Serialize;

use crate::findings::Findings;
use crate::sections::{Read, Sections};
use crate::settings::{
    AccessRule, Admin, Admission, Cache, Downstream, Drain, Export, Limits, Log, Node, NodeRule, Store,
    Telemetry, Upstream,
};
use crate::values::VirtualHosts;

/// Everything.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Config {
    /// Who this instance is.
    pub node: Node,
    /// What is logged, and how.
    pub log: Log,
    /// Traces and metrics for a collector.
    pub telemetry: Telemetry,
    /// The side that clients connect to.
    pub downstream: Downstream,
    /// The admin server, if there is to be one.
    pub admin: Option<Admin>,
    /// How long things are kept.
    pub cache: Cache,
    /// How much clients may ask for.
    pub limits: Limits,
    /// How new streams are let in.
    pub admission: Admission,
    /// How clients are moved elsewhere.
    pub drain: Drain,
    /// What outlives the process, if anything does.
    pub store: Option<Store>,
    /// Where resources come from, one for each authority; never empty.
    #[serde(rename = "upstream")]
    pub upstreams: Vec<Upstream>,
    /// How clients get dynamic parameters from their `Node`.
    #[serde(rename = "dynamic_parameters")]
    pub node_rules: Vec<NodeRule>,
    /// Who may have what; everybody everything where there is no rule.
    pub access: Vec<AccessRule>,
    /// Which subscriptions are written to files.
    #[serde(rename = "export")]
    pub exports: Vec<Export>,
}

impl Config {
    /// Reads all sections, and reports what breaks a rule between them. A rule is checked where all the sections that it is
    /// about could be read. Relative paths start from `directory`.
    pub(crate) fn read(sections: &mut Sections<'_>, directory: &Path) -> Read<Self> {
        let node: Read<Node> = sections.defaulted("node");
        let log = sections.defaulted("log");
        let telemetry = sections.defaulted("telemetry");
        let downstream: Read<Downstream> = sections.required("downstream");
        let admin: Read<Option<Admin>> = sections.optional("admin");
        let cache = sections.defaulted("cache");
        let limits: Read<Limits> = sections.defaulted("limits");
        let admission = sections.defaulted("admission");
        let drain = sections.defaulted("drain");
        let store = sections.optional("store");
        let mut upstreams = sections.each("upstream", Upstream::read);
        let node_rules: Read<Vec<NodeRule>> = sections.list("dynamic_parameters");
        let access: Read<Vec<AccessRule>> = sections.list("access");
        let exports: Read<Vec<Export>> = sections.list("export");

        let mut findings = Findings::default();
        let rules = node_rules.as_deref().unwrap_or_default();
        if let Ok(downstream) = &downstream {
            let admin = admin.as_ref().ok().and_then(Option::as_ref);
            check_listeners(downstream, admin, &mut findings);
            if let Ok(limits) = &limits {
                limits.check_partial_requests(downstream, &mut findings);
            }
            if !downstream.has_identities() {
                NodeRule::check_identities(rules, &mut findings);
                AccessRule::check_identities(access.as_deref().unwrap_or_default(), &mut findings);
            }
        }
        if let (Ok(downstream), Ok(upstreams)) = (&downstream, &upstreams) {
            Upstream::check_identities(upstreams, downstream.has_identities(), &mut findings);
        }
        if let (Ok(upstreams), Ok(rules)) = (&upstreams, &node_rules) {
            Upstream::check_header_keys(upstreams, rules, &mut findings);
        }
        NodeRule::check_all(rules, &mut findings);
        Export::check_all(exports.as_deref().unwrap_or_default(), &mut findings);
        if let Ok(upstreams) = &mut upstreams {
            let keys = node_rules.as_deref().ok().map(NodeRule::keys);
            Upstream::check_all(upstreams, node.as_ref().ok().zip(keys.as_deref()), &mut findings);
        }
        sections.report(findings.into_vec());
        let mut config = Self {
            node: node?,
            log: log?,
            telemetry: telemetry?,
            downstream: downstream?,
            admin: admin?,
            cache: cache?,
            limits: limits?,
            admission: admission?,
            drain: drain?,
            store: store?,
            upstreams: upstreams?.into_iter().collect::<Read<_>>()?,
            node_rules: node_rules?,
            access: access?,
            exports: exports?,
        };
        config.resolve(directory);
        Ok(config)
    }

    /// What a wildcard of virtual hosts asks for: such a name has no authority.
    pub fn virtual_hosts(&self) -> VirtualHosts {
        let of = self.upstreams.iter().find(|upstream| upstream.authority.is_empty());
        of.map_or_else(VirtualHosts::default, |upstream| upstream.virtual_hosts)
    }

    /// Has relative paths start from `directory`, and fills in the defaults that depend on other values.
    fn resolve(&mut self, directory: &Path) {
        self.downstream.resolve(directory);
        self.admission.resolve();
        self.admin.iter_mut().for_each(|admin| admin.resolve(directory));
        self.store.iter_mut().for_each(|store| store.resolve(directory));
        self.upstreams.iter_mut().for_each(|upstream| upstream.resolve(directory));
        self.exports.iter_mut().for_each(|export| export.to.resolve(directory));
    }
}

/// Reports addresses that are listened on twice.
fn check_listeners(downstream: &Downstream, admin: Option<&Admin>, findings: &mut Findings) {
    let mut addresses = Vec::new();
    for (key, listen) in [("listen", &downstream.listen), ("listen_plaintext", &downstream.listen_plaintext)]
    {
        let keys = (0..).map(|i| format!("downstream.{key}[{i}]"));
        addresses.extend(keys.zip(listen));
    }
    addresses.extend(admin.map(|admin| ("admin.listen".to_owned(), &admin.listen)));
    let fixed = addresses.into_iter().filter(|(_, address)| address.port() != 0);
    findings.add_duplicates(fixed, |address, other| {
        format!("must be another address than {other} (got {address})")
    });
}
