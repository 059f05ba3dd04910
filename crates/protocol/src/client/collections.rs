//! What a response means for collections: that all there is of one was sent, or that there is nothing.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use weir_types::xdstp::glob_of;
use weir_types::{Absence, Answered, Breadth, Constraints, Name, ResourceLocator, VariantKey};

use super::Naming;
use super::parsed_response::ParsedResponse;
use super::progress::Progress;
use super::responses::ResponseApplication;
use super::timers::Deadline;
use crate::Dialect;

/// For how long nothing more of a collection comes when all of it has.
pub(super) const QUIET: Duration = Duration::from_secs(1);

impl ResponseApplication<'_> {
    /// A glob among the removed has no members, but for what came and cannot be accepted. Nobody can know which of
    /// several parameter sets is meant, and what is asked for by its own name too has an answer of its own.
    pub(super) fn empty(&mut self, glob: &Name, parsed: &ParsedResponse, sent: &HashSet<VariantKey>) {
        let wanted = &self.upstream_type.wanted;
        if Breadth::of(glob) != Breadth::Glob || wanted.get(glob).is_none_or(|sets| sets.len() != 1) {
            return;
        }
        let members =
            self.upstream_type.cache.answering(glob).filter(|(name, _)| !wanted.contains_key(*name));
        let members = members.map(|(name, held)| held.key(name));
        let came = |key: &VariantKey| sent.contains(key) || parsed.spoiled.contains(&key.name);
        let gone: Vec<_> = members.filter(|key| !came(key)).collect();
        gone.into_iter().for_each(|key| self.drop_held(key));
    }

    /// Notes which collections are answered by the response. Its own name among the removed answers any.
    ///
    /// A wildcard that was in the first request of its type is answered by the first response; one that came
    /// later by whatever can only be meant for it. A glob, which shares the stream with names, is answered by
    /// what belongs to it, by anything where nothing else is asked for, and by the whole state.
    ///
    /// Only the whole state, the collection's own name, and a response without anything state that there is no more of
    /// it: other responses may be one of several. Until [`QUIET`] has passed without another that brings something,
    /// nothing is proved to be missing.
    pub(super) fn answer_collections(
        &mut self,
        parsed: &ParsedResponse,
        grows: bool,
        now: Instant,
        completions: &mut VecDeque<Deadline>,
    ) {
        let brought = self.brought(parsed);
        let removed: HashSet<&Name> = parsed.removed.iter().map(|removed| &removed.name).collect();
        let whole = self.settings.dialect == Dialect::Sotw && self.batch.type_url.is_full_state();
        let empty = parsed.is_empty();
        let alone = self.upstream_type.locators().take(2).count() == 1;
        let by_node = matches!(self.settings.naming, Naming::Names { .. });
        let mut open = std::mem::take(&mut self.upstream_type.open_collections);
        open.retain(|name| {
            let Some(sets) = self.upstream_type.wanted.get_mut(name) else { return false };
            let breadth = Breadth::of(name);
            let mut unanswered = false;
            for (parameters, state) in sets.iter_mut().filter(|(_, i)| i.is_open()) {
                let matches = |constraints: &Constraints| constraints.matches(parameters);
                let answered = match breadth {
                    Breadth::Name => continue,
                    _ if !state.request().is_sent() => false,
                    Breadth::Wildcard => {
                        let mut sent = self.batch.upserts.iter().map(|variant| &variant.key().constraints);
                        state.request().is_in_first()
                            || by_node
                            || removed.contains(name)
                            || sent.any(matches)
                    }
                    Breadth::Glob => {
                        let mut sent = brought.get(name).into_iter().flatten();
                        alone
                            || whole && state.request().is_in_first()
                            || removed.contains(name)
                            || sent.any(matches)
                    }
                };
                let complete = answered && (whole || empty || removed.contains(name));
                unanswered |= !complete;
                if !answered {
                    continue;
                }
                let news = complete || !state.is_answered();
                if complete {
                    state.receive_whole();
                } else if state.receive_part(now, grows) {
                    self.upstream_type.progress = Progress::Unknown;
                    let locator = ResourceLocator::new(name.clone(), parameters.clone());
                    let type_url = self.batch.type_url.clone();
                    completions.push_back(Deadline { at: now + QUIET, type_url, locator });
                }
                if news {
                    let scope = self.settings.naming.scope(parameters);
                    let absence = if complete { Absence::Known } else { Absence::TimedOut };
                    self.batch.answered.push(Answered { collection: Some(name.clone()), scope, absence });
                }
            }
            unanswered
        });
        self.upstream_type.open_collections = open;
    }

    /// What came, by the glob that it belongs to: what cannot be accepted is an answer too.
    fn brought(&self, parsed: &ParsedResponse) -> HashMap<Name, Vec<Constraints>> {
        let mut brought = HashMap::<Name, Vec<Constraints>>::new();
        let spoiled = parsed.spoiled.iter().map(|name| (name, Constraints::unconstrained()));
        let sent =
            self.batch.upserts.iter().map(|variant| (variant.name(), variant.key().constraints.clone()));
        for (name, constraints) in sent.chain(spoiled) {
            if let Some(glob) = glob_of(name) {
                brought.entry(glob).or_default().push(constraints);
            }
        }
        brought
    }
}
