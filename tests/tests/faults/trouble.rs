//! What may go wrong.

use std::time::Duration;

use weir_testkit::{Fault, Side};

/// How long what lasts may last: about as long as it takes a keepalive to notice.
const LONGEST: u64 = 6000;

/// Where there is a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// Between the control plane and Weir.
    Upstream,
    /// Between Weir and the clients.
    Downstream,
}

/// Who may be killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Party {
    ControlPlane,
    Weir,
    /// Both, of which Weir comes back first and serves what it has stored.
    WeirAndControlPlane,
    /// Half of them, which come back knowing nothing.
    Clients,
}

/// One fault.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trouble {
    /// A network has this, for so long if it lasts.
    Network(Link, Fault, Duration),
    /// Somebody is killed (SIGKILL) and started again.
    Kill(Party),
}

impl Trouble {
    pub(crate) fn draw(random: &mut fastrand::Rng) -> Self {
        match random.u32(..4) {
            0 => Self::Kill(match random.u32(..4) {
                0 => Party::ControlPlane,
                1 => Party::Weir,
                2 => Party::WeirAndControlPlane,
                _ => Party::Clients,
            }),
            _ => {
                let link = if random.bool() { Link::Upstream } else { Link::Downstream };
                Self::Network(link, fault(random), Duration::from_millis(random.u64(..LONGEST)))
            }
        }
    }
}

fn fault(random: &mut fastrand::Rng) -> Fault {
    match random.u32(..8) {
        0 => Fault::Reset,
        1 => Fault::HalfOpen,
        2 => Fault::Garbage(Side::Client),
        3 => Fault::Garbage(Side::Server),
        4 => Fault::Refuse,
        5 => Fault::Stall,
        6 => Fault::Slow(random.u32(1 << 10..64 << 10)),
        _ => Fault::Duplicate,
    }
}
