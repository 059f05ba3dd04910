//! What streams go through: they open, break and stall, and what is above them starts anew.

use std::time::Duration;

use super::agenda::{End, Event};
use super::peer::Peer;
use super::play::Simulation;
use super::proxy::Proxy;
use super::script::SCRIPT;

impl Simulation {
    pub(super) fn restart(&mut self, which: Option<usize>) {
        let below = |end: &End, peers: &[Peer]| match (end, which) {
            (End::Client(who), Some(which)) => peers[*who].proxy == which,
            (End::Client(_), None) => false,
            (End::Link(number, ..), which) => *number == which.map_or(0, |which| which + 1),
        };
        let cut: Vec<End> = self.ends().into_iter().filter(|end| below(end, &self.peers)).collect();
        match which {
            None => self.origin.restart(),
            Some(number) => self.proxies[number] = Proxy::new(number, self.hops[number]),
        }
        cut.iter().for_each(|end| self.cut(end));
    }

    pub(super) fn open(&mut self, end: &End) {
        let database = self.above(end);
        self.connections += 1;
        let number = self.connections;
        match end {
            End::Client(who) => {
                let peer = &mut self.peers[*who];
                if peer.transport.is_open() {
                    return;
                }
                peer.connections += 1;
                let plain = peer.plain().clone();
                peer.transport.open(number, &database, peer.client.dialect(), &plain);
                // What goes to a proxy is never split.
                peer.transport.split([None, None, Some(1), Some(250)][self.rng.usize(0..4)]);
                let requests = peer.client.reconnect(self.rng.bool());
                peer.excuse_unstated(&requests);
                requests.into_iter().for_each(|request| self.send_up(end, request));
            }
            End::Link(hop, ..) => {
                let (is_first, customs) = (*hop == 0, self.customs);
                let Some(link) = self.link(end).filter(|link| !link.transport.is_open()) else { return };
                if is_first {
                    link.transport.follow(customs);
                }
                link.transport.open(number, &database, link.dialect, &link.parameters);
                link.machine.connected();
                self.flush(end);
            }
        }
    }

    pub(super) fn cut(&mut self, end: &End) {
        let Some(transport) = self.transport(end).filter(|transport| transport.is_open()) else { return };
        transport.cut();
        if let Some(link) = self.link(end) {
            link.machine.disconnected();
        }
        let away = Duration::from_millis(self.rng.u64(50..3_000));
        let long = self.rng.u32(0..6) == 0 && self.agenda.now() + 8 * away < SCRIPT;
        self.agenda.after(if long { 8 * away } else { away }, Event::Open(end.clone()));
    }

    pub(super) fn stall(&mut self, end: End) {
        let most = if self.rng.u32(0..4) == 0 { 20_000 } else { 3_000 };
        let until = self.agenda.now() + Duration::from_millis(self.rng.u64(100..most));
        if let Some(transport) = self.transport(&end) {
            transport.stall(true);
            self.agenda.at(until.min(SCRIPT), Event::Resume(end));
        }
    }
}
