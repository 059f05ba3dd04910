//! Times to live at the origin: what it gives one to, when it vouches for it again, and what it lets die.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use weir_types::{Content, TypeUrl, VariantKey};

use super::types;
use crate::model::Change;

/// How long everything lives that is to be there when all has come to rest.
const STEADY: Duration = Duration::from_secs(20);

/// What becomes of what has a time to live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is refreshed in time, too late, or never again.
    Any,
    /// It is refreshed in time.
    Kept,
    /// It is never refreshed again, or has no time to live any more.
    Ended,
}

/// What has a time to live, and is vouched for when.
#[derive(Debug, Default)]
pub(super) struct TtlSchedule {
    /// How many of ten contents have a time to live.
    share: u32,
    next: BTreeMap<(TypeUrl, VariantKey), (Duration, Instant)>,
}

impl TtlSchedule {
    pub(super) fn new(rng: &mut fastrand::Rng) -> Self {
        Self { share: [0, 3, 8][rng.usize(0..3)], ..Self::default() }
    }

    /// Whether anything can have a time to live.
    pub(super) fn are_counted(&self) -> bool {
        self.share > 0
    }

    /// The time to live of something that begins at `now`.
    pub(super) fn begin(
        &mut self,
        type_url: &TypeUrl,
        key: &VariantKey,
        now: Instant,
        rng: &mut fastrand::Rng,
    ) -> Option<Duration> {
        self.end(type_url, key);
        let ttl = (rng.u32(0..10) < self.share).then(|| any_ttl(rng))?;
        self.next.insert((type_url.clone(), key.clone()), (ttl, now + within(ttl, rng)));
        Some(ttl)
    }

    pub(super) fn end(&mut self, type_url: &TypeUrl, key: &VariantKey) {
        self.next.remove(&(type_url.clone(), key.clone()));
    }

    /// The heartbeats that the origin sends at `now`, where `content` is what there is.
    pub(super) fn vouch(
        &mut self,
        now: Instant,
        fate: Fate,
        content: impl Fn(&TypeUrl, &VariantKey) -> (Content, bool),
        rng: &mut fastrand::Rng,
    ) -> Vec<Change> {
        let mut changes = Vec::new();
        for type_url in types() {
            let mut change = Change::new(type_url.clone(), weir_types::Provenance::Local);
            change.received = Some(now);
            let mine = self.next.keys().filter(|(of, _)| *of == type_url);
            let mine: Vec<VariantKey> = mine.map(|(_, key)| key.clone()).collect();
            for key in mine {
                let (content, alive) = content(&type_url, &key);
                change = self.vouch_for(change, key, (content, alive), fate, rng);
            }
            if !change.upserts.is_empty() || !change.heartbeats.is_empty() {
                changes.push(change);
            }
        }
        changes
    }

    fn vouch_for(
        &mut self,
        change: Change,
        key: VariantKey,
        (content, alive): (Content, bool),
        fate: Fate,
        rng: &mut fastrand::Rng,
    ) -> Change {
        let Some(now) = change.received else { return change };
        let of = (change.type_url.clone(), key.clone());
        let Some((ttl, next)) = self.next.get_mut(&of) else { return change };
        let dies = match fate {
            Fate::Any => *next <= now && rng.u32(0..10) == 0,
            Fate::Kept => !alive,
            Fate::Ended => true,
        };
        if dies {
            self.next.remove(&of);
            let lasts = fate == Fate::Ended && rng.bool();
            return if lasts { change.with(key, Content { ttl: None, ..content }) } else { change };
        }
        if fate == Fate::Kept {
            // Whatever was sent of it before, it is refreshed at once.
            (*ttl, *next) = (STEADY, if *ttl == STEADY { *next } else { now });
        }
        if *next > now {
            return change;
        }
        if fate == Fate::Any && rng.u32(0..4) == 0 {
            *ttl = any_ttl(rng);
        }
        let in_time = fate == Fate::Kept || rng.u32(0..8) > 0;
        *next = now + if in_time { within(*ttl, rng) } else { *ttl + any_ttl(rng) };
        let ttl = *ttl;
        match rng.u32(0..5) {
            0 => change.with(key, Content { ttl: Some(ttl), ..content }),
            _ => change.refreshing(key, ttl),
        }
    }
}

fn any_ttl(rng: &mut fastrand::Rng) -> Duration {
    Duration::from_secs(rng.u64(3..16))
}

/// A time before `ttl` is over: soon enough to be sent on the way to the last client, or just so.
fn within(ttl: Duration, rng: &mut fastrand::Rng) -> Duration {
    ttl / if rng.u32(0..4) == 0 { 2 } else { 5 }
}
