//! What of a subscription there is nothing to give of.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use weir_database::{Barred, Unsettled};

/// Of how much of what is subscribed there is nothing to give, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Lacking {
    /// The number of names, locators and collections that upstream has not answered yet.
    pub unanswered: usize,
    /// How many of the unanswered ones nobody can be asked for: no control plane of their authority can be reached.
    pub away: usize,
    /// How many the access rules do not give.
    pub denied: usize,
    /// How many are beyond the limits of what may be asked of a control plane.
    pub over_limit: usize,
}

/// Whatever it is.
pub(crate) const ANY: &str = "any";

/// Not given to the client by the access rules.
pub(crate) const DENIED: &str = "denied";

/// Beyond the limits of what may be asked of a control plane.
pub(crate) const OVER_LIMIT: &str = "over-limit";

/// Nothing is known of it, and no control plane of its authority can be reached.
pub(crate) const AWAY: &str = "away";

/// What may keep a resource from a client, whatever upstream has, and all of them.
pub(crate) const OBSTACLES: [&str; 4] = [ANY, DENIED, OVER_LIMIT, AWAY];

impl Lacking {
    /// Whether something is lacking for this reason.
    pub fn is_for(&self, obstacle: &str) -> bool {
        let count = match obstacle {
            DENIED => self.denied,
            OVER_LIMIT => self.over_limit,
            AWAY => self.away,
            _ => self.denied + self.over_limit + self.away,
        };
        count > 0
    }

    /// As the database has it.
    pub fn of(unsettled: Unsettled, barred: Barred) -> Self {
        Self {
            unanswered: unsettled.names + unsettled.collections,
            away: unsettled.unavailable.total(),
            denied: barred.denied,
            over_limit: barred.exhausted,
        }
    }
}
