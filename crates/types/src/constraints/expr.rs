//! The expression itself: its canonical form, its meaning, and how it reads.

use std::fmt;
use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3;

use crate::DynamicParameters;

/// A constraint expression. The order of the arms and of their fields is the canonical order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Expr {
    /// The key has this exact value.
    Value {
        /// The key to match against.
        key: Arc<str>,
        /// The value that it must have.
        value: Arc<str>,
    },
    /// The key is present, with whatever value.
    Exists {
        /// The key to match against.
        key: Arc<str>,
    },
    /// The inverse.
    Not(Box<Expr>),
    /// All of them; true when there is none.
    All(Vec<Expr>),
    /// Any of them; false when there is none.
    Any(Vec<Expr>),
}

/// How large an expression is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    /// The number of constraints, `and`s, `or`s and `not`s.
    pub(super) nodes: usize,
    /// The bytes of keys and values.
    pub(super) bytes: usize,
}

impl Size {
    fn and(self, other: Self) -> Self {
        Self { nodes: self.nodes + other.nodes, bytes: self.bytes + other.bytes }
    }
}

impl Expr {
    /// `key` has `value`.
    pub fn value(key: impl Into<Arc<str>>, value: impl Into<Arc<str>>) -> Self {
        Self::Value { key: key.into(), value: value.into() }
    }

    /// `key` is present.
    pub fn exists(key: impl Into<Arc<str>>) -> Self {
        Self::Exists { key: key.into() }
    }

    /// The inverse of `expr`.
    #[expect(clippy::should_implement_trait, reason = "the proposal's word")]
    pub fn not(expr: Self) -> Self {
        Self::Not(Box::new(expr))
    }

    const TRUE: Self = Self::All(Vec::new());
    const FALSE: Self = Self::Any(Vec::new());

    /// The canonical form: lists flattened, sorted and without duplicates, lists of one unwrapped, double
    /// negation and constants removed. It means the same, and its canonical form is itself.
    #[must_use]
    pub fn canonical(self) -> Self {
        match self {
            Self::Value { .. } | Self::Exists { .. } => self,
            Self::Not(inner) => match inner.canonical() {
                Self::Not(inner) => *inner,
                Self::All(all) if all.is_empty() => Self::FALSE,
                Self::Any(any) if any.is_empty() => Self::TRUE,
                other => Self::not(other),
            },
            Self::All(list) => Self::canonical_list(list, Self::All),
            Self::Any(list) => Self::canonical_list(list, Self::Any),
        }
    }

    fn canonical_list(list: Vec<Self>, wrap: fn(Vec<Self>) -> Self) -> Self {
        let (neutral, absorbing) = match wrap(Vec::new()) {
            Self::All(_) => (Self::TRUE, Self::FALSE),
            _ => (Self::FALSE, Self::TRUE),
        };
        let mut flat = Vec::with_capacity(list.len());
        for item in list {
            match (item.canonical(), &neutral) {
                (item, _) if item == absorbing => return absorbing,
                (Self::All(inner), Self::All(_)) | (Self::Any(inner), Self::Any(_)) => flat.extend(inner),
                (item, _) => flat.push(item),
            }
        }
        flat.sort_unstable();
        flat.dedup();
        match flat.len() {
            1 => flat.remove(0),
            _ => wrap(flat),
        }
    }

    /// Whether `parameters` satisfy the expression.
    pub fn matches(&self, parameters: &DynamicParameters) -> bool {
        match self {
            Self::Value { key, value } => parameters.get(key) == Some(value),
            Self::Exists { key } => parameters.get(key).is_some(),
            Self::Not(inner) => !inner.matches(parameters),
            Self::All(all) => all.iter().all(|e| e.matches(parameters)),
            Self::Any(any) => any.iter().any(|e| e.matches(parameters)),
        }
    }

    /// The first part that keeps `parameters` from matching: where they do not match, never none.
    pub fn first_mismatch(&self, parameters: &DynamicParameters) -> Option<&Self> {
        match self {
            Self::All(all) => all.iter().find_map(|e| e.first_mismatch(parameters)),
            _ => (!self.matches(parameters)).then_some(self),
        }
    }

    /// How large the expression is.
    pub(super) fn size(&self) -> Size {
        let list = |list: &[Self]| list.iter().map(Self::size).fold(Size { nodes: 1, bytes: 0 }, Size::and);
        match self {
            Self::Value { key, value } => Size { nodes: 1, bytes: key.len() + value.len() },
            Self::Exists { key } => Size { nodes: 1, bytes: key.len() },
            Self::Not(inner) => Size { nodes: 1, bytes: 0 }.and(inner.size()),
            Self::All(all) => list(all),
            Self::Any(any) => list(any),
        }
    }

    /// Calls `visit` for each mention of a key.
    pub(super) fn visit_keys<'a>(&'a self, visit: &mut impl FnMut(&'a Arc<str>)) {
        match self {
            Self::Value { key, .. } | Self::Exists { key } => visit(key),
            Self::Not(inner) => inner.visit_keys(visit),
            Self::All(list) | Self::Any(list) => list.iter().for_each(|e| e.visit_keys(visit)),
        }
    }

