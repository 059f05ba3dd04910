//! The short form of constraints: `constraints: { env: prod, zone: [a, b], debug: { exists: false } }`.

use serde::de::Error as _;
use weir_types::Constraints;
use weir_types::constraints::Expr;

use super::de::Error;
use super::node::{Key, Node, Value};

/// Reads the mapping under `constraints`. All of its entries must hold.
pub(super) fn read(node: &Node) -> Result<Constraints, Error> {
    let Value::Map(entries) = &node.value else {
        return Err(Error::custom("constraints: expected a mapping from keys to values").at(node.line));
    };
    let all = entries.iter().map(|(key, wanted)| entry(key, wanted)).collect::<Result<_, _>>()?;
    Constraints::limited(Expr::All(all)).map_err(|error| Error::custom(error).at(node.line))
}

fn entry(key: &Key, wanted: &Node) -> Result<Expr, Error> {
    let fail =
        |reason: &str| Err(Error::custom(format_args!("constraints.{}: {reason}", key.text)).at(wanted.line));
    let Value::Map(entries) = &wanted.value else { return values(key, wanted) };
    let [(word, operand)] = &entries[..] else { return fail("expected one of 'exists' and 'not'") };
    match (word.text.as_str(), &operand.value) {
        ("exists", Value::Bool(true)) => Ok(Expr::exists(key.text.as_str())),
        ("exists", Value::Bool(false)) => Ok(Expr::not(Expr::exists(key.text.as_str()))),
        ("exists", _) => fail("'exists' is true or false"),
        ("not", _) => Ok(Expr::not(values(key, operand)?)),
        (other, _) => fail(&format!("expected one of 'exists' and 'not', not '{other}'")),
    }
}

/// One value, or any of a list.
fn values(key: &Key, node: &Node) -> Result<Expr, Error> {
    let value = |node: &Node| match node.text() {
        Some(text) => Ok(Expr::value(key.text.as_str(), text)),
        None => {
            let reason = "a value is a string: numbers, booleans and null need quotes";
            Err(Error::custom(format_args!("constraints.{}: {reason}", key.text)).at(node.line))
        }
    };
    match &node.value {
        Value::List(list) if list.is_empty() => {
            let reason = "an empty list would match no one";
            Err(Error::custom(format_args!("constraints.{}: {reason}", key.text)).at(node.line))
        }
        Value::List(list) => Ok(Expr::Any(list.iter().map(value).collect::<Result<_, _>>()?)),
        _ => value(node),
    }
}

#[cfg(test)]
mod tests {
    use super::super::node::Syntax;
    use super::*;

    fn parse(text: &str) -> Result<String, String> {
        let node = Node::parse(text, Syntax::Yaml).unwrap().remove(0);
        read(&node).map(|c| c.to_string()).map_err(|e| format!("{}: {e}", e.line().unwrap_or(0)))
    }

    #[test]
    fn f02_the_short_form_says_what_the_long_one_does() {
        for (text, wanted) in [
            ("{}", "anyone"),
            ("env: prod", "env=prod"),
            ("env: [prod, canary]", "env=canary or env=prod"),
            ("{ env: prod, version: { exists: false } }", "env=prod and no version"),
            ("debug: { exists: true }", "debug exists"),
            ("env: { not: test }", "env!=test"),
            ("env: { not: [a, b] }", "not (env=a or env=b)"),
            ("version: \"1.10\"", "version=1.10"),
        ] {
            assert_eq!(parse(text).as_deref(), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn f02_size_is_limited() {
        let many: Vec<_> = (0..10_000).map(|n| format!("v{n}")).collect();
        let limit = "1: dynamic_parameter_constraints must have at most 10000 nodes (got 10002)";
        assert_eq!(parse(&format!("env: [{}]", many.join(", "))), Err(limit.to_owned()));
    }

    #[test]
    fn f02_what_is_no_constraint_is_refused() {
        let quotes = "a value is a string: numbers, booleans and null need quotes";
        for (text, wanted) in [
            ("[env]", "1: constraints: expected a mapping from keys to values".to_owned()),
            ("env: prod\nversion: 1.10", format!("2: constraints.version: {quotes}")),
            ("env: [prod,\n  true]", format!("2: constraints.env: {quotes}")),
            ("env: {}", "1: constraints.env: expected one of 'exists' and 'not'".to_owned()),
            ("env: []", "1: constraints.env: an empty list would match no one".to_owned()),
            ("env: { exists: x }", "1: constraints.env: 'exists' is true or false".to_owned()),
            ("env: { is: x }", "1: constraints.env: expected one of 'exists' and 'not', not 'is'".to_owned()),
        ] {
            assert_eq!(parse(text), Err(wanted), "{text}");
        }
    }
}
