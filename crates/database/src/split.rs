//! Taking a difference apart, for clients that limit the size of a message.
//!
//! What is sent of one name stays together, so that a variant never goes before its successor comes (p08). What
//! is new comes before what is only gone. Never knows how anything is encoded: it is given what each piece weighs.

use std::collections::HashMap;
use std::sync::Arc;

use weir_types::{Form, Name, Variant};

use crate::type_cache::{Diff, Failing, Removed};

/// Something that a difference states.
#[derive(Clone, Copy, Debug)]
pub enum Piece<'a> {
    /// This is new or different.
    Resource(&'a Variant, Form),
    /// This lives on.
    Heartbeat(&'a Variant, Form),
    /// This is gone.
    Removed(&'a Removed),
    /// This cannot be delivered.
    Failing(&'a Failing),
}

/// A part of a difference.
#[derive(Debug, Default)]
pub struct Part {
    /// What to send.
    pub resources: Vec<(Arc<Variant>, Form)>,
    /// What lives on.
    pub heartbeats: Vec<(Arc<Variant>, Form)>,
    /// What is gone.
    pub removed: Vec<Removed>,
    /// What cannot be delivered.
    pub errors: Vec<Failing>,
}

impl Removed {
    /// The name of what is gone.
    pub fn name(&self) -> &Name {
        match self {
            Self::Name(name) | Self::Locator(name) => name,
            Self::Variant(key) => &key.name,
        }
    }
}

/// What is sent of one name.
#[derive(Default)]
struct Group<'a> {
    resources: &'a [Resource],
    heartbeats: Vec<&'a Resource>,
    removed: Vec<&'a Removed>,
    errors: Vec<&'a Failing>,
}

type Resource = (Arc<Variant>, Form);

impl Diff {
    /// The parts, none of which weighs more than `limit`, unless it is about one name only. There is at least
    /// one.
    pub fn split(&self, limit: usize, weight: impl Fn(Piece<'_>) -> usize) -> Vec<Part> {
        let mut groups: HashMap<&Name, Group<'_>> = HashMap::new();
        for resources in self.resources.chunk_by(|(one, _), (other, _)| one.name() == other.name()) {
            if let Some((first, _)) = resources.first() {
                groups.entry(first.name()).or_default().resources = resources;
            }
        }
        for heartbeat in &self.heartbeats {
            groups.entry(heartbeat.0.name()).or_default().heartbeats.push(heartbeat);
        }
        for removed in &self.removed {
            groups.entry(removed.name()).or_default().removed.push(removed);
        }
        for failing in &self.errors.sent {
            groups.entry(&failing.name).or_default().errors.push(failing);
        }
        let there = self.resources.iter().chain(&self.heartbeats).map(|(variant, _)| variant.name());
        let names = there.chain(self.removed.iter().map(Removed::name));
        let names = names.chain(self.errors.sent.iter().map(|failing| &failing.name));
        let mut parts = Parts { limit, weight, parts: vec![Part::default()], filled: 0 };
        for name in names {
            if let Some(group) = groups.remove(name) {
                parts.add(&group);
            }
        }
        parts.parts
    }
}

struct Parts<W> {
    limit: usize,
    weight: W,
    parts: Vec<Part>,
    /// What the last one weighs.
    filled: usize,
}

impl<W: Fn(Piece<'_>) -> usize> Parts<W> {
    fn add(&mut self, group: &Group<'_>) {
        let resources = group.resources.iter().map(|(variant, form)| Piece::Resource(variant, *form));
        let heartbeats = group.heartbeats.iter().map(|(variant, form)| Piece::Heartbeat(variant, *form));
        let removed = group.removed.iter().map(|removed| Piece::Removed(removed));
        let errors = group.errors.iter().map(|failing| Piece::Failing(failing));
        let weight: usize = resources.chain(heartbeats).chain(removed).chain(errors).map(&self.weight).sum();
        if self.filled > 0 && self.filled + weight > self.limit {
            self.parts.push(Part::default());
            self.filled = 0;
        }
        self.filled += weight;
        if let Some(part) = self.parts.last_mut() {
            part.resources.extend_from_slice(group.resources);
            part.heartbeats.extend(group.heartbeats.iter().map(|heartbeat| (*heartbeat).clone()));
            part.removed.extend(group.removed.iter().map(|removed| (*removed).clone()));
            part.errors.extend(group.errors.iter().map(|failing| (*failing).clone()));
        }
    }
}
