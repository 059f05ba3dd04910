//! What is subscribed on one logical stream, and what of the published matches it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use weir_wire::discovery::{Node, ResourceLocator};

use super::Parameters;
use crate::names::is_part_of;
use crate::resource::{PROBE, Published};

/// One thing asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wanted {
    pub(super) name: String,
    pub(super) parameters: BTreeMap<String, String>,
    /// Whether it was asked for by locator.
    pub(super) located: bool,
}

impl Wanted {
    pub(super) fn plain(name: &str) -> Self {
        Self { name: name.to_owned(), parameters: BTreeMap::new(), located: false }
    }

    pub(super) fn is_wildcard(&self) -> bool {
        self.name == "*"
    }

    /// Whether it is the name or an alias of the resource, or the directory that it is in.
    pub(super) fn names(&self, resource: &Published) -> bool {
        let own = self.name == resource.name || resource.aliases.contains(&self.name);
        own || !self.is_wildcard() && is_part_of(&resource.name, &self.name)
    }

    /// Whether the resource is one that a client with these parameters is to have.
    pub(super) fn is_answered_by(&self, resource: &Published) -> bool {
        let parameters: HashMap<_, _> = self.parameters.clone().into_iter().collect();
        self.names(resource) && resource.matches(&parameters)
    }

    fn matches(&self, resource: &Published, whom: &Whom) -> bool {
        let named = self.is_wildcard() && !resource.unlisted || self.names(resource);
        named
            && resource.audience.includes(&whom.node)
            && match whom.knows {
                Parameters::Ignored => resource.constraints.is_none(),
                Parameters::Native => {
                    let parameters: HashMap<_, _> = self.parameters.clone().into_iter().collect();
                    resource.matches(&parameters)
                }
            }
    }
}

/// Who asks, and what is understood of it.
pub(super) struct Whom {
    pub(super) node: Node,
    pub(super) knows: Parameters,
}

impl Whom {
    /// Names and locators of a request, together.
    pub(super) fn wanted(&self, names: &[String], locators: &[ResourceLocator]) -> BTreeSet<Wanted> {
        let plain = names.iter().map(|name| Wanted::plain(name));
        let located = locators.iter().map(|locator| Wanted {
            name: locator.name.clone(),
            parameters: locator.dynamic_parameters.clone().into_iter().collect(),
            located: true,
        });
        match self.knows {
            Parameters::Ignored => plain.collect(),
            Parameters::Native => plain.chain(located).collect(),
        }
    }
}

/// A resource that a client is to have.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Match {
    pub(super) resource: Published,
    /// Whether a locator led to it.
    pub(super) located: bool,
}

/// What of the published matches any of `wanted`, each resource once.
pub(super) fn select(
    published: &[Published],
    type_url: &str,
    wanted: &BTreeSet<Wanted>,
    whom: &Whom,
) -> Vec<Match> {
    if type_url == PROBE {
        let probe = |w: &Wanted| Match { resource: Published::text(PROBE, &w.name, ""), located: w.located };
        return wanted.iter().filter(|w| !w.is_wildcard()).map(probe).collect();
    }
    let of_type = published.iter().filter(|resource| resource.type_url == type_url);
    let matching = of_type.filter_map(|resource| {
        let mut askers = wanted.iter().filter(|w| w.matches(resource, whom)).peekable();
        askers.peek()?;
        Some(Match { resource: resource.clone(), located: askers.any(|w| w.located) })
    });
    matching.collect()
}

/// Whether a first request without names is a wildcard.
pub(super) fn has_legacy_wildcard(type_url: &str) -> bool {
    let named = ["rds", "eds", "sds", "rtds", "vhds"];
    let only_v3 = ["ecds", "leds", "probe"];
    !is_one_of(type_url, &named) && !only_v3.into_iter().any(|short| crate::type_url(short) == type_url)
}

/// Whether a SotW response holds everything there is.
pub(super) fn is_full_state(type_url: &str) -> bool {
    is_one_of(type_url, &["cds", "lds", "srds"])
}

/// In v3 or in v2.
fn is_one_of(type_url: &str, shorts: &[&str]) -> bool {
    shorts.iter().any(|short| crate::type_url(short) == type_url || crate::type_url_v2(short) == type_url)
}
