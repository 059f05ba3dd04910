//! What may go wrong.

use std::ops::Range;
use std::time::Duration;

use weir_testkit::Fault;
use weir_tests::client::Pace;

use super::fleet::PROCESSES;
use super::world::CONTROL_PLANES;

/// Which of the control planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    One(usize),
    All,
}

impl Which {
    fn draw(random: &mut fastrand::Rng) -> Self {
        if random.bool() { Self::One(random.usize(..CONTROL_PLANES)) } else { Self::All }
    }

    /// Their numbers.
    pub(crate) fn numbers(self) -> Range<usize> {
        match self {
            Self::One(number) => number..number + 1,
            Self::All => 0..CONTROL_PLANES,
        }
    }
}

/// Where there is a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// Between control planes and Weir.
    Upstream(Which),
    /// Between Weir and the clients.
    Downstream,
}

/// Who may be killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Party {
    ControlPlanes(Which),
    Weir,
    /// All of them, of which Weir comes back first and serves what it has stored.
    WeirAndControlPlanes,
    /// A process of them, which come back knowing nothing.
    Clients(usize),
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
    /// Any of them. What lasts, lasts about as long as it takes a keepalive to notice.
    pub(crate) fn draw(random: &mut fastrand::Rng, pace: Pace) -> Self {
        match random.u32(..4) {
            0 => Self::Kill(match random.u32(..4) {
                0 => Party::ControlPlanes(Which::draw(random)),
                1 => Party::Weir,
                2 => Party::WeirAndControlPlanes,
                _ => Party::Clients(random.usize(..PROCESSES)),
            }),
            _ => {
                let link = if random.bool() { Link::Upstream(Which::draw(random)) } else { Link::Downstream };
                Self::Network(link, Fault::draw(random), pace.longest().mul_f64(random.f64()))
            }
        }
    }
}
