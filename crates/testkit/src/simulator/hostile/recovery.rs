//! A good control plane takes the place of the bad one.

use std::collections::BTreeSet;
use std::time::Duration;

use weir_protocol::Dialect;

use super::super::agenda::End;
use super::super::checks::content;
use super::super::origin::Origin;
use super::super::play::Hop;
use super::super::proxy::Need;
use super::{ENDLESS, Follower, Hostile, TYPES, type_of};
use crate::model::Held;

/// Longer than any timeout, and than what is not asked for is kept.
const AFTER: Duration = Duration::from_secs(40);

impl Hostile {
    /// The end: what the good one has is what everybody has, and nothing is left behind when they have gone.
    pub fn relieve(mut self) {
        let mut origin = Origin::new();
        origin.fill();
        let ends: Vec<End> = self.proxy.ends().collect();
        for end in ends {
            let Some(link) = self.proxy.link(&end) else { continue };
            link.machine.disconnected();
            // It is another server, to which the versions of the bad one mean nothing.
            link.machine.forget_versions();
            self.connect(&end, &origin);
        }
        for _ in 0..3 {
            self.talk(&mut origin);
            self.now += AFTER;
            self.proxy.tick(self.now);
            origin.sweep(self.now);
        }
        self.talk(&mut origin);
        for follower in &self.followers {
            (0..TYPES).for_each(|of| check(follower, of, &origin, self.hop));
        }
        self.leave();
    }

    fn connect(&mut self, end: &End, origin: &Origin) {
        let Some(link) = self.proxy.link(end) else { return };
        link.transport.without_times();
        link.transport.open(0, &origin.database, link.dialect, &link.parameters);
        link.machine.connected();
    }

    /// Until nobody has anything to send.
    fn talk(&mut self, origin: &mut Origin) {
        let mut sent = 0;
        let mut busy = true;
        while std::mem::take(&mut busy) {
            for (end, need) in self.proxy.follow_demand().into_iter().flatten() {
                let reopens = self.proxy.link(&end).is_some_and(|link| link.machine.needs_new_stream());
                if need != Need::Flush || reopens {
                    self.proxy.link(&end).iter_mut().for_each(|link| link.machine.disconnected());
                    self.connect(&end, origin);
                }
                busy = true;
            }
            let ends: Vec<End> = self.proxy.ends().collect();
            for end in ends {
                busy |= self.exchange(&end, origin);
            }
            self.settle();
            sent += usize::from(busy);
            assert!(sent < ENDLESS, "there is no end of what is sent");
        }
    }

    /// Everything that one stream and the good control plane have to send. Whether there was anything.
    fn exchange(&mut self, end: &End, origin: &mut Origin) -> bool {
        let End::Link(_, set, role) = end else { return false };
        let mut busy = false;
        let now = self.now;
        while let Some(link) = self.proxy.link(end) {
            let asked: Vec<_> = std::iter::from_fn(|| link.ask(now)).collect();
            let asks = !asked.is_empty();
            asked.into_iter().for_each(|request| link.transport.handle(&request, now));
            origin.answer(now, Duration::default);
            let Some(response) = self.proxy.link(end).and_then(|link| link.transport.answer(now)) else {
                return busy | asks;
            };
            self.proxy.receive(set, *role, response, now);
            busy = true;
        }
        busy
    }

    /// Everybody goes, and leaves nothing behind (d10).
    fn leave(mut self) {
        self.followers.clear();
        self.proxy.sets.clear();
        let database = &self.proxy.database;
        database.sweep(self.now);
        database.sweep(self.now + Duration::from_secs(3600));
        let left = database.statistics();
        let counts = [left.selections, left.views, left.tombstones, left.subscribed_variants, left.streams];
        assert_eq!(counts, [0; 5], "d10: something is left behind: {left:?}");
    }
}

fn check(follower: &Follower, of: usize, origin: &Origin, hop: Hop) {
    let (type_url, client) = (type_of(of), &follower.client);
    let wanted = client.wanted(&type_url);
    let held = client.held(&type_url);
    let has = held.values().map(content).collect::<BTreeSet<_>>();
    let should = origin.shows(&type_url, &wanted);
    let dialect = client.dialect();
    let missing: Vec<_> = should.difference(&has).collect();
    assert!(
        missing.is_empty(),
        "a client ({dialect}) lacks {missing:?} of {type_url} for {wanted:?}, has {held:?}"
    );
    // In state of the world, nothing states what of such a wildcard is gone.
    let unsayable =
        hop.dialect == Dialect::Sotw && type_url.has_legacy_wildcard() && !type_url.is_full_state();
    let excused = |held: &&Held| held.stray || held.doubtful || unsayable;
    for held in held.values().filter(|held| !excused(held)) {
        let right = should.contains(&content(held));
        assert!(right, "a client ({dialect}) has {held:?} of {type_url} for {wanted:?}");
    }
}
