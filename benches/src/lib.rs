//! What the benches share: variants and constraints of the shapes that users have.

use bytes::Bytes;
use weir_types::constraints::Expr;
use weir_types::{Constraints, Content, DynamicParameters, Variant, VariantKey};

/// A variant of `name` with a body of `size` bytes that `seed` makes different.
pub fn variant(name: &str, expr: Expr, size: usize, seed: u64) -> Variant {
    let mut body = vec![0u8; size.max(8)];
    body[..8].copy_from_slice(&seed.to_le_bytes());
    let content = Content { body: Some(Bytes::from(body)), ..Content::default() };
    Variant::new(VariantKey::new(name, Constraints::new(expr)), content)
}

/// `env=E and shard=S`: what most people write.
pub fn flat(n: usize) -> Expr {
    Expr::All(vec![Expr::value("env", format!("e{}", n % 3)), Expr::value("shard", format!("s{n}"))])
}

/// The same, written with `or` and `not` around it.
pub fn nested(n: usize) -> Expr {
    let env = Expr::Any(vec![Expr::value("env", format!("e{}", n % 3)), Expr::value("env", "all")]);
    let not = Expr::not(Expr::Any(vec![Expr::exists("quarantine"), Expr::value("tier", "none")]));
    Expr::All(vec![env, not, Expr::value("shard", format!("s{n}"))])
}

/// The parameters that [`flat`] and [`nested`] are for, with some that nobody asks about.
pub fn parameters(n: usize) -> DynamicParameters {
    [
        ("env", format!("e{}", n % 3)),
        ("shard", format!("s{n}")),
        ("pod", format!("pod-{n}")),
        ("zone", "a".to_owned()),
    ]
    .into_iter()
    .collect()
}
