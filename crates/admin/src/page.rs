//! Lists: pages with a cursor, written as they are read, so that neither takes much memory nor holds anyone up.

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use serde::Serialize;
use tokio::task::JoinError;
use utoipa::ToSchema;

use crate::blocking::{Caller, run_blocking_for};
use crate::problem::Problem;
use crate::query::Query;

/// How many items there are on a page by default.
const USUAL: usize = 1000;

/// The most items on a page.
pub(crate) const MOST: usize = 100_000;

/// About how much is written at once, in bytes.
const CHUNK: usize = 32 << 10;

/// Part of a list, in a stable order.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Page<T> {
    /// What is listed.
    items: Vec<T>,
    /// What to pass as `after` for what comes next; null at the end.
    next: Option<String>,
}

/// Which part of a list is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// The cursor behind which it starts.
    pub(crate) after: Option<String>,
    /// How many items it has at most.
    pub(crate) limit: usize,
}

impl Part {
    /// Takes `after` and `limit`.
    pub(crate) fn of(query: &mut Query) -> Result<Self, Problem> {
        let allowed = format!("it is a number from 1 to {MOST}");
        let number = |text: &str| text.parse().ok().filter(|n| (1..=MOST).contains(n));
        let limit = query.parse("limit", &allowed, number)?.unwrap_or(USUAL);
        Ok(Self { after: query.take("after")?, limit })
    }

    /// `after`, where cursors are numbers.
    pub(crate) fn after_number(&self) -> Result<u64, Problem> {
        let number = |text: &String| {
            text.parse().map_err(|_| Problem::invalid("after", text, "it is the next of another page"))
        };
        self.after.as_ref().map_or(Ok(0), number)
    }

    /// The same, where lists begin with the largest.
    pub(crate) fn before_number(&self) -> Result<u64, Problem> {
        if self.after.is_some() { self.after_number() } else { Ok(u64::MAX) }
    }

    /// A page of `rows`, each with its cursor, which start behind [`Self::after`].
    pub(crate) fn answer<T: Serialize>(
        &self,
        rows: impl Iterator<Item = (String, T)> + Send + 'static,
    ) -> Response {
        let writer = Writer { rows, left: self.limit, last: None, begun: false, done: false };
        let chunks = stream::try_unfold(writer, async |mut writer| {
            // A filter that lets few pass looks at many before there is a row.
            let (chunk, writer) =
                run_blocking_for(move |caller| (writer.next_chunk(Some(caller)), writer)).await?;
            Ok::<_, JoinError>(chunk.map(|chunk| (Bytes::from(chunk), writer)))
        });
        ([(header::CONTENT_TYPE, "application/json")], Body::from_stream(chunks)).into_response()
    }
}

struct Writer<I> {
    rows: I,
    left: usize,
    /// The cursor of the last row that was written.
    last: Option<String>,
    begun: bool,
    done: bool,
}

impl<T: Serialize, I: Iterator<Item = (String, T)>> Writer<I> {
    /// What comes next; none at the end, or where the caller is gone.
    fn next_chunk(&mut self, caller: Option<&Caller>) -> Option<String> {
        if self.done {
            return None;
        }
        let mut chunk = String::new();
        if !std::mem::replace(&mut self.begun, true) {
            chunk.push_str("{\"items\":[");
        }
        while chunk.len() < CHUNK {
            if caller.is_some_and(Caller::is_gone) {
                return None;
            }
            let Some((cursor, item)) = self.rows.next() else {
                self.done = true;
                chunk.push_str("],\"next\":null}\n");
                break;
            };
            if self.left == 0 {
                self.done = true;
                let next = serde_json::to_string(&self.last).unwrap_or_default();
                chunk.push_str(&format!("],\"next\":{next}}}\n"));
                break;
            }
            chunk.push_str(if self.last.is_some() { ",\n" } else { "\n" });
            chunk.push_str(&serde_json::to_string(&item).unwrap_or_default());
            self.left -= 1;
            self.last = Some(cursor);
        }
        Some(chunk)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A page of the numbers up to 5 000, and in how many chunks it was written.
    fn page(after: u64, limit: usize) -> (Value, usize) {
        let rows = (after + 1..=5000).map(|i| (i.to_string(), json!({ "i": i, "text": "x".repeat(20) })));
        let mut writer = Writer { rows, left: limit, last: None, begun: false, done: false };
        let chunks: Vec<_> = std::iter::from_fn(|| writer.next_chunk(None)).collect();
        (serde_json::from_str(&chunks.concat()).unwrap(), chunks.len())
    }

    #[test]
    fn pages_follow_each_other_without_gaps() {
        let (first, chunks) = page(0, 3000);
        assert_eq!((first["items"].as_array().unwrap().len(), &first["next"]), (3000, &json!("3000")));
        assert!(chunks > 2, "{chunks}");
        let (second, _) = page(3000, 2000);
        assert_eq!((&second["items"][0]["i"], &second["next"]), (&json!(3001), &Value::Null));
        assert_eq!(page(5000, 10).0, json!({ "items": [], "next": null }));
    }

    #[tokio::test]
    async fn nothing_is_looked_for_when_the_caller_is_gone() {
        let rows = std::iter::from_fn(|| -> Option<(String, ())> { panic!("a row is made") });
        let mut writer = Writer { rows, left: 1, last: None, begun: false, done: false };
        let gone = run_blocking_for(|caller| caller.clone()).await.unwrap();
        assert_eq!(writer.next_chunk(Some(&gone)), None);
    }
}
