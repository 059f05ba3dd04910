//! What an earlier process knew: the stream goes on as if it were the one that has brought it.

use std::collections::HashSet;

use weir_types::{Absence, Batch, ResourceLocator, TypeUrl, Variant, VariantKey};

use super::UpstreamSession;
use super::locator_state::AnswerState;
use super::per_stream::ExchangeState;
use crate::Dialect;

/// Whether what an earlier process knew of a locator can be taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// It can be.
    Welcome,
    /// It depends on what comes first: a response, or the end of the stream.
    Undecided,
    /// The server answers, without knowing of it: it would not report what of it is gone.
    Outdated,
}

impl UpstreamSession {
    /// Whether what an earlier process knew of `locator` can be taken in. None when it is not wanted.
    ///
    /// A server that is asked for a name anew sends all of it. Of a collection it sends in delta what there is, and
    /// what is gone only if it was stated to it, with the first request.
    pub fn may_remember(&self, type_url: &TypeUrl, locator: &ResourceLocator) -> Option<Memory> {
        let upstream_type = self.types.get(type_url)?;
        upstream_type.wanted.get(&locator.name)?.get(&locator.parameters)?;
        let may_be_stated = self.settings.dialect == Dialect::Delta && locator.is_collection();
        Some(match upstream_type.per_stream.exchange {
            ExchangeState::Responded => Memory::Outdated,
            ExchangeState::Requested if may_be_stated => Memory::Undecided,
            ExchangeState::NotStarted | ExchangeState::ForcingResponse | ExchangeState::Requested => {
                Memory::Welcome
            }
        })
    }

    /// Takes in what an earlier process knew of wanted locators: variants, the collections that these are all of,
    /// and the names that nothing matches. None when none of it is news. Their versions are `statable` if the server
    /// gave them.
    pub fn remember(
        &mut self,
        type_url: &TypeUrl,
        variants: Vec<Variant>,
        known: Vec<(ResourceLocator, Absence)>,
        statable: bool,
    ) -> Option<Batch> {
        let naming = &self.settings.naming;
        let upstream_type = self.types.get_mut(type_url)?;
        let mut batch = Batch::new(type_url.clone(), upstream_type.provenance());
        for variant in variants {
            let (key, aliases) = (variant.key(), &variant.content().aliases);
            let wanted = upstream_type.reaches(naming, &key.name, aliases, &key.constraints);
            if wanted && !upstream_type.cache.contains(key) && variant.content().body.is_some() {
                upstream_type.cache.insert_remembered(
                    &variant,
                    statable,
                    self.settings.endpoint_guard.is_some(),
                );
                upstream_type.note_answer(naming, &variant);
                upstream_type.version = None;
                batch.upserts.push(variant);
            }
        }
        for (locator, absence) in known {
            let served = upstream_type.is_served(naming, &locator.name, &locator.parameters);
            let Some(state) = upstream_type.locator_state(&locator).filter(|state| !state.is_answered())
            else {
                continue;
            };
            if !locator.is_collection() && served {
                continue;
            }
            if locator.is_collection() {
                state.restore(AnswerState::Answered);
                batch.answered.push(naming.answered(&locator, Absence::Known));
            } else {
                state.restore(absence.into());
                batch.absent.push(naming.absent(&locator.name, &locator.parameters, absence));
            }
        }
        (!batch.is_empty()).then_some(batch)
    }

    /// What is held of a locator.
    pub fn held_of(&self, type_url: &TypeUrl, locator: &ResourceLocator) -> HashSet<VariantKey> {
        let Some(upstream_type) = self.types.get(type_url) else { return HashSet::new() };
        if locator.is_wildcard() {
            return upstream_type.cache.keys(|_, _| true).into_iter().collect();
        }
        let held = upstream_type.cache.answering(&locator.name);
        held.map(|(name, held)| held.key(name)).collect()
    }

    /// How many variants of a type are from an earlier process, and not vouched for by a server since.
    pub fn unconfirmed(&self, type_url: &TypeUrl) -> usize {
        self.types.get(type_url).map_or(0, |upstream_type| upstream_type.cache.remembered())
    }
}
