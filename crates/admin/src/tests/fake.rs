//! An instance that is made up.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use crate::{
    Accepted, Client, Condition, Instance, Locality, Nack, Nacked, Node, Origin, Parameter, Sent, TypeState,
    Upstream,
};

/// With two upstreams, of which one is away, and any number of clients, of which every third rejects.
#[derive(Default)]
pub(super) struct Fake {
    pub(super) ready: AtomicBool,
    pub(super) clients: u64,
}

pub(super) const AT: Duration = Duration::from_secs(1_700_000_000);

const CDS: &str = "type.googleapis.com/envoy.config.cluster.v3.Cluster";

fn at() -> SystemTime {
    SystemTime::UNIX_EPOCH + AT
}

impl Instance for Fake {
    fn pending(&self) -> Vec<String> {
        let ready = self.ready.load(Ordering::Relaxed);
        if ready { Vec::new() } else { vec!["upstream \"\": not connected".to_owned()] }
    }

    fn metrics(&self) -> Result<String, String> {
        let ready = self.ready.load(Ordering::Relaxed);
        if ready { Ok("weir_x 1\n".to_owned()) } else { Err("broken".to_owned()) }
    }

    fn upstreams(&self) -> Vec<Upstream> {
        let upstream = |authority: &str, endpoint: Option<&str>| Upstream {
            authority: authority.to_owned(),
            parameters: endpoint.map(|_| [("env", "prod")].into_iter().collect()),
            carries: "names".to_owned(),
            endpoint: endpoint.map(str::to_owned),
            in_sync: endpoint.is_some(),
            since: at(),
            last_error: endpoint.is_none().then(|| ("connection refused".to_owned(), at())),
        };
        vec![upstream("", Some("http://10.0.0.1:18000")), upstream("other", None)]
    }

    fn client_ids(&self) -> Vec<u64> {
        (1..=self.clients).collect()
    }

    fn client(&self, id: u64) -> Option<Client> {
        let state = if id.is_multiple_of(3) { Condition::Rejecting } else { Condition::InSync };
        let rejects = state == Condition::Rejecting;
        let node = Node {
            id: format!("node-{id}"),
            cluster: if id.is_multiple_of(2) { "even" } else { "odd" }.to_owned(),
            user_agent: "envoy".to_owned(),
            user_agent_version: "1.38.0".to_owned(),
            locality: Locality { zone: "a".to_owned(), ..Locality::default() },
            metadata: serde_json::json!({ "env": "prod" }),
        };
        let from = "node.metadata.env".to_owned();
        let origin = Origin::Rule { rule: 0, from, said: Some("prod".to_owned()), defaulted: false };
        let nack = || Nacked {
            at: at(),
            nonce: Some("8-0".to_owned()),
            version: "00".to_owned(),
            code: 3,
            message: "no".to_owned(),
        };
        let clusters = TypeState {
            short_name: "cds",
            type_url: CDS.to_owned(),
            state,
            view: 7,
            subscribed: 1,
            unanswered: 0,
            sent: Some(Sent { version: "00".to_owned(), nonce: "8-0".to_owned(), at: at(), answered: true }),
            accepted: (!rejects).then(|| Accepted { version: "00".to_owned() }),
            last_nack: rejects.then(nack),
            lag_seconds: 0.0,
            locators: Vec::new(),
        };
        (id <= self.clients).then(|| Client {
            id,
            node,
            peer: SocketAddr::from(([10, 0, 0, 1], 4711)),
            service: "ads",
            transport: "v3",
            dialect: if id == 1 { "sotw" } else { "delta" },
            since: at(),
            state,
            parameters: vec![Parameter {
                key: "env".to_owned(),
                value: "prod".to_owned(),
                origin,
                fills_locators: false,
            }],
            types: vec![clusters],
        })
    }

    fn nacks(&self) -> Vec<Nack> {
        let nack = |number| Nack {
            number,
            at: at(),
            client: Some(number),
            node: format!("node-{number}"),
            cluster: "odd".to_owned(),
            short_name: "cds",
            type_url: CDS.to_owned(),
            nonce: None,
            code: 3,
            message: "no".to_owned(),
        };
        (1..=self.clients).rev().map(nack).collect()
    }
}
