//! An encoded `DynamicParameterConstraints`: its canonical form means the same, and goes there and back.

use prost::Message;
use weir_types::DynamicParameters;
use weir_types::constraints::{Overlap, overlap};
use weir_wire::constraints::{decode, encode};
use weir_wire::discovery::DynamicParameterConstraints;
use weir_wire::discovery::dynamic_parameter_constraints::single_constraint::ConstraintType;
use weir_wire::discovery::dynamic_parameter_constraints::{SingleConstraint, Type};

pub(crate) fn run(data: &[u8]) {
    let Ok(message) = DynamicParameterConstraints::decode(data) else { return };
    let Ok(constraints) = decode(Some(&message)) else { return };
    let again = decode(encode(&constraints).as_ref());
    assert_eq!(again.as_ref(), Ok(&constraints), "the canonical form is its own canonical form");
    for parameters in samples(&message) {
        assert_eq!(constraints.matches(&parameters), holds(&message, &parameters), "{parameters}");
    }
    if let Overlap::Witness(witness) = overlap(&constraints, &constraints, &mut 0) {
        assert!(constraints.matches(&witness), "{witness}");
    }
}

/// The message, read literally.
fn holds(message: &DynamicParameterConstraints, parameters: &DynamicParameters) -> bool {
    match &message.r#type {
        None => true,
        Some(Type::Constraint(SingleConstraint { key, constraint_type })) => match constraint_type {
            Some(ConstraintType::Value(value)) => parameters.get(key).is_some_and(|found| found == value),
            Some(ConstraintType::Exists(_)) => parameters.get(key).is_some(),
            None => false,
        },
        Some(Type::OrConstraints(list)) => list.constraints.iter().any(|inner| holds(inner, parameters)),
        Some(Type::AndConstraints(list)) => list.constraints.iter().all(|inner| holds(inner, parameters)),
        Some(Type::NotConstraints(inner)) => !holds(inner, parameters),
    }
}

/// Parameter sets that make a difference: none, each value of each key, and all of a kind at once.
fn samples(message: &DynamicParameterConstraints) -> Vec<DynamicParameters> {
    let mut pairs = Vec::new();
    collect(message, &mut pairs);
    pairs.truncate(16);
    let set = |pairs: &[(String, String)]| {
        pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect::<DynamicParameters>()
    };
    let alone = pairs.iter().map(|pair| set(std::slice::from_ref(pair)));
    let mut samples: Vec<DynamicParameters> = alone.collect();
    samples.extend([set(&[]), set(&pairs)]);
    pairs.reverse();
    samples.push(set(&pairs));
    samples
}

fn collect(message: &DynamicParameterConstraints, pairs: &mut Vec<(String, String)>) {
    match &message.r#type {
        Some(Type::Constraint(SingleConstraint { key, constraint_type })) => {
            let value = match constraint_type {
                Some(ConstraintType::Value(value)) => value.clone(),
                _ => "x".to_owned(),
            };
            pairs.push((key.clone(), value));
        }
        Some(Type::OrConstraints(list) | Type::AndConstraints(list)) => {
            list.constraints.iter().for_each(|inner| collect(inner, pairs));
        }
        Some(Type::NotConstraints(inner)) => collect(inner, pairs),
        None => {}
    }
}
