//! Over gRPC, on the port of the clients.

use std::net::SocketAddr;

use prost::Message;
use prost_types::Any;
use serde_json::json;
use tokio_stream::StreamExt;
use tonic::Code;
use tonic::transport::{Channel, Endpoint};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use weir_testkit::process::{Weir, free_port};
use weir_testkit::resources::static_cluster;
use weir_testkit::wait::until;
use weir_testkit::{XdsClient, node};
use weir_wire::json::{any_to_json, exact_any_to_json};
use weir_wire::status::client_config::GenericXdsConfig;
use weir_wire::status::client_status_discovery_service_client::ClientStatusDiscoveryServiceClient;
use weir_wire::status::string_matcher::MatchPattern;
use weir_wire::status::{
    ClientConfig, ClientResourceStatus, ClientStatusRequest, ClientStatusResponse, ConfigStatus, NodeMatcher,
    StringMatcher,
};

use crate::support::local;
use crate::{CDS, one_accepts_and_one_rejects};

type Csds = ClientStatusDiscoveryServiceClient<Channel>;

async fn channel(server: SocketAddr) -> Channel {
    Endpoint::from_shared(format!("http://{server}")).unwrap().connect().await.unwrap()
}

/// The client of this id, once `good` confirms that it is as it should be.
async fn client(csds: &Csds, id: &str, good: impl Fn(&ClientConfig) -> bool) -> ClientConfig {
    let request = about(id);
    until(format!("the status of {id}"), || async {
        let answer = csds.clone().fetch_client_status(request.clone()).await.unwrap().into_inner();
        assert!(answer.config.len() <= 1, "{answer:?}");
        answer.config.into_iter().find(&good)
    })
    .await
}

fn about(id: &str) -> ClientStatusRequest {
    let match_pattern = Some(MatchPattern::Exact(id.to_owned()));
    let node_id = Some(StringMatcher { match_pattern, ignore_case: false });
    let node_matchers = vec![NodeMatcher { node_id, node_metadatas: Vec::new() }];
    ClientStatusRequest { node_matchers, exclude_resource_contents: false }
}

