//! Clients with too large a node.

use weir_testkit::{XdsClient, node, type_url};

use crate::assert_withstands;

/// How many clients there are.
const CLIENTS: usize = 20;
/// The size of each node, in bytes.
const STATED: usize = 4 << 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_client_states_of_itself_is_kept_within_limits() {
    assert_withstands(async |weir| {
        let mut clients = Vec::new();
        for i in 0..CLIENTS {
            let notes = format!("{i}{}", "x".repeat(STATED));
            let mut client = XdsClient::delta(weir.address(), &node("n").metadata("notes", &notes)).await;
            client.subscribe(type_url("cds"), &[]);
            let end = client.closed().await;
            assert!(end.message().contains("limits.max_node_size"), "{end}");
            clients.push(client);
        }
        clients
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_client_states_of_a_rejection_is_not_all_logged() {
    assert_withstands(async |weir| {
        let mut client = XdsClient::delta(weir.address(), &node("talks")).await;
        client.subscribe(type_url("cds"), &[]);
        let received = client.receive().await;
        client.nack(&received, &"x".repeat(STATED));
        let line = weir.child().wait_for_line(&["client rejected a response", "talks"]).await;
        assert!(line.len() < 10_000, "{} bytes are logged", line.len());
        client
    })
    .await;
}
