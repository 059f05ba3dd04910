//! A client's encoded node, with rules that look into it.

use std::sync::LazyLock;

use weir_downstream::{Client, NodeRules};

static RULES: LazyLock<NodeRules> = LazyLock::new(|| NodeRules::new(Vec::new()));

pub(crate) fn run(data: &[u8]) {
    if let Ok(client) = Client::new(Some(data), &RULES) {
        assert!(client.id.len() <= data.len());
    }
}
