//! Constraints as JSON: the `dynamic_parameter_constraints` of a resource file.

use prost::Message;
use prost_types::Any;
use serde_json::Value;
use weir_types::Constraints;
use weir_types::constraints::ConstraintError;

use super::{any_from, any_to_json};
use crate::constraints::{decode, encode};
use crate::discovery::DynamicParameterConstraints;

/// How constraints are written as an Any.
const TYPE_URL: &str = "type.googleapis.com/envoy.service.discovery.v3.DynamicParameterConstraints";

/// What is no constraints.
#[derive(Debug, thiserror::Error)]
pub enum Malformed {
    /// It is not an object.
    #[error("expected a JSON object")]
    NoObject,
    /// It has not the fields of the message.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// It is not the message.
    #[error(transparent)]
    Encoding(#[from] prost::DecodeError),
    /// It is empty, or too large.
    #[error(transparent)]
    Constraint(#[from] ConstraintError),
}

/// The JSON form of constraints; null where there are none.
pub fn constraints_to_json(constraints: &Constraints) -> Value {
    let Some(message) = encode(constraints) else { return Value::Null };
    let any = Any { type_url: TYPE_URL.to_owned(), value: message.encode_to_vec() };
    let mut json = any_to_json(&any.encode_to_vec());
    if let Value::Object(fields) = &mut json {
        fields.remove("@type");
    }
    json
}

/// Reads that form.
///
/// # Errors
/// When it is none.
pub fn constraints_from_json(mut json: Value) -> Result<Constraints, Malformed> {
    if json.is_null() {
        return Ok(Constraints::unconstrained());
    }
    json.as_object_mut().ok_or(Malformed::NoObject)?.insert("@type".to_owned(), TYPE_URL.into());
    let any = Any::decode(any_from(json)?)?;
    Ok(decode(Some(&DynamicParameterConstraints::decode(&any.value[..])?))?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weir_types::constraints::Expr;

    use super::*;

    #[test]
    fn p03_every_form_is_read_as_it_is_written() {
        let versions = Expr::Any(vec![Expr::value("version", "v1"), Expr::not(Expr::exists("version"))]);
        for expr in [
            Expr::value("env", "prod"),
            Expr::All(vec![Expr::value("env", "prod"), versions]),
            Expr::All(vec![]),
        ] {
            let constraints = Constraints::new(expr);
            assert_eq!(constraints_from_json(constraints_to_json(&constraints)).unwrap(), constraints);
        }
    }

    #[test]
    fn p05_an_empty_message_is_no_constraints() {
        assert!(constraints_from_json(json!({})).unwrap().is_unconstrained());
    }

    #[test]
    fn what_is_none_is_reported() {
        for (json, wanted) in [
            (json!([]), "expected a JSON object"),
            (json!({ "env": "prod" }), "unrecognized field name 'env'"),
            (json!({ "not_constraints": {} }), "dynamic_parameter_constraints without a type at not"),
        ] {
            assert_eq!(constraints_from_json(json).unwrap_err().to_string(), wanted);
        }
    }
}
