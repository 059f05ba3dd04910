//! Dynamic parameter constraints between the wire and their canonical form.

use weir_types::constraints::{ConstraintError, Constraints, Expr, MAX_DEPTH};

use crate::discovery::DynamicParameterConstraints;
use crate::discovery::dynamic_parameter_constraints::single_constraint::{ConstraintType, Exists};
use crate::discovery::dynamic_parameter_constraints::{ConstraintList, SingleConstraint, Type};

/// The canonical form of the message; no message at all, or an empty one at the root, means no constraints.
///
/// # Errors
/// When a node below the root is empty, or is nested in more than [`MAX_DEPTH`] of `and`, `or` and `not`; when there
/// are more nodes or bytes than [`Constraints::limited`] accepts.
pub fn decode(message: Option<&DynamicParameterConstraints>) -> Result<Constraints, ConstraintError> {
    match message {
        None | Some(DynamicParameterConstraints { r#type: None }) => Ok(Constraints::unconstrained()),
        Some(message) => Constraints::limited(Path(Vec::new()).expr(message)?),
    }
}

/// The way from the root to the node that is being read.
struct Path(Vec<(&'static str, Option<usize>)>);

impl Path {
    fn expr(&mut self, message: &DynamicParameterConstraints) -> Result<Expr, ConstraintError> {
        match &message.r#type {
            None => Err(ConstraintError::NoType { path: self.render() }),
            Some(Type::Constraint(single)) => self.single(single),
            Some(Type::AndConstraints(list)) => Ok(Expr::All(self.list("and", list)?)),
            Some(Type::OrConstraints(list)) => Ok(Expr::Any(self.list("or", list)?)),
            Some(Type::NotConstraints(inner)) => Ok(Expr::not(self.below("not", None, inner)?)),
        }
    }

    fn single(&self, single: &SingleConstraint) -> Result<Expr, ConstraintError> {
        match &single.constraint_type {
            Some(ConstraintType::Value(value)) => Ok(Expr::value(single.key.as_str(), value.as_str())),
            Some(ConstraintType::Exists(Exists {})) => Ok(Expr::exists(single.key.as_str())),
            None => Err(ConstraintError::NoType { path: self.render() }),
        }
    }

    fn list(&mut self, word: &'static str, list: &ConstraintList) -> Result<Vec<Expr>, ConstraintError> {
        list.constraints.iter().enumerate().map(|(i, inner)| self.below(word, Some(i), inner)).collect()
    }

    fn below(
        &mut self,
        word: &'static str,
        index: Option<usize>,
        inner: &DynamicParameterConstraints,
    ) -> Result<Expr, ConstraintError> {
        self.0.push((word, index));
        if self.0.len() > MAX_DEPTH {
            return Err(ConstraintError::TooDeep { path: self.render(), limit: MAX_DEPTH });
        }
        let expr = self.expr(inner)?;
        self.0.pop();
        Ok(expr)
    }

    fn render(&self) -> String {
        if self.0.is_empty() {
            return "the root".to_owned();
        }
        let steps = self.0.iter().map(|(word, index)| match index {
            Some(index) => format!("{word}[{index}]"),
            None => (*word).to_owned(),
        });
        steps.collect::<Vec<_>>().join(".")
    }
}

/// The message with the same meaning in canonical form; none when there are no constraints.
pub fn encode(constraints: &Constraints) -> Option<DynamicParameterConstraints> {
    (!constraints.is_unconstrained()).then(|| encode_expr(constraints.expr()))
}

fn encode_expr(expr: &Expr) -> DynamicParameterConstraints {
    let list = |list: &[Expr]| ConstraintList { constraints: list.iter().map(encode_expr).collect() };
    let kind = match expr {
        Expr::Value { key, value } => single(key, ConstraintType::Value(value.to_string())),
        Expr::Exists { key } => single(key, ConstraintType::Exists(Exists {})),
        Expr::Not(inner) => Type::NotConstraints(Box::new(encode_expr(inner))),
        Expr::All(all) => Type::AndConstraints(list(all)),
        Expr::Any(any) => Type::OrConstraints(list(any)),
    };
    DynamicParameterConstraints { r#type: Some(kind) }
}

fn single(key: &str, constraint_type: ConstraintType) -> Type {
    Type::Constraint(SingleConstraint { key: key.to_owned(), constraint_type: Some(constraint_type) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(kind: Type) -> DynamicParameterConstraints {
        DynamicParameterConstraints { r#type: Some(kind) }
    }

    fn not(inner: DynamicParameterConstraints) -> DynamicParameterConstraints {
        message(Type::NotConstraints(Box::new(inner)))
    }

    fn nested(depth: usize) -> DynamicParameterConstraints {
        (0..depth).fold(message(single("env", ConstraintType::Exists(Exists {}))), |inner, _| not(inner))
    }

    #[test]
    fn p05_no_message_means_no_constraints() {
        assert!(decode(None).unwrap().is_unconstrained());
        assert_eq!(encode(&Constraints::unconstrained()), None);
        let empty_and = message(Type::AndConstraints(ConstraintList::default()));
        assert!(decode(Some(&empty_and)).unwrap().is_unconstrained());
    }

    #[test]
    fn p05_an_empty_message_at_the_root_is_no_constraints() {
        let nothing = DynamicParameterConstraints::default();
        assert!(decode(Some(&nothing)).unwrap().is_unconstrained());
    }

    #[test]
    fn p05_a_node_without_type_is_named_by_its_path() {
        let nothing = DynamicParameterConstraints::default();
        let untyped =
            message(Type::Constraint(SingleConstraint { key: "env".into(), constraint_type: None }));
        let good = nested(0);
        let list = ConstraintList { constraints: vec![good, not(untyped.clone())] };
        let inside = message(Type::AndConstraints(list));
        for (message, wanted) in
            [(untyped, "the root"), (not(not(nothing)), "not.not"), (inside, "and[1].not")]
        {
            assert_eq!(decode(Some(&message)), Err(ConstraintError::NoType { path: wanted.into() }));
        }
    }

    #[test]
    fn p03_depth_is_limited() {
        assert!(decode(Some(&nested(MAX_DEPTH))).is_ok());
        let error = decode(Some(&nested(MAX_DEPTH + 1))).unwrap_err().to_string();
        assert!(
            error.starts_with("dynamic_parameter_constraints nest deeper than 32 at not.not."),
            "{error}"
        );
    }

    #[test]
    fn p03_size_is_limited() {
        let list = |n: usize, text: &str| {
            let one = |n: usize| message(single(&format!("{text}{n}"), ConstraintType::Exists(Exists {})));
            message(Type::AndConstraints(ConstraintList { constraints: (0..n).map(one).collect() }))
        };
        assert!(decode(Some(&list(9_999, "k"))).is_ok());
        for (message, wanted) in [
            (list(90_000, "k"), "at most 10000 nodes (got 90001)"),
            (list(100, &"k".repeat(3000)), "at most 262144 bytes of keys and values (got 300190)"),
        ] {
            let error = decode(Some(&message)).unwrap_err().to_string();
            assert_eq!(error, format!("dynamic_parameter_constraints must have {wanted}"));
        }
    }

    fn any_expr() -> impl Strategy<Value = Expr> {
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

    proptest! {
        #[test]
        fn p06_equal_constraints_have_one_encoding(expr in any_expr()) {
            let constraints = Constraints::new(expr.clone());
            let plain = encode_expr(&expr);
            prop_assert_eq!(&decode(Some(&plain)).unwrap(), &constraints);
            prop_assert_eq!(decode(encode(&constraints).as_ref()).unwrap(), constraints);
        }
    }
}
