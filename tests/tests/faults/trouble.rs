//! What may go wrong.

use std::time::Duration;

use weir_testkit::Fault;

use super::world::Pace;

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
    /// Any of them. What lasts, lasts about as long as it takes a keepalive to notice.
    pub(crate) fn draw(random: &mut fastrand::Rng, pace: Pace) -> Self {
        match random.u32(..4) {
            0 => Self::Kill(match random.u32(..4) {
                0 => Party::ControlPlane,
                1 => Party::Weir,
                2 => Party::WeirAndControlPlane,
                _ => Party::Clients,
            }),
            _ => {
                let link = if random.bool() { Link::Upstream } else { Link::Downstream };
                Self::Network(link, Fault::draw(random), pace.longest().mul_f64(random.f64()))
            }
        }
    }
}
