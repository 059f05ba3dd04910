//! Dynamic parameter constraints as they are on the wire: how to write them, and what they mean, as naively
//! as the proposal defines it.

use std::collections::HashMap;

use weir_wire::discovery::DynamicParameterConstraints as Constraints;
use weir_wire::discovery::dynamic_parameter_constraints::single_constraint::{ConstraintType, Exists};
use weir_wire::discovery::dynamic_parameter_constraints::{ConstraintList, SingleConstraint, Type};
use weir_wire::discovery::{ResourceLocator, ResourceName};

/// `key` has exactly this value.
pub fn value(key: &str, value: &str) -> Constraints {
    single(key, ConstraintType::Value(value.to_owned()))
}

/// `key` is present.
pub fn exists(key: &str) -> Constraints {
    single(key, ConstraintType::Exists(Exists {}))
}

/// The inverse.
pub fn not(inner: Constraints) -> Constraints {
    Constraints { r#type: Some(Type::NotConstraints(Box::new(inner))) }
}

/// All of them.
pub fn all(constraints: impl IntoIterator<Item = Constraints>) -> Constraints {
    Constraints { r#type: Some(Type::AndConstraints(list(constraints))) }
}

/// Any of them.
pub fn any(constraints: impl IntoIterator<Item = Constraints>) -> Constraints {
    Constraints { r#type: Some(Type::OrConstraints(list(constraints))) }
}

fn single(key: &str, constraint_type: ConstraintType) -> Constraints {
    let single = SingleConstraint { key: key.to_owned(), constraint_type: Some(constraint_type) };
    Constraints { r#type: Some(Type::Constraint(single)) }
}

fn list(constraints: impl IntoIterator<Item = Constraints>) -> ConstraintList {
    ConstraintList { constraints: constraints.into_iter().collect() }
}

/// A locator of `name` for a client with these parameters.
pub fn locator(name: &str, parameters: &[(&str, &str)]) -> ResourceLocator {
    let parameters = parameters.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    ResourceLocator { name: name.to_owned(), dynamic_parameters: parameters.collect() }
}

/// The name of a variant.
pub fn variant(name: &str, constraints: impl Into<Option<Constraints>>) -> ResourceName {
    ResourceName { name: name.to_owned(), dynamic_parameter_constraints: constraints.into() }
}

/// Whether a client with `parameters` matches. An empty node matches nobody.
pub fn matches(constraints: &Constraints, parameters: &HashMap<String, String>) -> bool {
    match &constraints.r#type {
        None => false,
        Some(Type::Constraint(single)) => match &single.constraint_type {
            None => false,
            Some(ConstraintType::Value(value)) => parameters.get(&single.key) == Some(value),
            Some(ConstraintType::Exists(_)) => parameters.contains_key(&single.key),
        },
        Some(Type::OrConstraints(list)) => list.constraints.iter().any(|c| matches(c, parameters)),
        Some(Type::AndConstraints(list)) => list.constraints.iter().all(|c| matches(c, parameters)),
        Some(Type::NotConstraints(inner)) => !matches(inner, parameters),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_mean_what_the_proposal_defines() {
        let prod = locator("x", &[("env", "prod"), ("version", "v1")]).dynamic_parameters;
        for (constraints, wanted) in [
            (value("env", "prod"), true),
            (value("env", "test"), false),
            (value("zone", "a"), false),
            (exists("version"), true),
            (not(exists("version")), false),
            (all([value("env", "prod"), not(value("version", "v2"))]), true),
            (all([]), true),
            (any([]), false),
            (any([value("env", "test"), exists("version")]), true),
        ] {
            assert_eq!(matches(&constraints, &prod), wanted, "{constraints:?}");
        }
    }
}
