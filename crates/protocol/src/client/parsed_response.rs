//! A response, taken apart: what of it can be accepted, and what is rejected.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use weir_types::{Name, Variant, VariantKey};

use super::message::{Rejected, Response};
use super::{Naming, Reported, Settings};

/// How long the message of a NACK may get, in bytes; the rest is counted.
const MAX_NACK_LENGTH: usize = 64 * 1024;

/// A response, taken apart.
pub(super) struct ParsedResponse {
    pub(super) version: Arc<str>,
    pub(super) nonce: Arc<str>,
    /// With their stored keys.
    pub(super) variants: Vec<Variant>,
    /// Refreshed without being sent.
    pub(super) heartbeats: Vec<Beat>,
    /// As the server named them.
    pub(super) removed: Vec<VariantKey>,
    pub(super) rejected: Vec<Rejected>,
    pub(super) errors: Vec<Reported>,
    /// Names of which something was sent, acceptable or not.
    pub(super) mentioned: HashSet<Name>,
    /// Names of which something was not acceptable, or cannot be delivered for now.
    pub(super) spoiled: HashSet<Name>,
}

/// A resource that is to live on as it is.
pub(super) struct Beat {
    /// The stored key.
    pub(super) key: VariantKey,
    pub(super) version: Arc<str>,
    pub(super) ttl: Duration,
}

impl ParsedResponse {
    pub(super) fn parse(response: Response, settings: &Settings) -> Self {
        let mut parsed = Self {
            version: response.version,
            nonce: response.nonce,
            variants: Vec::with_capacity(response.resources.len()),
            heartbeats: Vec::new(),
            removed: response.removed,
            rejected: Vec::new(),
            errors: response.errors,
            mentioned: HashSet::new(),
            spoiled: HashSet::new(),
        };
        for resource in response.resources {
            match resource {
                Ok(variant) => parsed.accept(variant, &settings.naming),
                Err(rejected) => parsed.reject(rejected),
            }
        }
        parsed.reject_duplicates();
        for Reported { key, code, .. } in &parsed.errors {
            match settings.drops(*code) {
                true => parsed.removed.push(key.clone()),
                false => drop(parsed.spoiled.insert(key.name.clone())),
            }
        }
        parsed
    }

    fn accept(&mut self, variant: Variant, naming: &Naming) {
        let content = variant.content();
        let key = naming.stored(variant.key());
        if let (None, Some(ttl)) = (&content.body, content.ttl) {
            self.mentioned.insert(key.name.clone());
            self.heartbeats.push(Beat { key, version: Arc::clone(&content.upstream_version), ttl });
        } else if content.body.is_none() {
            // Older servers, and all for virtual hosts, answer like this that a resource does not exist: by whichever
            // of its names it is subscribed to.
            let names =
                content.aliases.iter().filter(|alias| *alias != variant.name()).chain([variant.name()]);
            let gone = names.map(|name| VariantKey::new(name.clone(), variant.key().constraints.clone()));
            self.removed.extend(gone);
        } else {
            self.mentioned.insert(key.name.clone());
            let same = key == *variant.key();
            self.variants.push(if same { variant } else { Variant::new(key, content.clone()) });
        }
    }

    fn reject(&mut self, rejected: Rejected) {
        self.mentioned.extend(rejected.name.clone());
        self.spoiled.extend(rejected.name.clone());
        self.rejected.push(rejected);
    }

    /// TP2: the same name may come twice with different constraints, but not with equal ones. Nobody can know
    /// which of the two is meant.
    fn reject_duplicates(&mut self) {
        let mut counts: HashMap<VariantKey, usize> = HashMap::with_capacity(self.variants.len());
        for variant in &self.variants {
            *counts.entry(variant.key().clone()).or_default() += 1;
        }
        counts.retain(|_, count| *count > 1);
        if counts.is_empty() {
            return;
        }
        self.variants.retain(|variant| !counts.contains_key(variant.key()));
        let mut duplicates: Vec<_> = counts.into_iter().collect();
        duplicates.sort_unstable();
        for (VariantKey { name, constraints }, count) in duplicates {
            let message = if constraints.is_unconstrained() {
                format!("{name}: sent {count} times in one response")
            } else {
                format!("{name}: sent {count} times in one response with equal constraints ({constraints})")
            };
            self.reject(Rejected { name: Some(name), message });
        }
    }

    /// How often each name is removed without stating which variant.
    pub(super) fn bare_removals(&self) -> HashMap<&Name, usize> {
        let mut bare = HashMap::new();
        for removed in self.removed.iter().filter(|removed| removed.constraints.is_unconstrained()) {
            *bare.entry(&removed.name).or_default() += 1;
        }
        bare
    }

    /// Whether there is nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        self.mentioned.is_empty()
            && self.removed.is_empty()
            && self.errors.is_empty()
            && self.rejected.is_empty()
    }

    /// Names of which there is something that was not acceptable: whatever else goes, they are not reported as removed.
    pub(super) fn spared(&self) -> HashSet<Name> {
        let gone: HashSet<&Name> = self.removed.iter().map(|removed| &removed.name).collect();
        self.spoiled.iter().filter(|name| !gone.contains(name)).cloned().collect()
    }

    pub(super) fn nack(&self) -> Option<String> {
        let mut message = String::new();
        for (index, rejected) in self.rejected.iter().enumerate() {
            if message.len() > MAX_NACK_LENGTH {
                message.push_str(&format!("; and {} more", self.rejected.len() - index));
                break;
            }
            message.push_str(if index == 0 { "" } else { "; " });
            message.push_str(&rejected.message);
        }
        (!self.rejected.is_empty()).then_some(message)
    }
}
