//! The parameters of a request.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use weir_types::{DynamicParameters, NoSuchType, TypeUrl, similar};

use crate::problem::Problem;

/// What stands behind the question mark. Each parameter is taken once; what is left then is an error.
#[derive(Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// All values of a parameter, in order.
    pub(crate) fn take_all(&mut self, field: &str) -> Vec<String> {
        let (taken, left) = std::mem::take(&mut self.0).into_iter().partition(|(name, _)| name == field);
        self.0 = left;
        Vec::into_iter(taken).map(|(_, value)| value).collect()
    }

    /// The value of a parameter that may come once.
    pub(crate) fn take(&mut self, field: &str) -> Result<Option<String>, Problem> {
        let mut all = self.take_all(field);
        match all.len() {
            0 | 1 => Ok(all.pop()),
            n => Err(Problem::invalid(field, &all.join(","), format!("it may be given once, not {n} times"))),
        }
    }

    /// A parameter of a form of its own; `limit` states which.
    pub(crate) fn parse<T>(
        &mut self,
        field: &str,
        limit: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, Problem> {
        let Some(text) = self.take(field)? else { return Ok(None) };
        parse(&text).map(Some).ok_or_else(|| Problem::invalid(field, &text, limit))
    }

    /// A parameter that is one of a few words.
    pub(crate) fn one_of<'a>(&mut self, field: &str, words: &[&'a str]) -> Result<Option<&'a str>, Problem> {
        let Some(text) = self.take(field)? else { return Ok(None) };
        if let Some(word) = words.iter().copied().find(|word| *word == text) {
            return Ok(Some(word));
        }
        let meant = similar(&text, words.iter().copied());
        let meant = meant.map(|meant| format!("did you mean {meant}? ")).unwrap_or_default();
        Err(Problem::invalid(field, &text, format!("{meant}allowed are {}", words.join(", "))))
    }

    /// `type`: a resource type.
    pub(crate) fn type_url(&mut self) -> Result<Option<TypeUrl>, Problem> {
        let Some(text) = self.take("type")? else { return Ok(None) };
        let parsed = text.parse().map(Some);
        parsed.map_err(|error: NoSuchType| Problem::invalid("type", &text, error.to_string()))
    }

    /// `param=KEY=VALUE`, as often as there are parameters; none if there is not one.
    pub(crate) fn parameters(&mut self) -> Result<Option<DynamicParameters>, Problem> {
        let texts = self.take_all("param");
        let pair = |text: &String| match text.split_once('=') {
            Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
            _ => Err(Problem::invalid("param", text, "it is written KEY=VALUE")),
        };
        let pairs = texts.iter().map(pair).collect::<Result<Vec<_>, _>>()?;
        Ok((!pairs.is_empty()).then(|| pairs.into_iter().collect()))
    }

    /// To be called when all that is known has been taken.
    pub(crate) fn finish(self) -> Result<(), Problem> {
        match self.0.first() {
            None => Ok(()),
            Some((name, value)) => {
                Err(Problem::invalid(name, value, "there is no such parameter here; see /openapi.json"))
            }
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Query {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let query = parts.uri.query().unwrap_or_default();
        Ok(Self(form_urlencoded::parse(query.as_bytes()).into_owned().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Query {
        Query(form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    #[test]
    fn what_is_known_is_taken_and_the_rest_is_refused() {
        let mut query = query("type=cds&param=env%3Dprod&param=a=b%20c&x=1");
        assert_eq!(query.type_url().unwrap().unwrap().short_name(), "cds");
        assert_eq!(query.parameters().unwrap().unwrap().to_string(), "{a=b c, env=prod}");
        assert_eq!(query.take("gone").unwrap(), None);
        let error = serde_json::to_value(query.finish().unwrap_err()).unwrap();
        assert_eq!((&error["field"], &error["value"]), (&"x".into(), &"1".into()));
    }

    #[test]
    fn wrong_values_are_named() {
        for (text, field, value) in [("type=x", "type", "x"), ("type=cds&type=lds", "type", "cds,lds")] {
            let error = serde_json::to_value(query(text).type_url().unwrap_err()).unwrap();
            assert_eq!((&error["field"], &error["value"]), (&field.into(), &value.into()));
            assert_eq!(error["status"], 400);
        }
        let detail = |problem: Problem| serde_json::to_value(problem).unwrap()["detail"].to_string();
        let state = query("x=behnd").one_of("x", &["in-sync", "behind"]).map_err(detail).unwrap_err();
        assert!(state.contains("did you mean behind? allowed are in-sync, behind"), "{state}");
        let of_type = query("type=clsuters").type_url().map_err(detail).unwrap_err();
        assert!(of_type.contains("did you mean cds? allowed are cds, "), "{of_type}");
        assert!(query("param=x").parameters().is_err() && query("param==x").parameters().is_err());
    }
}
