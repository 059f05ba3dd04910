//! Dynamic parameter constraints: for whom a variant is (xRFC TP2, "Constraints Representation").
//!
//! An expression is compiled once into a canonical form, so that equal constraints are equal values and
//! comparing, hashing and matching them is cheap. Matching itself is in [`Expr::matches`]; whether two
//! constraints can both match somebody is in [`overlap`], and whom none of several matches in [`uncovered`].

mod coverage;
mod expr;
mod overlap;
mod search;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock};

pub use coverage::{KnownValues, uncovered};
pub use expr::Expr;
pub use overlap::{Overlap, overlap};
pub use search::TooLarge;

use crate::DynamicParameters;

/// How deep `and`, `or` and `not` may nest in constraints that are accepted from outside.
pub const MAX_DEPTH: usize = 32;

/// How many constraints, `and`s, `or`s and `not`s there may be in constraints that are accepted from outside.
pub const MAX_NODES: usize = 10_000;

/// How many bytes of keys and values there may be in constraints that are accepted from outside.
pub const MAX_BYTES: usize = 256 << 10;

/// Why constraints are unacceptable. `path` leads to the offending node, as in `and[1].not`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConstraintError {
    /// The expression nests too deep.
    #[error("dynamic_parameter_constraints nest deeper than {limit} at {path}")]
    TooDeep {
        /// Where.
        path: String,
        /// The limit that was passed.
        limit: usize,
    },
    /// The expression has too many parts.
    #[error("dynamic_parameter_constraints must have at most {limit} nodes (got {nodes})")]
    TooManyNodes {
        /// How many there are.
        nodes: usize,
        /// The limit that was passed.
        limit: usize,
    },
    /// The keys and values are too long.
    #[error("dynamic_parameter_constraints must have at most {limit} bytes of keys and values (got {bytes})")]
    TooLong {
        /// How many there are.
        bytes: usize,
        /// The limit that was passed.
        limit: usize,
    },
    /// A node is empty: neither a constraint nor and/or/not, or a constraint without value or exists.
    #[error("dynamic_parameter_constraints without a type at {path}")]
    NoType {
        /// Where.
        path: String,
    },
}

/// Constraints in canonical form. Cheap to clone, hash and compare.
#[derive(Clone)]
pub struct Constraints(Arc<Inner>);

struct Inner {
    expr: Expr,
    /// The same in every process, since versions are made of it.
    hash: u64,
    /// How many distinct keys the expression mentions.
    keys: usize,
}

impl Constraints {
    /// The canonical form of `expr`.
    pub fn new(expr: Expr) -> Self {
        let expr = expr.canonical();
        let keys = expr.keys().len();
        Self(Arc::new(Inner { hash: expr.stable_hash(), keys, expr }))
    }

    /// As [`Self::new`], of an expression that comes from outside. Its depth is limited where it is read.
    ///
    /// # Errors
    /// When it has more than [`MAX_NODES`] or [`MAX_BYTES`].
    pub fn limited(expr: Expr) -> Result<Self, ConstraintError> {
        let size = expr.size();
        if size.nodes > MAX_NODES {
            return Err(ConstraintError::TooManyNodes { nodes: size.nodes, limit: MAX_NODES });
        }
        if size.bytes > MAX_BYTES {
            return Err(ConstraintError::TooLong { bytes: size.bytes, limit: MAX_BYTES });
        }
        Ok(Self::new(expr))
    }

    /// The constraints that everyone matches.
    pub fn unconstrained() -> Self {
        static UNCONSTRAINED: LazyLock<Constraints> =
            LazyLock::new(|| Constraints::new(Expr::All(Vec::new())));
        UNCONSTRAINED.clone()
    }

    /// Whether everyone matches, so that there is nothing to send.
    pub fn is_unconstrained(&self) -> bool {
        matches!(&self.0.expr, Expr::All(all) if all.is_empty())
    }

    /// Whether `parameters` satisfy the constraints. Parameters that no constraint mentions do not matter.
    pub fn matches(&self, parameters: &DynamicParameters) -> bool {
        self.0.expr.matches(parameters)
    }

    /// The canonical expression.
    pub fn expr(&self) -> &Expr {
        &self.0.expr
    }

    /// A hash that is equal in every process.
    pub(crate) fn stable_hash(&self) -> u64 {
        self.0.hash
    }

    /// How many distinct keys are constrained.
    pub fn key_count(&self) -> usize {
        self.0.keys
    }
}

impl Default for Constraints {
    fn default() -> Self {
        Self::unconstrained()
    }
}

impl PartialEq for Constraints {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || (self.0.hash == other.0.hash && self.0.expr == other.0.expr)
    }
}

impl Eq for Constraints {}

impl PartialOrd for Constraints {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Constraints {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.expr.cmp(&other.0.expr)
    }
}

impl Hash for Constraints {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}

impl fmt::Debug for Constraints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Constraints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0.expr, f)
    }
}
