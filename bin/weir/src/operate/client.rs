//! A client of an instance, by what people call it.

use anyhow::{Result, bail};
use weir_admin::{Client, Given};

use super::admin::{Admin, part};

/// All streams of the node `who`, or the stream of that id.
pub(crate) fn streams(admin: &Admin, who: &str) -> Result<Vec<Client>> {
    let mut streams: Vec<Client> = admin.list("/clients", &[("node", who)])?;
    streams.retain(|client| client.node.id == who);
    if streams.is_empty() && who.parse::<u64>().is_ok() {
        streams.push(admin.get(&format!("/clients/{}", part(who)))?);
    }
    if streams.is_empty() {
        bail!("no client is connected whose node has the id {who:?}");
    }
    Ok(streams)
}

/// What a stream is given; of one type, unless `type_url` is empty.
pub(crate) fn given(admin: &Admin, stream: &Client, type_url: &str) -> Result<Vec<Given>> {
    let filter = [("type", type_url)];
    let filters = if type_url.is_empty() { &[][..] } else { &filter[..] };
    admin.list(&format!("/clients/{}/resources", stream.id), filters)
}