fn is(config: &GenericXdsConfig, status: ConfigStatus, client: ClientResourceStatus) -> bool {
    (config.config_status(), config.client_status()) == (status, client)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e04_the_status_of_a_client_says_what_it_has_and_what_it_rejected() {
    let (bed, _accepts, _rejects) = one_accepts_and_one_rejects().await;
    let csds = Csds::new(channel(bed.address()).await);
    let acked = |config: &ClientConfig| {
        is(&config.generic_xds_configs[0], ConfigStatus::Synced, ClientResourceStatus::Acked)
    };
    let accepts = client(&csds, "web-1", acked).await;
    let node = accepts.node.unwrap();
    assert_eq!((&*node.id, &*node.cluster, &*node.user_agent_name), ("web-1", "web", "envoy"));
    assert_eq!(node.locality.unwrap().zone, "eu-a");
    assert!(accepts.client_scope.contains("ads delta from 127.0.0.1:"), "{}", accepts.client_scope);
    let backend = &accepts.generic_xds_configs[0];
    assert_eq!((&*backend.type_url, &*backend.name), (CDS, "backend"));
    assert_eq!(any_to_json(backend.xds_config.as_ref().unwrap())["name"], "backend");

    let nacked = |config: &ClientConfig| {
        is(&config.generic_xds_configs[0], ConfigStatus::Error, ClientResourceStatus::Nacked)
    };
    let rejects = client(&csds, "web-2", nacked).await;
    let error = rejects.generic_xds_configs[0].error_state.as_ref().unwrap();
    assert_eq!((&*error.details, &error.version_info), ("no such thing here", &backend.version_info));
    assert!(error.last_update_attempt.is_some() && error.failed_configuration.is_some());

    // Read as Envoy's own API has it, as existing tools do.
    let value = ClientStatusResponse { config: vec![rejects] }.encode_to_vec();
    let type_url = "type.googleapis.com/envoy.service.status.v3.ClientStatusResponse".to_owned();
    let official = exact_any_to_json(&Any { type_url, value }.encode_to_vec()).unwrap();
    let client = &official["config"][0];
    assert_eq!(client["node"]["id"], "web-2", "{official:#}");
    let backend = &client["generic_xds_configs"][0];
    assert_eq!((&backend["config_status"], &backend["client_status"]), (&json!("ERROR"), &json!("NACKED")));
    assert_eq!((&backend["type_url"], &backend["xds_config"]["name"]), (&json!(CDS), &json!("backend")));
    let error = &backend["error_state"];
    assert_eq!(
        (&error["details"], &error["version_info"]),
        (&json!("no such thing here"), &backend["version_info"])
    );
    assert!(error["last_update_attempt"].is_string() && error["failed_configuration"].is_object(), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e04_the_status_of_the_fleet_comes_on_a_stream_without_contents_if_so_asked() {
    let (bed, _accepts, _rejects) = one_accepts_and_one_rejects().await;
    let mut csds = Csds::new(channel(bed.address()).await);
    let request = ClientStatusRequest { exclude_resource_contents: true, ..ClientStatusRequest::default() };
    let requests = tokio_stream::iter([request, about("nobody")]);
    let mut answers = csds.stream_client_status(requests).await.unwrap().into_inner();
    let fleet = answers.next().await.unwrap().unwrap().config;
    let ids: Vec<_> = fleet.iter().map(|config| &*config.node.as_ref().unwrap().id).collect();
    assert_eq!(ids, ["web-1", "web-2"]);
    assert!(fleet.iter().all(|config| config.generic_xds_configs[0].xds_config.is_none()));
    assert_eq!(answers.next().await.unwrap().unwrap().config, []);
    assert!(answers.next().await.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e01_what_is_missing_is_said_to_be() {
    let weir = Weir::builder().resources(&[static_cluster("backend", &[])]).start().await;
    let mut xds = XdsClient::delta(weir.address(), &node("web-1")).await;
    xds.subscribe(CDS, &["gone"]);
    let missing = |config: &ClientConfig| {
        let first = config.generic_xds_configs.first();
        first.is_some_and(|first| is(first, ConfigStatus::Synced, ClientResourceStatus::DoesNotExist))
    };
    let csds = Csds::new(channel(weir.address()).await);
    let client = client(&csds, "web-1", missing).await;
    assert_eq!(client.generic_xds_configs[0].name, "gone");
    let request = ClientStatusRequest {
        node_matchers: vec![NodeMatcher {
            node_id: Some(StringMatcher::default()),
            node_metadatas: Vec::new(),
        }],
        ..ClientStatusRequest::default()
    };
    let refused = csds.clone().fetch_client_status(request).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_status_of_clients_can_be_turned_off() {
    let address = local(free_port());
    let config = format!(
        "[downstream]\nlisten = [\"{address}\"]\ncsds = \"off\"\nreflection = true\n\
         [admin]\nlisten = \"{}\"\n[[upstream]]\nendpoints = [\"http://{}\"]\n",
        local(free_port()),
        local(free_port()),
    );
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("weir.toml");
    std::fs::write(&path, config).unwrap();
    let _weir = Weir::with_config(&path, address, local(free_port())).await;
    let channel = channel(address).await;
    let refused = Csds::new(channel.clone()).fetch_client_status(ClientStatusRequest::default()).await;
    assert_eq!(refused.unwrap_err().code(), Code::Unimplemented);

    let request = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::FileContainingSymbol(
            "envoy.service.status.v3.ClientStatusDiscoveryService".to_owned(),
        )),
    };
    let mut reflection = ServerReflectionClient::new(channel);
    let answers = reflection.server_reflection_info(tokio_stream::once(request)).await.unwrap();
    let answer = answers.into_inner().next().await.unwrap().unwrap().message_response.unwrap();
    let MessageResponse::FileDescriptorResponse(files) = answer else { panic!("{answer:?}") };
    let text = String::from_utf8_lossy(&files.file_descriptor_proto[0]);
    assert!(text.contains("envoy/service/status/v3/csds.proto"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_goes_on_counts_as_a_stream_and_a_check_of_health_is_always_answered() {
    let weir = Weir::builder().section("[limits]\nmax_streams = 2").resources(&[]).start().await;
    let mut health = HealthClient::new(channel(weir.address()).await);
    let asked = || HealthCheckRequest { service: String::new() };
    let mut watches = Vec::new();
    for _ in 0..2 {
        let mut watched = health.watch(asked()).await.unwrap().into_inner();
        watched.next().await.unwrap().unwrap();
        watches.push(watched);
    }
    let refused = health.watch(asked()).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert!(refused.message().contains("limits.max_streams"), "{refused}");
    let mut client = XdsClient::delta(weir.address(), &node("n")).await;
    client.subscribe(CDS, &[]);
    assert_eq!(client.closed().await.code(), Code::ResourceExhausted);
    health.check(asked()).await.unwrap();
    drop(watches);
    until("there to be room again", || {
        let mut health = health.clone();
        async move { health.watch(asked()).await.ok().map(drop) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_is_that_of_ready() {
    let (bed, _accepts, _rejects) = one_accepts_and_one_rejects().await;
    let channel = channel(bed.address()).await;
    let mut health = HealthClient::new(channel.clone());
    let asked = |service: &str| HealthCheckRequest { service: service.to_owned() };
    for service in ["", "envoy.service.discovery.v3.AggregatedDiscoveryService"] {
        until("Weir to be healthy", || {
            let mut health = HealthClient::new(channel.clone());
            async move {
                let status = health.check(asked(service)).await.unwrap().into_inner().status();
                (status == ServingStatus::Serving).then_some(())
            }
        })
        .await;
    }
    assert_eq!(health.check(asked("nothing")).await.unwrap_err().code(), Code::NotFound);
    let mut watched = health.watch(asked("")).await.unwrap().into_inner();
    assert_eq!(watched.next().await.unwrap().unwrap().status(), ServingStatus::Serving);
    let in_sync = "[downstream]\nready_when = \"in-sync\"\n";
    bed.weir.reconfigure(|text| text.replacen("[downstream]\n", in_sync, 1));
    drop(bed.control_plane);
    assert_eq!(watched.next().await.unwrap().unwrap().status(), ServingStatus::NotServing);
}
