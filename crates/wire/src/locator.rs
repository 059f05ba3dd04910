//! Locators and variant names between the wire and the vocabulary.

use weir_types::{ConstraintError, DynamicParameters, VariantKey};

use crate::constraints;
use crate::discovery::{ResourceLocator, ResourceName};

/// The locator that the wire names.
pub fn decode(message: ResourceLocator) -> weir_types::ResourceLocator {
    weir_types::ResourceLocator::new(
        message.name,
        message.dynamic_parameters.into_iter().collect::<DynamicParameters>(),
    )
}

/// The message that names `locator`.
pub fn encode(locator: &weir_types::ResourceLocator) -> ResourceLocator {
    ResourceLocator { name: locator.name.to_string(), dynamic_parameters: locator.parameters.to_pairs() }
}

/// The variant that the wire names.
///
/// # Errors
/// When its constraints are unacceptable.
pub fn decode_name(message: &ResourceName) -> Result<VariantKey, ConstraintError> {
    let constraints = constraints::decode(message.dynamic_parameter_constraints.as_ref())?;
    Ok(VariantKey::new(&message.name, constraints))
}

/// The message that names `key`.
#[cfg(test)]
pub(crate) fn encode_name(key: &VariantKey) -> ResourceName {
    ResourceName {
        name: key.name.to_string(),
        dynamic_parameter_constraints: constraints::encode(&key.constraints),
    }
}

#[cfg(test)]
mod tests {
    use weir_types::Constraints;
    use weir_types::constraints::Expr;

    use super::*;

    #[test]
    fn p01_locators_come_back_as_they_were() {
        let locator =
            weir_types::ResourceLocator::new("a", [("env", "prod"), ("zone", "x")].into_iter().collect());
        assert_eq!(decode(encode(&locator)), locator);
    }

    #[test]
    fn variant_names_come_back_as_they_were() {
        for constraints in [Constraints::unconstrained(), Constraints::new(Expr::value("env", "prod"))] {
            let key = VariantKey::new("a", constraints);
            assert_eq!(decode_name(&encode_name(&key)), Ok(key));
        }
    }
}
