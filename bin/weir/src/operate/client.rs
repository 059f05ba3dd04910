//! A client of an instance, by what people call it.

use anyhow::{Result, bail};
use serde_json::Value;

use super::admin::{Admin, part};
use super::output::text;

/// All streams of the node `who`, or the stream of that id.
pub(crate) fn streams(admin: &Admin, who: &str) -> Result<Vec<Value>> {
    let named = admin.list("/clients", &[("node", who)])?;
    let mut streams: Vec<_> = named.into_iter().filter(|client| client["node"]["id"] == who).collect();
    if streams.is_empty() && who.parse::<u64>().is_ok() {
        streams.push(admin.get(&format!("/clients/{}", part(who)))?);
    }
    if streams.is_empty() {
        bail!("no client is connected whose node has the id {who:?}");
    }
    Ok(streams)
}

/// What a stream is given; of one type, unless `type_url` is empty.
pub(crate) fn given(admin: &Admin, stream: &Value, type_url: &str) -> Result<Vec<Value>> {
    let filter = [("type", type_url)];
    let filters = if type_url.is_empty() { &[][..] } else { &filter[..] };
    admin.list(&format!("/clients/{}/resources", text(&stream["id"])), filters)
}
