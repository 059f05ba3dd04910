//! `upstream.shrink_guard`

use serde::{Deserialize, Serialize};

use crate::values::{Count, Percent, PositiveDuration};

/// Which removals are withheld until they are confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct ShrinkGuard {
    /// More than so many percent of what a stream holds of a type,
    pub percent: Percent<99>,
    /// and at least so many.
    pub minimum: Count,
    /// How long at most.
    pub confirm_after: PositiveDuration,
}

impl Default for ShrinkGuard {
    fn default() -> Self {
        Self {
            percent: Percent::of::<30>(),
            minimum: Count::of::<10>(),
            confirm_after: PositiveDuration::seconds::<300>(),
        }
    }
}
