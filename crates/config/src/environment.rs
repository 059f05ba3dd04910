//! `${NAME}` in the texts of a file: the value of an environment variable.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::findings::Finding;

/// The value of an environment variable, if it is set.
pub(crate) type Lookup<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// Replaces `${NAME}` in all string values of `table` by what `lookup` has for `NAME`. `$${` stands for `${`, any other
/// `$` for itself. Keys, numbers and comments stay as they are. Returns what cannot be replaced.
pub(crate) fn expand(table: &mut DeTable<'_>, lookup: &Lookup<'_>) -> Vec<Finding> {
    let mut expander = Expander { lookup, findings: Vec::new() };
    expander.table("", table);
    expander.findings
}

struct Expander<'a> {
    lookup: &'a Lookup<'a>,
    findings: Vec<Finding>,
}

impl Expander<'_> {
    fn table(&mut self, parent: &str, table: &mut DeTable<'_>) {
        for (name, value) in table.iter_mut() {
            let dot = if parent.is_empty() { "" } else { "." };
            self.value(&format!("{parent}{dot}{}", name.get_ref()), value);
        }
    }

    fn value(&mut self, key: &str, value: &mut Spanned<DeValue<'_>>) {
        match value.get_mut() {
            DeValue::Table(table) => self.table(key, table),
            DeValue::Array(array) => {
                for (i, item) in array.iter_mut().enumerate() {
                    self.value(&format!("{key}[{i}]"), item);
                }
            }
            DeValue::String(text) if text.contains("${") => match self.text(text) {
                Ok(expanded) => *text = Cow::Owned(expanded),
                Err(message) => self.findings.push(Finding { key: key.to_owned(), message }),
            },
            _ => {}
        }
    }

    fn text(&self, text: &str) -> Result<String, String> {
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            let (before, after) = (&rest[..at], &rest[at + "${".len()..]);
            if let Some(before) = before.strip_suffix('$') {
                expanded.extend([before, "${"]);
                rest = after;
                continue;
            }
            let (name, after) =
                after.split_once('}').ok_or("there is a ${ without a }; $${ stands for ${")?;
            let is_name = |name: &str| {
                !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            };
            if !is_name(name) {
                return Err("${…} needs the name of an environment variable; $${ stands for ${".to_owned());
            }
            let value = (self.lookup)(name)
                .ok_or_else(|| format!("the environment variable {name} is not set; $${{ stands for ${{"))?;
            expanded.extend([before, &*value]);
            rest = after;
        }
        expanded.push_str(rest);
        Ok(expanded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> Result<String, String> {
        let lookup = |name: &str| (name == "HOST").then(|| "weir-0".to_owned());
        Expander { lookup: &lookup, findings: Vec::new() }.text(text)
    }

    #[test]
    fn a_variable_is_replaced_and_an_escaped_one_is_not() {
        for (text, wanted) in [
            ("${HOST}", "weir-0"),
            ("a-${HOST}-${HOST}.b", "a-weir-0-weir-0.b"),
            ("$${HOST}", "${HOST}"),
            ("$$${HOST}", "$${HOST}"),
            ("$HOST {HOST} $", "$HOST {HOST} $"),
        ] {
            assert_eq!(expanded(text).as_deref(), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_replaced_is_an_error() {
        for (text, wanted) in [
            ("${NONE}", "the environment variable NONE is not set; $${ stands for ${"),
            ("${HOST", "there is a ${ without a }; $${ stands for ${"),
            ("${}", "${…} needs the name of an environment variable; $${ stands for ${"),
            ("${A:-b}", "${…} needs the name of an environment variable; $${ stands for ${"),
        ] {
            assert_eq!(expanded(text).unwrap_err(), wanted, "{text}");
        }
    }
}
