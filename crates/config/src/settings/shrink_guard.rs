//! `upstream.shrink_guard`

use serde::{Deserialize, Serialize};

use crate::values::{Count, Percent, PositiveDuration};

/// Which losses are withheld until they are confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct ShrinkGuard {
    /// Removals are: more than so many percent of what a stream holds of a type,
    pub percent: Percent<99>,
    /// and at least so many.
    pub minimum: Count,
    /// How long at most.
    pub confirm_after: PositiveDuration,
    /// Which assignments without endpoints are, if any.
    pub endpoints: Option<GuardedEndpoints>,
}

/// Which assignments keep their endpoints until it is confirmed that they have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct GuardedEndpoints {
    /// More than so many percent of those of a stream with endpoints,
    pub percent: Percent<99>,
    /// and at least so many,
    pub minimum: Count,
    /// that lose all of them within so long a time.
    pub window: PositiveDuration,
    /// How long at most.
    pub confirm_after: PositiveDuration,
}

impl Default for ShrinkGuard {
    fn default() -> Self {
        Self {
            percent: Percent::of::<30>(),
            minimum: Count::of::<10>(),
            confirm_after: PositiveDuration::seconds::<300>(),
            endpoints: None,
        }
    }
}

impl Default for GuardedEndpoints {
    fn default() -> Self {
        Self {
            percent: Percent::of::<50>(),
            minimum: Count::of::<10>(),
            window: PositiveDuration::seconds::<10>(),
            confirm_after: PositiveDuration::seconds::<60>(),
        }
    }
}
