//! Reads a file section by section, so that every mistake in it is reported at once.
//!
//! Serde stops at the first error of a value. So a section with an error is read again without the entry that the error is
//! in, until nothing else is wrong. Values of a section with an error are never used: its other errors are all that counts.

use std::ops::Range;

use serde::Deserialize;
use serde::de::IgnoredAny;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use crate::environment::{self, Lookup};
use crate::error::Problem;
use crate::findings::{Finding, Findings};
use crate::places::{Places, contains, unknown_key};

/// Something could not be read; the reason is reported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Broken;

/// A section, or that it is broken.
pub(crate) type Read<T> = Result<T, Broken>;

/// A section, with rules between its values.
pub(crate) trait Section {
    /// Reports values that do not go together.
    fn check(&self, _: &mut Findings) {}
}

/// The sections of one file that have not been read yet, and what is wrong with the others.
pub(crate) struct Sections<'i> {
    text: &'i str,
    places: Places,
    table: DeTable<'i>,
    /// Names of the sections that a file can have.
    known: Vec<&'static str>,
    problems: Vec<Problem>,
}

impl<'i> Sections<'i> {
    /// Parses `text`.
    ///
    /// # Errors
    /// When it is no TOML.
    pub(crate) fn parse(text: &'i str) -> Result<Self, Problem> {
        let table = DeTable::parse(text).map_err(|error| Places::default().explain(text, &error))?;
        let (places, table) = (Places::of(&table), table.into_inner());
        Ok(Self { text, places, table, known: Vec::new(), problems: Vec::new() })
    }

    /// Replaces `${NAME}` in all values.
    pub(crate) fn expand(&mut self, lookup: &Lookup<'_>) {
        let findings = environment::expand(&mut self.table, lookup);
        self.report(findings);
    }

    /// Whether nothing is wrong so far.
    pub(crate) fn is_good(&self) -> bool {
        self.problems.is_empty()
    }

    /// Reads a table that has to be there.
    pub(crate) fn required<T: Deserialize<'i> + Section>(&mut self, name: &'static str) -> Read<T> {
        match self.take(name) {
            Some(value) => self.read_section(name, value),
            None => {
                let message = format!("missing key `{name}`");
                self.report([Finding { key: String::new(), message }]);
                Err(Broken)
            }
        }
    }

    /// Reads a table that may be left out.
    pub(crate) fn optional<T: Deserialize<'i> + Section>(&mut self, name: &'static str) -> Read<Option<T>> {
        self.take(name).map(|value| self.read_section(name, value)).transpose()
    }

    /// Reads a table that may be left out for the defaults.
    pub(crate) fn defaulted<T: Deserialize<'i> + Section + Default>(
        &mut self,
        name: &'static str,
    ) -> Read<T> {
        self.optional(name).map(Option::unwrap_or_default)
    }

    /// Reads a list of tables, each by itself.
    pub(crate) fn list<T: Deserialize<'i> + Section>(&mut self, name: &'static str) -> Read<Vec<T>> {
        self.each(name, Self::read_section)?.into_iter().collect()
    }

    /// Reads each item of a list by `read`, which is given its key.
    pub(crate) fn each<T>(
        &mut self,
        name: &'static str,
        mut read: impl FnMut(&mut Self, &str, Spanned<DeValue<'i>>) -> Read<T>,
    ) -> Read<Vec<Read<T>>> {
        let Some(value) = self.take(name) else { return Ok(Vec::new()) };
        let span = value.span();
        match value.into_inner() {
            DeValue::Array(items) => {
                let items = items.into_iter().enumerate();
                Ok(items.map(|(i, item)| read(self, &format!("{name}[{i}]"), item)).collect())
            }
            other => self.read::<Vec<IgnoredAny>>(Spanned::new(span, other)).and(Err(Broken)),
        }
    }

    fn take(&mut self, name: &'static str) -> Option<Spanned<DeValue<'i>>> {
        self.known.push(name);
        self.table.remove(name)
    }

    fn read_section<T: Deserialize<'i> + Section>(
        &mut self,
        key: &str,
        value: Spanned<DeValue<'i>>,
    ) -> Read<T> {
        let section: T = self.read(value)?;
        let mut findings = Findings::of_section(key);
        section.check(&mut findings);
        self.report(findings.into_vec());
        Ok(section)
    }

    /// Reads a value, and reports every mistake in it.
    pub(crate) fn read<T: Deserialize<'i>>(&mut self, mut value: Spanned<DeValue<'i>>) -> Read<T> {
        let mut removed: Vec<String> = Vec::new();
        loop {
            let error = match T::deserialize(ValueDeserializer::from(value.clone())) {
                Ok(section) if removed.is_empty() => return Ok(section),
                Ok(_) => return Err(Broken),
                Err(error) => error,
            };
            let is_missing = |key: &String| error.message() == format!("missing field `{key}`");
            if !removed.iter().any(is_missing) {
                self.problems.push(self.places.explain(self.text, &error));
            }
            let span = error.span().unwrap_or_default();
            let DeValue::Table(table) = value.get_mut() else { return Err(Broken) };
            removed.push(remove(table, &span).ok_or(Broken)?);
        }
    }

    /// Notes what breaks a rule.
    pub(crate) fn report(&mut self, findings: impl IntoIterator<Item = Finding>) {
        let problems = findings.into_iter().map(|f| self.places.problem(self.text, f.key, f.message));
        self.problems.extend(problems);
    }

    /// Reports the keys that are no sections, once all sections are read, and returns everything that is wrong.
    pub(crate) fn finish(mut self) -> Vec<Problem> {
        let unknown = |key: &str| Finding { key: key.to_owned(), message: unknown_key(key, &self.known) };
        let unknown: Vec<_> = self.table.keys().map(|key| unknown(key.get_ref())).collect();
        // They come first, as whatever is missing may be misspelled.
        let others = std::mem::take(&mut self.problems);
        self.report(unknown);
        self.problems.extend(others);
        self.into_problems()
    }

    /// Returns everything that is wrong so far, by line.
    pub(crate) fn into_problems(mut self) -> Vec<Problem> {
        self.problems.sort_by_key(|problem| problem.line);
        self.problems
    }
}

/// Removes the innermost entry of a table that has `span`, and returns its key.
fn remove(table: &mut DeTable<'_>, span: &Range<usize>) -> Option<String> {
    let (key, value) =
        table.iter_mut().find(|(key, value)| contains(&key.span(), span) || has(value, span))?;
    if let DeValue::Table(inner) = value.get_mut()
        && let Some(key) = remove(inner, span)
    {
        return Some(key);
    }
    let key = key.get_ref().to_string();
    table.remove(&*key);
    Some(key)
}

/// Whether `span` is in a value. That of a table or list with headers is its first header, so what is in it is asked too.
fn has(value: &Spanned<DeValue<'_>>, span: &Range<usize>) -> bool {
    let within = match value.get_ref() {
        DeValue::Table(table) => {
            table.iter().any(|(key, value)| contains(&key.span(), span) || has(value, span))
        }
        DeValue::Array(items) => items.iter().any(|item| has(item, span)),
        _ => false,
    };
    within || contains(&value.span(), span)
}