    /// The distinct keys that are mentioned, in order.
    pub fn keys(&self) -> Vec<Arc<str>> {
        let mut keys = Vec::new();
        self.visit_keys(&mut |key| keys.push(Arc::clone(key)));
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    pub(super) fn stable_hash(&self) -> u64 {
        let mut hash = Xxh3::new();
        self.feed(&mut hash);
        hash.digest()
    }

    fn feed(&self, hash: &mut Xxh3) {
        let text = |hash: &mut Xxh3, tag: u8, text: &str| {
            hash.update(&[tag]);
            hash.update(&(text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        let list = |hash: &mut Xxh3, tag: u8, list: &[Self]| {
            hash.update(&[tag]);
            hash.update(&(list.len() as u64).to_le_bytes());
            list.iter().for_each(|e| e.feed(hash));
        };
        match self {
            Self::Value { key, value } => {
                text(hash, 1, key);
                text(hash, 2, value);
            }
            Self::Exists { key } => text(hash, 3, key),
            Self::Not(inner) => {
                hash.update(&[4]);
                inner.feed(hash);
            }
            Self::All(all) => list(hash, 5, all),
            Self::Any(any) => list(hash, 6, any),
        }
    }

    fn fmt_list(f: &mut fmt::Formatter<'_>, list: &[Self], joint: &str, empty: &str) -> fmt::Result {
        if list.is_empty() {
            return f.write_str(empty);
        }
        for (i, item) in list.iter().enumerate() {
            let joint = if i == 0 { "" } else { joint };
            match item {
                Self::All(_) | Self::Any(_) => write!(f, "{joint}({item})")?,
                _ => write!(f, "{joint}{item}")?,
            }
        }
        Ok(())
    }
}

/// `env=prod and not version exists`, for people.
impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value { key, value } => write!(f, "{key}={value}"),
            Self::Exists { key } => write!(f, "{key} exists"),
            Self::Not(inner) => match &**inner {
                Self::Value { key, value } => write!(f, "{key}!={value}"),
                Self::Exists { key } => write!(f, "no {key}"),
                other => write!(f, "not ({other})"),
            },
            Self::All(all) => Self::fmt_list(f, all, " and ", "anyone"),
            Self::Any(any) => Self::fmt_list(f, any, " or ", "no one"),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Constraints;

    fn params(pairs: &[(&str, &str)]) -> DynamicParameters {
        pairs.iter().copied().collect()
    }

    #[test]
    fn p03_value_exists_and_or_not() {
        let expr = Expr::All(vec![
            Expr::Any(vec![Expr::value("env", "prod"), Expr::value("env", "canary")]),
            Expr::not(Expr::exists("debug")),
        ]);
        for (pairs, wanted) in [
            (&[("env", "prod")][..], true),
            (&[("env", "canary"), ("app", "x")], true),
            (&[("env", "test")], false),
            (&[("env", "prod"), ("debug", "")], false),
            (&[], false),
        ] {
            assert_eq!(expr.matches(&params(pairs)), wanted, "{pairs:?}");
        }
    }

    #[test]
    fn p04_unknown_keys_do_not_prevent_a_match() {
        let expr = Expr::value("env", "prod");
        assert!(expr.matches(&params(&[("env", "prod"), ("anything", "else")])));
    }

    #[test]
    fn p05_an_empty_and_is_true_and_an_empty_or_is_false() {
        assert!(Expr::All(vec![]).matches(&params(&[])));
        assert!(!Expr::Any(vec![]).matches(&params(&[("env", "prod")])));
        assert!(Constraints::new(Expr::All(vec![])).is_unconstrained());
        assert!(Constraints::unconstrained().matches(&params(&[("env", "prod")])));
    }

    #[test]
    fn p06_equal_after_normalisation() {
        let (a, b) = (|| Expr::value("a", "1"), || Expr::exists("b"));
        for (left, right) in [
            (Expr::All(vec![a(), b()]), Expr::All(vec![b(), a(), b()])),
            (Expr::All(vec![a(), Expr::All(vec![b()])]), Expr::All(vec![a(), b()])),
            (Expr::not(Expr::not(a())), a()),
            (Expr::Any(vec![a()]), a()),
            (Expr::Any(vec![a(), Expr::All(vec![])]), Expr::All(vec![])),
            (Expr::not(Expr::Any(vec![])), Expr::All(vec![])),
        ] {
            assert_eq!(Constraints::new(left), Constraints::new(right));
        }
        assert_ne!(Constraints::new(a()), Constraints::new(b()));
    }

    #[test]
    fn reads_like_a_sentence() {
        let expr = Expr::All(vec![
            Expr::value("env", "prod"),
            Expr::not(Expr::exists("version")),
            Expr::Any(vec![Expr::value("a", "1"), Expr::not(Expr::value("b", "2"))]),
        ]);
        assert_eq!(expr.to_string(), "env=prod and no version and (a=1 or b!=2)");
        assert_eq!(Constraints::unconstrained().to_string(), "anyone");
    }

    pub(in super::super) fn any_expr() -> impl Strategy<Value = Expr> {
        let leaf = prop_oneof![
            ("[a-c]", "[0-2]").prop_map(|(k, v)| Expr::value(k, v)),
            "[a-c]".prop_map(Expr::exists),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                inner.clone().prop_map(Expr::not),
                prop::collection::vec(inner.clone(), 0..4).prop_map(Expr::All),
                prop::collection::vec(inner, 0..4).prop_map(Expr::Any),
            ]
        })
    }

    pub(in super::super) fn any_params() -> impl Strategy<Value = DynamicParameters> {
        prop::collection::btree_map("[a-c]", "[0-2]", 0..4).prop_map(|map| map.into_iter().collect())
    }

    proptest! {
        #[test]
        fn the_canonical_form_means_the_same(expr in any_expr(), params in any_params()) {
            let canonical = expr.clone().canonical();
            prop_assert_eq!(expr.matches(&params), canonical.matches(&params));
            prop_assert_eq!(canonical.clone().canonical(), canonical);
        }

        #[test]
        fn a_mismatch_has_a_reason(expr in any_expr(), params in any_params()) {
            prop_assert_eq!(expr.first_mismatch(&params).is_none(), expr.matches(&params));
        }
    }
}
