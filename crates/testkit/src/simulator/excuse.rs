//! Removals that are sent though nothing was removed, where the protocol leaves no better conclusion.
//!
//! Nothing in TP2 states which request a response answers, so that on a stream with several locators of one name,
//! or several wildcards, the word on one of them may be taken for the word on another; a variant that a
//! reconnecting client states by name is taken to be gone when another one of the name comes. And silence means
//! absence after a while. All of it is put right by what comes next.

use std::collections::{BTreeMap, BTreeSet};

use weir_database::Removed;
use weir_types::{Batch, Name, ResourceLocator, TypeUrl};

/// What may be sent as removed from now on: a name of a type, or (none) all of it.
pub(super) type Excuse = (TypeUrl, Option<Name>);

/// What a proxy concludes from silence.
pub(super) fn silence(batch: &Batch) -> impl Iterator<Item = Excuse> {
    let names = batch.absent.iter().map(|absent| Some(absent.name.clone()));
    let all = batch.answered.iter().map(|_| None);
    names.chain(all).map(|name| (batch.type_url.clone(), name))
}

/// What a proxy concludes from a response in which `named` is sent as removed, and cannot be sure of, since it
/// wants more than one thing that may be meant.
pub(super) fn ambiguities(
    batch: &Batch,
    named: &BTreeSet<Removed>,
    wanted: &BTreeMap<(TypeUrl, ResourceLocator), usize>,
) -> Vec<Excuse> {
    let several = |name: &str| {
        let same = |(of, locator): &&(TypeUrl, ResourceLocator)| {
            *of == batch.type_url && (&*locator.name == name || locator.is_wildcard())
        };
        wanted.keys().filter(same).count() > 1
    };
    let unnamed = batch.removals.iter().filter(|key| !named.contains(&Removed::Variant((*key).clone())));
    let unnamed = unnamed.map(|key| &key.name).filter(|name| several(name));
    let names = unnamed.map(|name| Some(name.clone()));
    names.map(|name| (batch.type_url.clone(), name)).collect()
}
